package tree

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is the state machine told as plainly as possible: flat maps that are copied whole, searched whole. Paths are the client's.
type model struct {
	nodes    map[string]mnode
	sessions map[int64]msession
}

type mnode struct {
	data      string
	null      bool
	container bool
	created   int32
	stat      Stat // without Cversion, NumChildren, DataLength
}

type msession struct {
	owner, former, request uint64
	last                   Outcome
}

func newModel() *model {
	m := &model{nodes: map[string]mnode{}, sessions: map[int64]msession{}}
	for _, p := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		m.nodes[p] = mnode{}
	}
	return m
}

// dirOf is what stands before the last "/".
func dirOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

func malformed(p string) bool { return slices.Contains(strings.Split(p, "/"), ".") }

func (m *model) children(p string) (names []string) {
	for q := range m.nodes {
		if q != "/" && dirOf(q) == p {
			names = append(names, strings.TrimPrefix(q[len(p):], "/"))
		}
	}
	slices.Sort(names)
	return names
}

func (m *model) stat(p string) Stat {
	n := m.nodes[p]
	s := n.stat
	s.NumChildren = int32(len(m.children(p)))
	s.Cversion = 2*n.created - s.NumChildren
	s.DataLength = int32(len(n.data))
	return s
}

func (m *model) put(p string, change func(*mnode)) {
	n := m.nodes[p]
	change(&n)
	m.nodes[p] = n
}

// apply gives the outcome and the events, written "type path".
func (m *model) apply(zxid int64, term uint64, c *Command) (o Outcome, events []string, repeated bool) {
	s, known := m.sessions[c.Session]
	end := func() {
		var own []string
		for p, n := range m.nodes {
			if n.stat.EphemeralOwner == c.Session {
				own = append(own, p)
			}
		}
		slices.Sort(own)
		for _, p := range own {
			events = append(events, m.remove(zxid, p)...)
		}
		delete(m.sessions, c.Session)
	}
	switch op := c.Op.(type) {
	case *NewSession:
		if known {
			if s.owner == c.Owner {
				return Outcome{}, nil, true
			}
			return Outcome{Code: NodeExists}, nil, false
		}
		m.sessions[c.Session] = msession{owner: c.Owner}
		return Outcome{}, nil, false
	case *Attach:
		switch {
		case !known:
			return Outcome{Code: SessionExpired}, nil, false
		case op.Password[0] != 0:
			return Outcome{Code: AuthFailed}, nil, false
		case s.former == c.Owner:
			return Outcome{Code: SessionMoved}, nil, false
		case s.owner == c.Owner:
			return Outcome{}, nil, true
		}
		m.sessions[c.Session] = msession{owner: c.Owner, former: s.owner}
		return Outcome{}, nil, false
	}
	if !known {
		return Outcome{Code: SessionExpired}, nil, false
	}
	if s.owner != c.Owner {
		return Outcome{Code: SessionMoved}, nil, false
	}
	switch op := c.Op.(type) {
	case *CloseSession:
		end()
		return Outcome{}, events, false
	case *ExpireSession:
		if op.Term != term || c.Request != s.request {
			return Outcome{Code: BadVersion}, nil, false
		}
		end()
		return Outcome{}, events, false
	}
	if c.Request != 0 && c.Request <= s.request {
		if c.Request == s.request {
			return s.last, nil, true
		}
		return Outcome{Code: RuntimeInconsistency}, nil, true
	}
	if op, ok := c.Op.(*Multi); ok {
		before := maps.Clone(m.nodes)
		for i, one := range op.Ops {
			r, e := m.single(zxid, c, one)
			events = append(events, e...)
			o.Ops = append(o.Ops, r)
			if r.Code == OK {
				continue
			}
			m.nodes, events, o.Ops = before, nil, nil
			for j, other := range op.Ops {
				o.Ops = append(o.Ops, OpOutcome{Kind: other.Kind()})
				if j == i {
					o.Ops[j].Code = r.Code
				} else if j > i {
					o.Ops[j].Code = RuntimeInconsistency
				}
			}
			break
		}
	} else {
		r, e := m.single(zxid, c, c.Op)
		o, events = Outcome{Code: r.Code, Path: r.Path, Stat: r.Stat}, e
	}
	if c.Request != 0 {
		s.request, s.last = c.Request, o
		m.sessions[c.Session] = s
	}
	return o, events, false
}

func (m *model) remove(zxid int64, p string) []string {
	delete(m.nodes, p)
	m.put(dirOf(p), func(n *mnode) { n.stat.Pzxid = zxid })
	return []string{"2 " + p, "4 " + dirOf(p)}
}

