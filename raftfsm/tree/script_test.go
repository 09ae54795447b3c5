package tree

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestZooKeeper runs scripts whose expected output came from a ZooKeeper 3.9.3 server (testdata/README says how): the same requests on the same zxids
// have to give the same replies and watch events.
func TestZooKeeper(t *testing.T) {
	datadriven.Walk(t, "testdata/zookeeper", func(t *testing.T, file string) {
		s := newService(t)
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string { return s.script(d) })
	})
}

// TestRules runs scripts on what is Saranga's own: owner stamps, repeated requests, confinement, live ephemeral nodes, limits.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, file string) {
		s := newService(t)
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string { return s.script(d) })
	})
}

// service is a server as small as can be: a State, watches, and named connections. A line of a script is
//
//	NAME open                       new session; NAME attach OTHER: the session of another name, with its password
//	NAME close | expire [term=N], expire plain
//	NAME auth SCHEME ID | admin | chroot PATH
//	NAME create PATH [mode] [data=…] [acl=scheme:id:perms,…]     mode: p e ps es c or a number; without data it is null
//	NAME delete|check PATH [v=N] | set PATH [data=…] [v=N] | setacl PATH acl=… [v=N]
//	NAME multi OP ; OP ; …
//	NAME get|exists|children PATH [watch] | acl|count|sync PATH | ephemerals PREFIX | zxid
//	NAME addwatch PATH MODE | checkwatch|removewatch PATH TYPE
//	NAME setwatches ZXID [data=PATH] [exist=PATH] [child=PATH] [persistent=PATH] [recursive=PATH]
//	NAME sweep PATH | limits field=N …
type service struct {
	t       *testing.T
	state   *State
	watches *Watches
	index   uint64
	conns   map[string]*conn
	names   []string
	out     strings.Builder
	events  map[int64][]string
}

type conn struct {
	session, owner uint64
	password       [16]byte
	request        uint64
	caller         Caller
}

func newService(t *testing.T) *service {
	return &service{t: t, state: New(), watches: NewWatches(1000), conns: map[string]*conn{}, events: map[int64][]string{}}
}

func (s *service) script(d *datadriven.TestData) string {
	s.out.Reset()
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		name, rest, _ := strings.Cut(line, " ")
		reply := s.do(name, rest)
		for _, n := range s.names {
			id := int64(s.conns[n].session)
			for _, e := range s.events[id] {
				fmt.Fprintf(&s.out, "  %s %s\n", n, e)
			}
			delete(s.events, id)
		}
		fmt.Fprintf(&s.out, "%s\n", reply)
	}
	return s.out.String()
}

// args are the words of a line: path is the first without "=".
type args struct {
	words []string
	named map[string]string
}

