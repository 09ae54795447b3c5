package tree

import (
	"bytes"
	"testing"
)

// check tests the invariants of a state: the counts are right, ephemeral nodes and their sessions know each other, no special node is missing.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *State) {
	t.Helper()
	nodes, size, ephemerals := uint64(1), s.root.size(""), uint64(0)
	owned := map[int64]int{}
	s.root.walk("", func(path string, n *node) bool {
		_, name, _ := parentOf(path)
		nodes++
		size += n.size(name)
		if !ValidPath(path) {
			t.Fatalf("%q is malformed", path)
		}
		if (n.owner != 0) != (n.kind == kindEphemeral) || n.owner != 0 && n.children.len() > 0 {
			t.Fatalf("%s of kind %d belongs to session %#x and has %d children", path, n.kind, n.owner, n.children.len())
		}
		count, last := 0, ""
		n.children.ascend(func(name string, _ *node) bool {
			if name <= last {
				t.Fatalf("%s: %q after %q", path, name, last)
			}
			count, last = count+1, name
			return true
		})
		if count != n.children.len() {
			t.Fatalf("%s has %d children, counted %d", path, count, n.children.len())
		}
		if n.owner != 0 {
			ephemerals++
			owned[n.owner]++
			o, ok := s.sessions.get(n.owner)
			if !ok {
				t.Fatalf("%s belongs to session %#x, which does not exist", path, n.owner)
			} else if _, ok := o.ephemerals.get(path); !ok {
				t.Fatalf("session %#x does not know of its %s", n.owner, path)
			}
		}
		return true
	})
	s.sessions.ascend(func(id int64, o *session) bool {
		if o.ephemerals.len() != owned[id] || o.id != id {
			t.Fatalf("session %#x under %#x has %d nodes, counted %d", o.id, id, o.ephemerals.len(), owned[id])
		}
		return true
	})
	if nodes != s.nodes || size != s.bytes || ephemerals != s.ephemerals {
		t.Fatalf("counts %d nodes, %d bytes, %d ephemerals; there are %d, %d, %d", s.nodes, s.bytes, s.ephemerals, nodes, size, ephemerals)
	}
	for _, path := range seeds {
		if s.lookup(path) == nil {
			t.Fatalf("%s is gone", path)
		}
	}
}

// dump is a state's snapshot.
func dump(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := s.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo = %d, %v; wrote %d", n, err, b.Len())
	}
	return b.Bytes()
}

func TestCheckFails(t *testing.T) {
	// The checker must see what it is there to see.
	for name, harm := range map[string]func(*State){
		"nodes":     func(s *State) { s.nodes++ },
		"bytes":     func(s *State) { s.bytes-- },
		"orphan":    func(s *State) { s.lookup("/saranga").kind, s.lookup("/saranga").owner = kindEphemeral, 5 },
		"ephemeral": func(s *State) { s.ephemerals++ },
		"seed":      func(s *State) { s.root.children.remove(1, "saranga"); s.nodes--; s.bytes -= s.root.size("saranga") },
	} {
		s := New()
		check(t, s)
		harm(s)
		r := &failures{}
		check(r, s)
		if r.n == 0 {
			t.Errorf("check does not see %s", name)
		}
	}
}

type failures struct{ n int }

func (*failures) Helper()                 {}
func (f *failures) Fatalf(string, ...any) { f.n++ }