func (m *model) single(zxid int64, c *Command, op Op) (OpOutcome, []string) {
	o := OpOutcome{Kind: op.Kind()}
	switch op := op.(type) {
	case *Create:
		p := op.Path
		dir := dirOf(p)
		parent, ok := m.nodes[dir]
		if op.Mode == PersistentSequential || op.Mode == EphemeralSequential {
			p += fmt.Sprintf("%010d", parent.created)
		}
		_, exists := m.nodes[p]
		switch {
		case !ok:
			o.Code = NoNode
		case malformed(p):
			o.Code = BadArguments
		case exists:
			o.Code = NodeExists
		case parent.stat.EphemeralOwner != 0:
			o.Code = NoChildrenForEphemerals
		}
		if o.Code != OK {
			return o, nil
		}
		n := mnode{data: string(op.Data), null: op.Data == nil, container: op.Mode == Container}
		n.stat = Stat{Czxid: zxid, Mzxid: zxid, Pzxid: zxid, Ctime: c.Time, Mtime: c.Time}
		if op.Mode == Ephemeral || op.Mode == EphemeralSequential {
			n.stat.EphemeralOwner = c.Session
		}
		m.nodes[p] = n
		m.put(dir, func(n *mnode) { n.created++; n.stat.Pzxid = zxid })
		o.Path, o.Stat = p, m.stat(p)
		return o, []string{"1 " + p, "4 " + dir}
	case *Delete:
		n, ok := m.nodes[op.Path]
		switch {
		case op.Path == "/" || strings.HasPrefix(op.Path, "/zookeeper"):
			o.Code = BadArguments
		case !ok:
			o.Code = NoNode
		case n.stat.EphemeralOwner != 0 && n.stat.EphemeralOwner != c.Session:
			o.Code = NoAuth
		case op.Version != -1 && op.Version != n.stat.Version:
			o.Code = BadVersion
		case len(m.children(op.Path)) > 0:
			o.Code = NotEmpty
		default:
			return o, m.remove(zxid, op.Path)
		}
		return o, nil
	case *SetData:
		n, ok := m.nodes[op.Path]
		switch {
		case malformed(op.Path):
			o.Code = BadArguments
		case !ok:
			o.Code = NoNode
		case op.Path == "/zookeeper/config":
			o.Code = NoAuth
		case op.Version != -1 && op.Version != n.stat.Version:
			o.Code = BadVersion
		}
		if o.Code != OK {
			return o, nil
		}
		m.put(op.Path, func(n *mnode) {
			n.data, n.null = string(op.Data), op.Data == nil
			n.stat.Version++
			n.stat.Mzxid, n.stat.Mtime = zxid, c.Time
		})
		o.Stat = m.stat(op.Path)
		return o, []string{"3 " + op.Path}
	case *Check:
		n, ok := m.nodes[op.Path]
		switch {
		case malformed(op.Path):
			o.Code = BadArguments
		case !ok:
			o.Code = NoNode
		case op.Version != -1 && op.Version != n.stat.Version:
			o.Code = BadVersion
		}
		return o, nil
	}
	panic(op)
}

var drawPath = rapid.Custom(func(t *rapid.T) string {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "q-", "q-0000000000", "q-0000000001", "."}), 1, 3).Draw(t, "names")
	if rapid.IntRange(0, 30).Draw(t, "seed") == 0 {
		return rapid.SampledFrom([]string{"/zookeeper", "/zookeeper/config", "/zookeeper/quota", "/"}).Draw(t, "special")
	}
	return "/" + strings.Join(names, "/")
})

var drawSingle = rapid.Custom(func(t *rapid.T) Op {
	p := drawPath.Draw(t, "path")
	version := rapid.SampledFrom([]int32{-1, -1, -1, 0, 1}).Draw(t, "version")
	data := rapid.SampledFrom([][]byte{nil, {}, []byte("x"), []byte("longer data")}).Draw(t, "data")
	switch rapid.IntRange(0, 9).Draw(t, "op") {
	case 0, 1, 2, 3, 4:
		if p == "/" {
			p = "/a"
		}
		return &Create{p, data, OpenACL(), Mode(rapid.IntRange(0, 4).Draw(t, "mode"))}
	case 5, 6:
		return &Delete{p, version}
	case 7, 8:
		return &SetData{p, data, version}
	}
	return &Check{p, version}
})

var drawCommand = rapid.Custom(func(t *rapid.T) Command {
	c := Command{
		Session: int64(rapid.IntRange(1, 3).Draw(t, "session")), Owner: uint64(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 3}).Draw(t, "owner")),
		Request: uint64(rapid.IntRange(0, 40).Draw(t, "request")), Time: int64(rapid.IntRange(0, 1000).Draw(t, "time")),
		Caller: Caller{Chroot: ClientRoot},
	}
	switch rapid.IntRange(0, 30).Draw(t, "kind") {
	case 0, 1, 2:
		c.Op = &NewSession{Timeout: 4000}
	case 3:
		c.Op = &Attach{[16]byte{byte(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "password"))}, 0}
	case 4:
		c.Op = &CloseSession{}
	case 5:
		c.Caller.Admin, c.Op = true, &ExpireSession{uint64(rapid.IntRange(1, 2).Draw(t, "term"))}
		c.Request = uint64(rapid.SampledFrom([]int{0, 0, int(c.Request)}).Draw(t, "last request"))
	case 6, 7, 8, 9, 10:
		c.Op = &Multi{rapid.SliceOfN(drawSingle, 1, 5).Draw(t, "ops")}
	default:
		c.Op = drawSingle.Draw(t, "single")
	}
	return c
})

