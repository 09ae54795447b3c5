package tree

import (
	"crypto/subtle"
	"fmt"
	"strings"
)

// application is a command being applied.
type application struct {
	*State
	command *Command
	term    uint64
	result  *Result
}

// run applies the command and leaves what came of it in the result.
func (a *application) run() {
	switch op := a.command.Op.(type) {
	case *NewSession:
		a.result.Code = a.newSession(op)
	case *Attach:
		a.result.Code = a.attach(op)
	case *CloseSession:
		a.result.Code = a.closeSession()
	case *ExpireSession:
		a.result.Code = a.expireSession(op)
	default:
		a.inSession()
	}
}

// inSession applies a command that is made in a session, or by an administrator without one.
func (a *application) inSession() {
	c := a.command
	if c.Session == 0 {
		if !c.Caller.Admin {
			a.result.Code = SessionExpired
			return
		}
		a.result.Outcome = a.operate()
		return
	}
	s, code := a.owned()
	switch {
	case code != OK:
		a.result.Code = code
	case c.Request == 0 || c.Request > s.request:
		a.result.Outcome = a.operate()
		if c.Request != 0 {
			outcome := a.result.Outcome
			s = a.ownSession(c.Session)
			s.request, s.outcome = c.Request, &outcome
		}
	case c.Request == s.request:
		a.result.Repeated, a.result.Outcome = true, *s.outcome
	default:
		a.result.Repeated, a.result.Code = true, RuntimeInconsistency
	}
}

// owned finds the command's session and checks its owner stamp.
func (a *application) owned() (*session, Code) {
	s, ok := a.sessions.get(a.command.Session)
	switch {
	case !ok:
		return nil, SessionExpired
	case s.owner != a.command.Owner:
		return nil, SessionMoved
	}
	return s, OK
}

// operate does what the command asks for.
func (a *application) operate() Outcome {
	c := &a.command.Caller
	if !c.confined() {
		return Outcome{Code: NoAuth}
	}
	switch op := a.command.Op.(type) {
	case *Multi:
		return a.multi(op)
	case *Sync:
		return Outcome{Path: op.Path}
	case *DeleteContainer:
		return Outcome{Code: a.deleteContainer(op)}
	case *SetLimits:
		return Outcome{Code: a.setLimits(op)}
	default:
		o := a.single(op)
		return Outcome{Code: o.Code, Path: o.Path, Stat: o.Stat}
	}
}

// single does one operation that can also be part of a multi.
func (a *application) single(op Op) OpOutcome {
	o := OpOutcome{Kind: op.Kind()}
	switch op := op.(type) {
	case *Create:
		o.Path, o.Stat, o.Code = a.create(op)
	case *Delete:
		o.Code = a.delete(op)
	case *SetData:
		o.Stat, o.Code = a.setData(op)
	case *SetACL:
		o.Stat, o.Code = a.setACL(op)
	case *Check:
		o.Code = a.check(op)
	default:
		o.Code = BadArguments // a Multi in a Multi that was built by hand: the decoder knows none
	}
	return o
}

// multi does all operations or none.
func (a *application) multi(op *Multi) Outcome {
	var out []OpOutcome
	fail := func(i int, code Code) Outcome {
		for j := range out {
			out[j] = OpOutcome{Kind: op.Ops[j].Kind()}
			if j == i {
				out[j].Code = code
			} else if j > i {
				out[j].Code = RuntimeInconsistency
			}
		}
		return Outcome{Ops: out}
	}
	if uint64(len(op.Ops)) > a.limits.Multi {
		return Outcome{Code: BadArguments} // without outcomes: the session remembers this
	}
	// The state before is kept as a Snapshot would keep it, and put back on failure.
	before := a.View
	a.generation++
	out = make([]OpOutcome, len(op.Ops))
	for i, one := range op.Ops {
		if out[i] = a.single(one); out[i].Code != OK {
			a.View = before
			a.generation++
			a.result.Events = nil
			return fail(i, out[i].Code)
		}
	}
	return Outcome{Ops: out}
}