func parseArgs(s string) args {
	a := args{named: map[string]string{}}
	for _, w := range strings.Fields(s) {
		if k, v, ok := strings.Cut(w, "="); ok && !strings.HasPrefix(w, "/") {
			a.named[k] = v
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

func (a args) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return ""
}

func (a args) number(name string, otherwise int64) int64 {
	if v, ok := a.named[name]; ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	return otherwise
}

func (a args) data() []byte {
	if v, ok := a.named["data"]; ok {
		if n, ok := strings.CutPrefix(v, "*"); ok {
			size, _ := strconv.Atoi(n)
			return make([]byte, size)
		}
		return []byte(v)
	}
	return nil
}

func (a args) acl() []ACL {
	v, ok := a.named["acl"]
	switch {
	case !ok:
		return OpenACL()
	case v == "":
		return nil
	}
	var list []ACL
	for _, one := range strings.Split(v, ",") {
		scheme, rest, _ := strings.Cut(one, ":")
		i := strings.LastIndex(rest, ":")
		perms, _ := strconv.Atoi(rest[i+1:])
		list = append(list, ACL{Perm(perms), ID{scheme, rest[:i]}})
	}
	return list
}

var modeNames = map[string]Mode{"p": Persistent, "e": Ephemeral, "ps": PersistentSequential, "es": EphemeralSequential, "c": Container}

func (a args) mode() Mode {
	w := a.word(2)
	if m, ok := modeNames[w]; ok || w == "" {
		return m
	}
	n, _ := strconv.Atoi(w)
	return Mode(n)
}

// op is the operation that a line or a part of a multi asks for.
func (a args) op() Op {
	v := int32(a.number("v", -1))
	switch a.word(0) {
	case "create":
		return &Create{a.word(1), a.data(), a.acl(), a.mode()}
	case "delete":
		return &Delete{a.word(1), v}
	case "set":
		return &SetData{a.word(1), a.data(), v}
	case "setacl":
		return &SetACL{a.word(1), a.acl(), v}
	case "check":
		return &Check{a.word(1), v}
	case "sync":
		return &Sync{a.word(1)}
	case "sweep":
		return &DeleteContainer{a.word(1)}
	}
	return nil
}

func (s *service) do(name, line string) string {
	a := parseArgs(line)
	c := s.conns[name]
	if c == nil {
		c = &conn{owner: uint64(len(s.names) + 1), caller: Caller{Chroot: ClientRoot, IDs: []ID{{"ip", "127.0.0.1"}}}}
		s.conns[name] = c
		s.names = append(s.names, name)
	}
	path := a.word(1)
	watch := func(code Code, mode WatchMode) {
		if abs, ok := c.caller.Abs(path); ok && code == OK && a.word(2) == "watch" {
			s.watches.Add(int64(c.session), abs, mode)
		}
	}
	switch a.word(0) {
	case "open":
		c.session = 0x100 + s.index
		if id := a.number("id", 0); id != 0 {
			c.session = uint64(id)
		}
		c.password[0] = byte(len(s.names))
		c.owner = uint64(a.number("owner", int64(c.owner)))
		return s.apply(c, &NewSession{c.password, int32(a.number("timeout", 6000))})
	case "attach":
		o := s.conns[path]
		c.session, c.password, c.request = o.session, o.password, 0
		c.owner = uint64(a.number("owner", int64(c.owner)))
		if a.word(2) == "wrong" {
			p := c.password
			p[15]++
			return s.apply(c, &Attach{p, 0})
		}
		return s.apply(c, &Attach{c.password, int32(a.number("timeout", 0))})
	case "close":
		return s.apply(c, &CloseSession{})
	case "expire":
		if path == "plain" {
			return s.apply(c, &ExpireSession{1})
		}
		leader := *c
		leader.caller = Caller{Admin: true}
		seen, _ := s.state.Session(int64(c.session))
		leader.request = uint64(a.number("request", int64(seen.Request))) - 1 // apply adds 1
		return s.apply(&leader, &ExpireSession{uint64(a.number("term", 1))})
	case "auth":
		id := ID{path, a.word(2)}
		if path == "digest" {
			id, _ = DigestID([]byte(a.word(2)))
		}
		c.caller.IDs = append(c.caller.IDs, id)
		return "ok"
	case "admin":
		c.caller.Admin = true
		return "ok"
	case "chroot":
		c.caller.Chroot = path
		return "ok"
	case "multi":
		_, rest, _ := strings.Cut(line, " ")
		m := &Multi{}
		for _, one := range strings.Split(rest, ";") {
			m.Ops = append(m.Ops, parseArgs(one).op())
		}
		return s.apply(c, m)
	case "limits":
		l := s.state.Limits()
		for k, f := range map[string]*uint64{"data": &l.Data, "nodes": &l.Nodes, "bytes": &l.Bytes, "children": &l.Children, "path": &l.Path,
			"depth": &l.Depth, "acl": &l.ACL, "multi": &l.Multi, "sessions": &l.Sessions, "ephemerals": &l.Ephemerals} {
			*f = uint64(a.number(k, int64(*f)))
		}
		return s.apply(c, &SetLimits{l})
	case "get":
		data, stat, code := s.state.Get(&c.caller, path)
		watch(code, WatchData)
		if code != OK {
			return code.String()
		}
		text := "null"
		if data != nil {
			text = strconv.Quote(string(data))
		}
		return text + " " + s.stat(stat)
	case "exists":
		stat, code := s.state.Exists(&c.caller, path)
		if code == OK || code == NoNode {
			watch(OK, WatchData)
		}
		if code != OK {
			return code.String()
		}
		return s.stat(stat)
	case "children":
		names, stat, code := s.state.Children(&c.caller, path)
		if watch(code, WatchChildren); code != OK {
			return code.String()
		}
		return fmt.Sprintf("%v %s", names, s.stat(stat))
	case "acl":
		list, stat, code := s.state.ACL(&c.caller, path)
		if code != OK {
			return code.String()
		}
		out := ""
		for _, e := range list {
			out += fmt.Sprintf("%s:%s:%d ", e.ID.Scheme, e.ID.ID, e.Perms)
		}
		return out + s.stat(stat)
	case "count":
		n, code := s.state.AllChildrenNumber(&c.caller, path)
		if code != OK {
			return code.String()
		}
		return strconv.Itoa(int(n))
	case "ephemerals":
		return fmt.Sprint(s.state.Ephemerals(&c.caller, int64(c.session), path))
	case "zxid":
		return strconv.FormatInt(s.state.Zxid(), 10)
	case "containers":
		return fmt.Sprint(s.state.EmptyContainers(10))
	case "sessions":
		out := ""
		s.state.Sessions(func(o Session) bool {
			out += fmt.Sprintf("%s timeout=%d owner=%d request=%d ephemerals=%d ", s.session(o.ID), o.Timeout, o.Owner, o.Request, o.Ephemerals)
			return true
		})
		return strings.TrimSpace(out)
	case "addwatch":
		abs, _ := c.caller.Abs(path)
		s.watches.Add(int64(c.session), abs, map[string]WatchMode{"0": WatchPersistent, "1": WatchRecursive}[a.word(2)])
		return "ok"
	case "checkwatch", "removewatch":
		abs, _ := c.caller.Abs(path)
		t, _ := strconv.Atoi(a.word(2))
		if a.word(0) == "checkwatch" {
			return s.code(s.watches.Has(int64(c.session), abs, WatchType(t)))
		}
		return s.code(s.watches.Remove(int64(c.session), abs, WatchType(t)))
	case "forget":
		s.watches.RemoveSession(int64(c.session))
		return "ok"
	case "setwatches":
		zxid, _ := strconv.ParseInt(path, 10, 64)
		list := func(name string) []string {
			if v := a.named[name]; v != "" {
				return strings.Split(v, ",")
			}
			return nil
		}
		r := Registration{zxid, list("data"), list("exist"), list("child"), list("persistent"), list("recursive")}
		return s.code(s.watches.Restore(&s.state.View, &c.caller, int64(c.session), r, s.deliver(-1)))
	}
	op := a.op()
	if op == nil {
		s.t.Fatalf("unknown line %q", line)
	}
	if r := a.number("request", 0); r != 0 {
		c.request = uint64(r - 1)
	}
	return s.apply(c, op)
}

// apply sends a command through its encoding.
func (s *service) apply(c *conn, op Op) string {
	s.index++
	c.request++
	command := Command{Origin: 7, Request: c.request, Session: int64(c.session), Owner: c.owner, Caller: c.caller, Op: op}
	b, err := command.Append(nil)
	if err != nil {
		return err.Error()
	}
	if err := StampTime(b, int64(1000*s.index)); err != nil {
		s.t.Fatal(err)
	}
	r := s.state.Apply(s.index, 1, b)
	if r.Fatal != nil {
		s.t.Fatal(r.Fatal)
	}
	if r.Zxid != int64(s.index) || r.Origin != 7 || r.Request != c.request {
		s.t.Fatalf("the result %+v does not name its command", r)
	}
	check(s.t, s.state)
	for _, e := range r.Events {
		s.watches.Fire(e, s.deliver(r.Zxid))
	}
	out := s.code(r.Code)
	if r.Code == OK {
		switch {
		case len(r.Ops) > 0:
			out = ""
			for i, o := range r.Ops {
				if i > 0 {
					out += " ; "
				}
				out += s.one(o.Kind, o.Code, o.Path, o.Stat)
			}
		case op.Kind() == KindAttach || op.Kind() == KindNewSession:
		default:
			out = s.one(op.Kind(), r.Code, r.Path, r.Stat)
		}
	}
	if closed := op.Kind() == KindCloseSession; closed && r.Code == OK && r.Detached != c.owner {
		s.t.Fatalf("closed a session of %d, detached %d", c.owner, r.Detached)
	} else if r.Detached != 0 && !closed {
		out += fmt.Sprintf(" detached=%d", r.Detached)
	}
	if r.Repeated {
		out += " repeated"
	}
	return out
}

func (s *service) one(kind Kind, code Code, path string, stat Stat) string {
	switch {
	case code == OK && kind == KindSync:
		return path
	case code != OK || stat == Stat{}:
		return s.code(code)
	case path != "":
		return path + " " + s.stat(stat)
	}
	return s.stat(stat)
}

func (s *service) code(c Code) string {
	if c == OK {
		return "ok"
	}
	return c.String()
}

func (s *service) session(id int64) string {
	for _, n := range s.names {
		if id != 0 && int64(s.conns[n].session) == id {
			return n
		}
	}
	return strconv.FormatInt(id, 10)
}

func (s *service) stat(t Stat) string {
	return fmt.Sprintf("cz=%d mz=%d v=%d cv=%d av=%d eph=%s len=%d n=%d pz=%d", t.Czxid, t.Mzxid, t.Version, t.Cversion, t.Aversion,
		s.session(t.EphemeralOwner), t.DataLength, t.NumChildren, t.Pzxid)
}

// deliver notes an event for the connection that watches.
func (s *service) deliver(zxid int64) func(int64, Event) {
	return func(session int64, e Event) {
		for _, c := range s.conns {
			if int64(c.session) != session {
				continue
			}
			path, ok := c.caller.Rel(e.Path)
			if !ok {
				path = "outside " + e.Path
			}
			if e.ACL != nil && !c.caller.May(e.ACL, PermRead) {
				return
			}
			name := map[EventType]string{1: "created", 2: "deleted", 3: "changed", 4: "children"}[e.Type]
			s.events[session] = append(s.events[session], fmt.Sprintf("%s %s @%d", name, path, zxid))
			return
		}
	}
}