// TestModel compares the state machine with the model, and with a second one that is written out and read in again every now and then. Snapshots
// that were taken on the way stay what they were.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, a, b := newModel(), New(), New()
		type kept struct {
			snapshot *Snapshot
			bytes    []byte
		}
		var keep []kept
		index := uint64(0)
		step := func(c Command) {
			index += uint64(rapid.IntRange(1, 2).Draw(t, "gap"))
			encoded, err := c.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			want, events, repeated := m.apply(int64(index), 1, &c)
			got := a.Apply(index, 1, encoded)
			if other := b.Apply(index, 1, encoded); !reflect.DeepEqual(got, other) {
				t.Fatalf("two replicas answered %+v and %+v", got, other)
			}
			if got.Fatal != nil || !reflect.DeepEqual(got.Outcome, want) || got.Repeated != repeated {
				t.Fatalf("%d: %T %+v: %+v, want %+v %v", index, c.Op, c, got, want, repeated)
			}
			var seen []string
			for _, e := range got.Events {
				p, _ := c.Caller.Rel(e.Path)
				if c.Caller.Chroot == "" {
					p, _ = (&Caller{Chroot: ClientRoot}).Rel(e.Path)
				}
				seen = append(seen, fmt.Sprintf("%d %s", e.Type, p))
			}
			if !slices.Equal(seen, events) {
				t.Fatalf("%d: %T %+v: events %v, want %v", index, c.Op, c, seen, events)
			}
			check(t, a)
		}
		for session := int64(1); session <= 3; session++ {
			step(Command{Session: session, Owner: 1, Caller: Caller{Chroot: ClientRoot}, Op: &NewSession{Timeout: 4000}})
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			step(drawCommand.Draw(t, "command"))
			switch rapid.IntRange(0, 9).Draw(t, "snapshot") {
			case 0:
				s := a.Snapshot()
				keep = append(keep, kept{s, dump(t, s)})
			case 1:
				if err := b.Restore(bytes.NewReader(dump(t, b.Snapshot()))); err != nil {
					t.Fatal(err)
				}
				check(t, b)
			}
		}
		c := &Caller{Chroot: ClientRoot}
		for p, n := range m.nodes {
			data, stat, code := a.Get(c, p)
			names, _, _ := a.Children(c, p)
			if code != OK || string(data) != n.data || (data == nil) != (n.null) && p != "/" && !strings.HasPrefix(p, "/zookeeper") ||
				p != "/zookeeper/config" && stat != m.stat(p) || !slices.Equal(names, m.children(p)) {
				t.Fatalf("%s: %v %q %+v %q, want %+v %q", p, code, data, stat, names, n, m.children(p))
			}
		}
		if got := int(a.NumNodes()) - 2; got != len(m.nodes) || a.NumSessions() != len(m.sessions) {
			t.Fatalf("%d nodes, %d sessions; want %d, %d", got, a.NumSessions(), len(m.nodes), len(m.sessions))
		}
		for _, k := range keep {
			if !bytes.Equal(dump(t, k.snapshot), k.bytes) {
				t.Fatalf("a snapshot of zxid %d changed", k.snapshot.Zxid())
			}
		}
		sameStates(t, a, b)
		if !bytes.Equal(dump(t, a.Snapshot()), dump(t, b.Snapshot())) {
			t.Fatal("the snapshots of two replicas differ")
		}
		// Nothing is left of sessions that are gone.
		for id := range m.sessions {
			step(Command{Session: id, Owner: m.sessions[id].owner, Caller: Caller{Chroot: ClientRoot}, Op: &CloseSession{}})
		}
		if a.NumSessions() != 0 || a.NumEphemerals() != 0 {
			t.Fatalf("%d sessions and %d ephemeral nodes are left", a.NumSessions(), a.NumEphemerals())
		}
	})
}

// TestOrderedMap compares omap and its older copies with plain maps.
func TestOrderedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m omap[int64, int]
		want := map[int64]int{}
		generation := uint64(1)
		type kept struct {
			m    omap[int64, int]
			want map[int64]int
		}
		var keep []kept
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			key := int64(rapid.IntRange(0, 40).Draw(t, "key"))
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0, 1, 2:
				m.set(generation, key, i)
				want[key] = i
			case 3, 4:
				m.remove(generation, key)
				delete(want, key)
			case 5:
				keep = append(keep, kept{m, maps.Clone(want)})
				generation++
			}
			if got, ok := m.get(key); got != want[key] || ok != (func() bool { _, ok := want[key]; return ok })() {
				t.Fatalf("%d is %d, %v", key, got, ok)
			}
		}
		for _, k := range append(keep, kept{m, want}) {
			var keys []int64
			k.m.ascend(func(key int64, value int) bool {
				if value != k.want[key] {
					t.Fatalf("%d is %d, want %d", key, value, k.want[key])
				}
				keys = append(keys, key)
				return true
			})
			if !slices.Equal(keys, slices.Sorted(maps.Keys(k.want))) || k.m.len() != len(keys) {
				t.Fatalf("keys %v of %d, want %v", keys, k.m.len(), slices.Sorted(maps.Keys(k.want)))
			}
		}
	})
}