// create follows the order of ZooKeeper's checks, so that the same error comes out where several are due.
func (a *application) create(op *Create) (string, Stat, Code) {
	c, path := &a.command.Caller, op.Path
	if op.Mode == PersistentTTL || op.Mode == SequentialTTL {
		return "", Stat{}, Unimplemented
	}
	if op.Mode < Persistent || op.Mode > SequentialTTL || op.Mode.ephemeral() && a.command.Session == 0 {
		return "", Stat{}, BadArguments
	}
	above, _, ok := parentOf(path)
	if !ok {
		return "", Stat{}, BadArguments
	}
	acl, ok := c.resolve(op.ACL, a.limits.ACL)
	if !ok {
		return "", Stat{}, InvalidACL
	}
	parent := a.parent(above)
	if parent == nil {
		return "", Stat{}, NoNode
	}
	if !c.May(parent.acl, PermCreate) {
		return "", Stat{}, NoAuth
	}
	if op.Mode.sequential() {
		path = fmt.Sprintf("%s%010d", path, parent.created)
	}
	abs, ok := c.Abs(path)
	if !ok || uint64(len(abs)) > a.limits.Path || uint64(strings.Count(abs, "/")) > a.limits.Depth {
		return "", Stat{}, BadArguments
	}
	if a.lookup(abs) != nil {
		return "", Stat{}, NodeExists
	}
	if parent.kind == kindEphemeral {
		return "", Stat{}, NoChildrenForEphemerals
	}

	n := &node{
		generation: a.generation, data: clone(op.Data), acl: acl,
		czxid: a.zxid, mzxid: a.zxid, pzxid: a.zxid, ctime: a.command.Time, mtime: a.command.Time,
	}
	switch {
	case op.Mode.ephemeral():
		n.kind, n.owner = kindEphemeral, a.command.Session
	case op.Mode == Container:
		n.kind = kindContainer
	}
	dir, name, _ := parentOf(abs)
	if uint64(len(n.data)) > a.limits.Data || a.nodes >= a.limits.Nodes || a.bytes+n.size(name) > a.limits.Bytes ||
		uint64(parent.children.len()) >= a.limits.Children || n.owner != 0 && a.ephemeralsOf(n.owner) >= a.limits.Ephemerals {
		return "", Stat{}, QuotaExceeded
	}
	if dir == "" {
		dir = "/"
	}
	parent = a.ownNode(dir)
	parent.created++
	parent.pzxid = a.zxid
	a.add(parent, abs, name, n)
	a.event(NodeCreated, abs, n.acl)
	a.event(NodeChildrenChanged, dir, parent.acl)
	path, _ = c.Rel(abs)
	return path, n.stat(), OK
}

func (a *application) delete(op *Delete) Code {
	c := &a.command.Caller
	above, _, ok := parentOf(op.Path)
	abs, valid := c.Abs(op.Path)
	if !ok || op.Path == "/" || valid && special(abs) {
		return BadArguments
	}
	parent := a.parent(above)
	if parent == nil {
		return NoNode
	}
	if !c.May(parent.acl, PermDelete) {
		return NoAuth
	}
	if !valid {
		return NoNode
	}
	n := a.lookup(abs)
	switch {
	case n == nil:
		return NoNode
	case n.kind == kindEphemeral && n.owner != a.command.Session && !c.Admin:
		return NoAuth
	case op.Version != -1 && op.Version != n.version:
		return BadVersion
	case n.children.len() > 0:
		return NotEmpty
	}
	a.drop(abs, n)
	return OK
}

func (a *application) setData(op *SetData) (Stat, Code) {
	abs, n, code := a.target(op.Path, PermWrite)
	switch {
	case code != OK:
		return Stat{}, code
	case op.Version != -1 && op.Version != n.version:
		return Stat{}, BadVersion
	case uint64(len(op.Data)) > a.limits.Data,
		len(op.Data) > len(n.data) && a.bytes+uint64(len(op.Data)-len(n.data)) > a.limits.Bytes:
		return Stat{}, QuotaExceeded
	}
	n = a.ownNode(abs)
	a.bytes += uint64(len(op.Data)) - uint64(len(n.data))
	n.data = clone(op.Data)
	n.version++
	n.mzxid, n.mtime = a.zxid, a.command.Time
	a.event(NodeDataChanged, abs, n.acl)
	return n.stat(), OK
}

func (a *application) setACL(op *SetACL) (Stat, Code) {
	if !ValidPath(op.Path) {
		return Stat{}, BadArguments
	}
	acl, ok := a.command.Caller.resolve(op.ACL, a.limits.ACL)
	if !ok {
		return Stat{}, InvalidACL
	}
	abs, n, code := a.target(op.Path, PermAdmin)
	switch {
	case code != OK:
		return Stat{}, code
	case op.Version != -1 && op.Version != n.aversion:
		return Stat{}, BadVersion
	case aclSize(acl) > aclSize(n.acl) && a.bytes+aclSize(acl)-aclSize(n.acl) > a.limits.Bytes:
		return Stat{}, QuotaExceeded
	}
	n = a.ownNode(abs)
	a.bytes += aclSize(acl) - aclSize(n.acl)
	n.acl = acl
	n.aversion++
	return n.stat(), OK
}

func (a *application) check(op *Check) Code {
	_, n, code := a.target(op.Path, PermRead)
	if code == OK && op.Version != -1 && op.Version != n.version {
		return BadVersion
	}
	return code
}

// parent finds the node that a caller's path has before its last "/".
func (a *application) parent(above string) *node {
	if above != "" && !ValidPath(above) {
		return nil // not to be joined with the chroot: "x" would become its sibling
	}
	return a.lookup(a.command.Caller.join(above))
}

// target finds the node that an operation is about and checks a permission of it.
func (a *application) target(path string, perm Perm) (string, *node, Code) {
	c := &a.command.Caller
	abs, ok := c.Abs(path)
	if !ok {
		return "", nil, BadArguments
	}
	n := a.lookup(abs)
	switch {
	case n == nil:
		return "", nil, NoNode
	case !c.May(n.acl, perm):
		return "", nil, NoAuth
	}
	return abs, n, OK
}

