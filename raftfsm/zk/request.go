package zk

import (
	"fmt"
	"slices"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// body appends the body of a reply; nil has none.
type body func([]byte) []byte

// serveRequest handles one frame, up to and with its reply. An error ends the connection.
func (c *conn) serveRequest(payload []byte) error {
	q, rest, err := jute.ParseHeader(payload)
	if err != nil {
		return err
	}
	if !c.server.member.Fresh() {
		return errStale
	}
	q.Body, err = jute.ParseBody(q.Op, rest)
	if err != nil {
		c.local(q, func(*tree.View) (tree.Code, body) { return tree.Marshalling, nil })
		return nil
	}
	switch q.Op {
	case jute.OpAuth:
		return c.auth(q)
	case jute.OpCloseSession:
		if err := c.propose(q, len(payload), &tree.CloseSession{}); err != nil {
			return err
		}
		return errClosedByClient
	}
	op, write := toTree(q)
	if write {
		return c.propose(q, len(payload), op)
	}
	c.local(q, func(v *tree.View) (tree.Code, body) { return c.answerLocally(v, q) })
	return nil
}

// local answers a request from the state as it is. f is called in the member's critical section with Server.mu held, and the reply is queued there.
func (c *conn) local(q jute.Request, f func(*tree.View) (tree.Code, body)) {
	c.server.member.Read(func(v *tree.View) {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		if c.server.sessions[c.session] != c {
			return // the session is another connection's or gone, and so are its watches: nobody would forget new ones
		}
		code, body := f(v)
		c.reply(jute.ReplyHeader{Xid: q.Xid, Zxid: v.Zxid(), Err: jute.Code(code)}, body)
	})
}

func (c *conn) reply(h jute.ReplyHeader, body body) {
	c.send(func(b []byte) []byte {
		b = h.Append(b)
		if h.Err == jute.OK && body != nil {
			b = body(b)
		}
		return b
	})
}

// auth adds an identity. One that is refused ends the connection, after the reply. ZooKeeper's replies to auth have zxid 0.
func (c *conn) auth(q jute.Request) error {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	caller, code := authenticate(c.caller, q.Body.(jute.Auth), s.cfg.Admins)
	c.caller = caller
	c.reply(jute.ReplyHeader{Xid: q.Xid, Err: code}, nil)
	if code != jute.OK {
		return fmt.Errorf("authentication: %v", code)
	}
	return nil
}

// answerLocally handles what does not go through the log.
func (c *conn) answerLocally(v *tree.View, q jute.Request) (tree.Code, body) {
	switch b := q.Body.(type) {
	case jute.Read:
		return c.readNode(v, q.Op, b)
	case jute.Path:
		return c.readPath(v, q.Op, b.Path)
	case jute.Watches:
		return c.checkWatches(q.Op, b), nil
	case jute.AddWatch:
		return c.addWatch(b)
	case jute.SetWatches:
		return c.setWatches(v, b), nil
	}
	switch q.Op {
	case jute.OpPing:
		return tree.OK, nil
	case jute.OpWhoAmI:
		return tree.OK, func(b []byte) []byte { return jute.AppendIDs(b, told(c.caller)) }
	case jute.OpReconfig:
		return tree.Code(jute.ReconfigDisabled), nil
	}
	return tree.Unimplemented, nil
}

// readNode handles exists, getData and getChildren. A watch is set only if the node is there, but by exists also if it is not.
func (c *conn) readNode(v *tree.View, op jute.Op, q jute.Read) (code tree.Code, answer body) {
	var stat tree.Stat
	mode := tree.WatchData
	switch op {
	case jute.OpExists:
		stat, code = v.Exists(&c.caller, q.Path)
		answer = func(b []byte) []byte { return appendStat(b, stat) }
	case jute.OpGetData:
		var data []byte
		data, stat, code = v.Get(&c.caller, q.Path)
		answer = func(b []byte) []byte { return appendStat(jute.AppendBuffer(b, data), stat) }
	default:
		var names []string
		names, stat, code = v.Children(&c.caller, q.Path)
		mode = tree.WatchChildren
		answer = func(b []byte) []byte {
			b = jute.AppendStrings(b, names)
			if op == jute.OpGetChildren2 {
				b = appendStat(b, stat)
			}
			return b
		}
	}
	if q.Watch && (code == tree.OK || code == tree.NoNode && op == jute.OpExists) {
		if abs, ok := c.caller.Abs(q.Path); ok {
			if full := c.server.watches.Add(c.session, abs, mode); full != tree.OK {
				return full, nil
			}
		}
	}
	return code, answer
}

// readPath handles the reads whose body is a path.
func (c *conn) readPath(v *tree.View, op jute.Op, path string) (tree.Code, body) {
	switch op {
	case jute.OpGetACL:
		acl, stat, code := v.ACL(&c.caller, path)
		return code, func(b []byte) []byte { return appendStat(jute.AppendACLs(b, fromACL(acl)), stat) }
	case jute.OpGetAllChildrenNumber:
		n, code := v.AllChildrenNumber(&c.caller, path)
		return code, func(b []byte) []byte { return jute.AppendInt(b, n) }
	case jute.OpGetEphemerals:
		paths := v.Ephemerals(&c.caller, c.session, path)
		return tree.OK, func(b []byte) []byte { return jute.AppendStrings(b, paths) }
	}
	return tree.Unimplemented, nil
}

// checkWatches handles checkWatches and removeWatches.
func (c *conn) checkWatches(op jute.Op, q jute.Watches) tree.Code {
	abs, ok := c.caller.Abs(q.Path)
	if !ok {
		return tree.NoWatcher
	}
	if op == jute.OpRemoveWatches {
		return c.server.watches.Remove(c.session, abs, tree.WatchType(q.Kind))
	}
	return c.server.watches.Has(c.session, abs, tree.WatchType(q.Kind))
}

func (c *conn) addWatch(q jute.AddWatch) (tree.Code, body) {
	mode := tree.WatchPersistent
	switch q.Mode {
	case jute.ModePersistent:
	case jute.ModePersistentRecursive:
		mode = tree.WatchRecursive
	default:
		return tree.Marshalling, nil
	}
	abs, ok := c.caller.Abs(q.Path)
	if !ok {
		return tree.BadArguments, nil
	}
	return c.server.watches.Add(c.session, abs, mode), func(b []byte) []byte { return jute.AppendInt(b, int32(jute.OK)) }
}

func (c *conn) setWatches(v *tree.View, q jute.SetWatches) tree.Code {
	r := tree.Registration{Zxid: q.RelativeZxid, Data: q.Data, Exist: q.Exist, Children: q.Child, Persistent: q.Persistent, Recursive: q.Recursive}
	return c.server.watches.Restore(v, &c.caller, c.session, r, func(session int64, e tree.Event) { c.server.notify(session, -1, e) })
}

// toTree is the command of a request that goes through the log; false for one that does not.
func toTree(q jute.Request) (tree.Op, bool) {
	switch b := q.Body.(type) {
	case jute.Multi:
		m := &tree.Multi{Ops: make([]tree.Op, 0, len(b.Ops))}
		for _, p := range b.Ops {
			op, _ := toTree(jute.Request{Op: p.Op, Body: p.Body})
			m.Ops = append(m.Ops, op)
		}
		return m, true
	case jute.Create:
		mode := tree.Mode(b.Flags)
		if q.Op == jute.OpCreateTTL && mode != tree.PersistentTTL && mode != tree.SequentialTTL {
			mode = -1 // a time to live for what does not take one: bad arguments
		}
		return &tree.Create{Path: b.Path, Data: b.Data, ACL: toACL(b.ACL), Mode: mode}, true
	case jute.Delete:
		if q.Op == jute.OpCheck {
			return &tree.Check{Path: b.Path, Version: b.Version}, true
		}
		return &tree.Delete{Path: b.Path, Version: b.Version}, true
	case jute.SetData:
		return &tree.SetData{Path: b.Path, Data: b.Data, Version: b.Version}, true
	case jute.SetACL:
		return &tree.SetACL{Path: b.Path, ACL: toACL(b.ACL), Version: b.Aversion}, true
	case jute.Path:
		if q.Op == jute.OpSync {
			return &tree.Sync{Path: b.Path}, true
		}
	}
	return nil, false
}

func toACL(acl []jute.ACL) []tree.ACL {
	out := make([]tree.ACL, 0, len(acl))
	for _, a := range acl {
		out = append(out, tree.ACL{Perms: tree.Perm(a.Perms), ID: tree.ID{Scheme: a.Scheme, ID: a.ID}})
	}
	return out
}

func fromACL(acl []tree.ACL) []jute.ACL {
	out := make([]jute.ACL, 0, len(acl))
	for _, a := range acl {
		out = append(out, jute.ACL{Perms: int32(a.Perms), Scheme: a.ID.Scheme, ID: a.ID.ID})
	}
	return out
}

func appendStat(b []byte, s tree.Stat) []byte { return jute.AppendStat(b, jute.Stat(s)) }

// multiOps are the operations of a multi.
func multiOps(m jute.Multi) []jute.Op {
	ops := make([]jute.Op, 0, len(m.Ops))
	for _, p := range m.Ops {
		ops = append(ops, p.Op)
	}
	return slices.Clip(ops)
}