func (a *application) deleteContainer(op *DeleteContainer) Code {
	c := &a.command.Caller
	if !c.Admin {
		return NoAuth
	}
	abs, ok := c.Abs(op.Path)
	if !ok || special(abs) {
		return BadArguments
	}
	n := a.lookup(abs)
	switch {
	case n == nil:
		return NoNode
	case n.children.len() > 0:
		return NotEmpty
	case !n.emptied():
		return BadVersion
	}
	a.drop(abs, n)
	return OK
}

func (a *application) setLimits(op *SetLimits) Code {
	switch {
	case !a.command.Caller.Admin:
		return NoAuth
	case !op.Limits.sound():
		return BadArguments
	}
	a.limits = op.Limits
	return OK
}

func (a *application) newSession(op *NewSession) Code {
	c := a.command
	if c.Session <= 0 || c.Owner == 0 || op.Timeout <= 0 {
		return BadArguments
	}
	if s, ok := a.sessions.get(c.Session); ok {
		if s.owner != c.Owner || !samePassword(s, &op.Password) {
			return NodeExists
		}
		a.result.Repeated, a.result.Timeout = true, s.timeout
		return OK
	}
	if uint64(a.sessions.len()) >= a.limits.Sessions {
		return QuotaExceeded
	}
	s := &session{generation: a.generation, id: c.Session, password: op.Password, timeout: op.Timeout, owner: c.Owner}
	a.sessions.set(a.generation, s.id, s)
	a.result.Timeout = s.timeout
	return OK
}

func (a *application) attach(op *Attach) Code {
	c := a.command
	s, ok := a.sessions.get(c.Session)
	switch {
	case !ok:
		return SessionExpired
	case !samePassword(s, &op.Password):
		return AuthFailed
	case c.Owner == 0 || op.Timeout < 0:
		return BadArguments
	case c.Owner == s.former:
		return SessionMoved
	case c.Owner == s.owner:
		a.result.Repeated, a.result.Timeout = true, s.timeout
		return OK
	}
	s = a.ownSession(c.Session)
	a.result.Detached = s.owner
	s.former, s.owner, s.request, s.outcome = s.owner, c.Owner, 0, nil
	if op.Timeout > 0 {
		s.timeout = op.Timeout
	}
	a.result.Timeout = s.timeout
	return OK
}

func samePassword(s *session, p *[16]byte) bool {
	return subtle.ConstantTimeCompare(s.password[:], p[:]) == 1
}

func (a *application) closeSession() Code {
	s, code := a.owned()
	if code == OK {
		a.end(s)
	}
	return code
}

func (a *application) expireSession(op *ExpireSession) Code {
	if !a.command.Caller.Admin {
		return NoAuth
	}
	s, code := a.owned()
	switch {
	case code != OK:
		return code
	case op.Term != a.term, a.command.Request != s.request:
		return BadVersion
	}
	a.end(s)
	return OK
}

// end removes a session and its nodes.
func (a *application) end(s *session) {
	var paths []string
	s.ephemerals.ascend(func(path string, _ struct{}) bool {
		paths = append(paths, path)
		return true
	})
	for _, path := range paths {
		a.drop(path, a.lookup(path))
	}
	a.sessions.remove(a.generation, s.id)
	a.result.Detached = s.owner
}

// add puts a new node under its parent, which belongs to this generation.
func (a *application) add(parent *node, abs, name string, n *node) {
	parent.children.set(a.generation, strings.Clone(name), n) // name alone, not the path that it is cut from
	a.nodes++
	a.bytes += n.size(name)
	if n.kind == kindEphemeral {
		a.ephemerals++
		a.ownSession(n.owner).ephemerals.set(a.generation, abs, struct{}{})
	}
}

// drop removes a node without children and tells of it.
func (a *application) drop(abs string, n *node) {
	dir, name, _ := parentOf(abs)
	if dir == "" {
		dir = "/"
	}
	parent := a.ownNode(dir)
	parent.pzxid = a.zxid
	parent.children.remove(a.generation, name)
	a.nodes--
	a.bytes -= n.size(name)
	if n.kind == kindEphemeral {
		a.State.ephemerals--
		a.ownSession(n.owner).ephemerals.remove(a.generation, abs)
	}
	a.event(NodeDeleted, abs, n.acl)
	a.event(NodeChildrenChanged, dir, parent.acl)
}

func (a *application) event(t EventType, abs string, acl []ACL) {
	a.result.Events = append(a.result.Events, Event{Type: t, Path: abs, ACL: acl})
}

func (a *application) ephemeralsOf(id int64) uint64 {
	s, _ := a.sessions.get(id)
	return uint64(s.ephemerals.len())
}

// clone copies data, so that nothing keeps the command that it came in.
func clone(data []byte) []byte {
	if data == nil {
		return nil
	}
	return append(make([]byte, 0, len(data)), data...)
}
