package crash

import (
	"slices"
	"testing"
)

// TestCheck judges made-up histories. Each broken one differs from a sound one in one thing.
func TestCheck(t *testing.T) {
	c := func(m string) Copy { return Copy{"q", m} }
	copies := func(names ...string) []Copy {
		var out []Copy
		for _, n := range names {
			out = append(out, c(n))
		}
		return out
	}
	there := func(names ...string) map[Copy]int {
		out := map[Copy]int{}
		for _, n := range names {
			out[c(n)]++
		}
		return out
	}
	before := func(names ...string) map[Copy]bool {
		out := map[Copy]bool{}
		for _, n := range names {
			out[c(n)] = true
		}
		return out
	}
	send := func(may States, names ...string) *Unit { return &Unit{Name: "send", Sends: copies(names...), May: may} }
	ack := func(may States, names ...string) *Unit {
		return &Unit{Name: "ack", Acks: copies(names...), May: may, Known: 10}
	}
	tx := func(may States, sends, acks []Copy) *Unit {
		return &Unit{Name: "tx", Atomic: true, Sends: sends, Acks: acks, May: may, Known: 10}
	}
	unknown := Applied | Undone

	for _, x := range []struct {
		name  string
		round Round
		want  []string
	}{
		{"nothing", Round{}, nil},
		{"kept", Round{Before: before("a"), After: there("a")}, nil},
		{"lost what was there", Round{Before: before("a")}, []string{Lost}},
		{"answered send", Round{Units: []*Unit{send(Applied, "a")}, After: there("a")}, nil},
		{"answered send lost", Round{Units: []*Unit{send(Applied, "a", "b")}, After: there("b")}, []string{Lost}},
		{"unanswered send is there", Round{Units: []*Unit{send(unknown, "a")}, After: there("a")}, nil},
		{"unanswered send is not there", Round{Units: []*Unit{send(unknown, "a")}}, nil},
		{"unanswered sends stand for themselves", Round{Units: []*Unit{send(unknown, "a", "b")}, After: there("b")}, nil},
		{"refused send is there", Round{Units: []*Unit{send(Undone, "a")}, After: there("a")}, []string{Phantom}},
		{"phantom", Round{After: there("a")}, []string{Phantom}},
		{"twice", Round{Units: []*Unit{send(Applied, "a")}, After: there("a", "a")}, []string{Duplicated}},
		{"sent again with its duplicate id", Round{Before: before("a"), Units: []*Unit{send(Undone, "a")}, After: there("a")}, nil},

		{"answered ack", Round{Before: before("a"), Units: []*Unit{ack(Applied, "a")}}, nil},
		{"answered ack undone", Round{Before: before("a"), Units: []*Unit{ack(Applied, "a")}, After: there("a")}, []string{UndoneAck}},
		{"sent and acknowledged in one life", Round{Units: []*Unit{send(Applied, "a"), ack(Applied, "a")}}, nil},
		{"sent, acknowledged, and back", Round{Units: []*Unit{send(Applied, "a"), ack(Applied, "a")}, After: there("a")}, []string{UndoneAck}},
		{"unanswered ack", Round{Before: before("a", "b"), Units: []*Unit{ack(unknown, "a", "b")}, After: there("a")}, nil},
		{"rolled back ack, gone", Round{Before: before("a"), Units: []*Unit{ack(Undone, "a")}}, []string{Lost}},
		{"acknowledged, and never sent", Round{Units: []*Unit{send(Undone, "a"), ack(Applied, "a")}}, []string{Lost}},
		{"rolled back, then acknowledged", Round{Before: before("a"), Units: []*Unit{ack(Undone, "a"), ack(Applied, "a")}}, nil},
		{"acknowledged twice", Round{Before: before("a"), Units: []*Unit{ack(Applied, "a"), ack(Applied, "a")}}, []string{AckedTwice}},

		{"delivered", Round{Before: before("a"), Deliveries: []Delivery{{c("a"), 3}}, After: there("a")}, nil},
		{"delivered, and so it was sent", Round{Units: []*Unit{send(unknown, "a")}, Deliveries: []Delivery{{c("a"), 3}}}, []string{Lost}},
		{"delivered and acknowledged, both without an answer", Round{Units: []*Unit{send(unknown, "a"), ack(unknown, "a")}, Deliveries: []Delivery{{c("a"), 3}}}, nil},
		{"delivered from nowhere", Round{Deliveries: []Delivery{{c("a"), 3}}}, []string{Phantom}},
		{"delivered before the commit", Round{Units: []*Unit{tx(Undone, copies("a"), nil)}, Deliveries: []Delivery{{c("a"), 3}}}, []string{Dirty}},
		{"delivered, acknowledged", Round{Before: before("a"), Units: []*Unit{ack(Applied, "a")}, Deliveries: []Delivery{{c("a"), 9}}}, nil},
		{"acknowledged, delivered", Round{Before: before("a"), Units: []*Unit{ack(Applied, "a")}, Deliveries: []Delivery{{c("a"), 11}}}, []string{Redelivered}},
		{"rolled back, delivered again", Round{Before: before("a"), Units: []*Unit{ack(Undone, "a")}, Deliveries: []Delivery{{c("a"), 11}}, After: there("a")}, nil},

		{"committed", Round{Before: before("x"), Units: []*Unit{tx(Applied, copies("a", "b"), copies("x"))}, After: there("a", "b")}, nil},
		{"committed, one send lost", Round{Units: []*Unit{tx(Applied, copies("a", "b"), nil)}, After: there("a")}, []string{Lost}},
		{"committed, the ack undone", Round{Before: before("x"), Units: []*Unit{tx(Applied, copies("a"), copies("x"))}, After: there("a", "x")}, []string{UndoneAck}},
		{"unanswered commit, done", Round{Before: before("x"), Units: []*Unit{tx(unknown, copies("a", "b"), copies("x"))}, After: there("a", "b")}, nil},
		{"unanswered commit, not done", Round{Before: before("x"), Units: []*Unit{tx(unknown, copies("a", "b"), copies("x"))}, After: there("x")}, nil},
		{"one of two sends", Round{Units: []*Unit{tx(unknown, copies("a", "b"), nil)}, After: there("b")}, []string{HalfDone}},
		{"sent, not acknowledged", Round{Before: before("x"), Units: []*Unit{tx(unknown, copies("a"), copies("x"))}, After: there("a", "x")}, []string{HalfDone}},
		{"acknowledged, not sent", Round{Before: before("x"), Units: []*Unit{tx(unknown, copies("a"), copies("x"))}}, []string{HalfDone}},
		{"one send was consumed", Round{Units: []*Unit{tx(unknown, copies("a", "b"), nil), ack(Applied, "a")}, Deliveries: []Delivery{{c("a"), 3}}, After: there("b")}, nil},
		{"one send was consumed, the other is not there", Round{Units: []*Unit{tx(unknown, copies("a", "b"), nil), ack(unknown, "a")}, Deliveries: []Delivery{{c("a"), 3}}}, []string{Lost}},
		{"what two transactions did agrees", Round{Before: before("x"), Units: []*Unit{tx(unknown, copies("a"), copies("x")), {Name: "other", Atomic: true, Sends: copies("b"), Acks: copies("a"), May: unknown}}, After: there("b")}, nil},
		{"the second counts without the first", Round{Before: before("x"), Units: []*Unit{tx(unknown, copies("a"), copies("x")), {Name: "other", Atomic: true, Sends: copies("b"), Acks: copies("a"), May: unknown}}, After: there("x", "b")}, []string{HalfDone, HalfDone}},
		{"a transaction that takes what it sent", Round{Units: []*Unit{tx(Applied, copies("a"), copies("a"))}}, nil},

		{"in doubt", Round{Before: before("x"), Units: []*Unit{tx(InDoubt, copies("a"), copies("x"))}, Branches: []string{"tx"}}, nil},
		{"prepared and gone", Round{Before: before("x"), Units: []*Unit{tx(InDoubt, copies("a"), copies("x"))}, After: there("x")}, []string{BranchLost, UndoneAck}},
		{"in doubt and visible", Round{Units: []*Unit{tx(InDoubt, copies("a"), nil)}, Branches: []string{"tx"}, After: there("a")}, []string{Phantom}},
		{"in doubt and not held", Round{Before: before("x"), Units: []*Unit{tx(InDoubt, nil, copies("x"))}, Branches: []string{"tx"}, After: there("x")}, []string{UndoneAck}},
		{"unanswered prepare, in doubt", Round{Before: before("x"), Units: []*Unit{tx(InDoubt|Undone, copies("a"), copies("x"))}, Branches: []string{"tx"}}, nil},
		{"unanswered prepare, undone", Round{Before: before("x"), Units: []*Unit{tx(InDoubt|Undone, copies("a"), copies("x"))}, After: there("x")}, nil},
		{"unanswered prepare, half", Round{Before: before("x"), Units: []*Unit{tx(InDoubt|Undone, copies("a"), copies("x"))}, After: there("x", "a")}, []string{Phantom}},
		{"unanswered commit of a branch, done", Round{Before: before("x"), Units: []*Unit{tx(InDoubt|Applied, copies("a"), copies("x"))}, After: there("a")}, nil},
		{"unanswered commit of a branch, still in doubt", Round{Before: before("x"), Units: []*Unit{tx(InDoubt|Applied, copies("a"), copies("x"))}, Branches: []string{"tx"}}, nil},
		{"unanswered commit of a branch, undone", Round{Before: before("x"), Units: []*Unit{tx(InDoubt|Applied, copies("a"), copies("x"))}, After: there("x")}, []string{Lost, UndoneAck}},
		{"committed branch in doubt", Round{Units: []*Unit{tx(Applied, copies("a"), nil)}, Branches: []string{"tx"}}, []string{BranchPhantom}},
		{"branch from nowhere", Round{Branches: []string{"tx"}}, []string{BranchPhantom}},
		{"a branch without work", Round{Units: []*Unit{tx(InDoubt, nil, nil)}, Branches: []string{"tx"}}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			found := x.round.Check()
			for _, v := range found {
				got = append(got, v.Kind)
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("got %v, want %v", found, x.want)
			}
		})
	}
}

// The queues of a topic stand for themselves: a copy of one says nothing about the other.
func TestCheckTopic(t *testing.T) {
	a, b := Copy{"sub.a", "m"}, Copy{"sub.b", "m"}
	r := Round{Units: []*Unit{{Sends: []Copy{a, b}, May: Applied}, {Acks: []Copy{a}, May: Applied}}, After: map[Copy]int{a: 1}}
	got := r.Check()
	if len(got) != 2 || got[0].Kind != UndoneAck || got[1].Kind != Lost {
		t.Errorf("got %v, want the ack on sub.a undone and m lost on sub.b", got)
	}
}

func TestNext(t *testing.T) {
	a, x := Copy{"q", "a"}, Copy{"q", "x"}
	r := Round{Units: []*Unit{{Name: "tx", Atomic: true, Sends: []Copy{a}, Acks: []Copy{x}, May: InDoubt | Undone}}, Branches: []string{"tx"},
		After: map[Copy]int{{"q", "b"}: 1}}
	before, branches := r.Next()
	if len(before) != 2 || !before[x] || !before[Copy{"q", "b"}] {
		t.Errorf("before %v, want b and the held x", before)
	}
	if len(branches) != 1 || branches[0].May != InDoubt || !slices.Equal(branches[0].Sends, []Copy{a}) || !slices.Equal(branches[0].Acks, []Copy{x}) {
		t.Errorf("branches %+v", branches)
	}
}

func TestOrder(t *testing.T) {
	seen := func(ids ...string) []Seen {
		var out []Seen
		for _, id := range ids {
			out = append(out, Seen{ID: id, Priority: 4})
		}
		return out
	}
	for _, x := range []struct {
		name string
		in   []Seen
		want int
	}{
		{"as sent", seen("a-1-t", "b-1-t", "a-2-t", "b-7-t"), 0},
		{"overtaken", seen("a-2-t", "b-1-t", "a-1-t"), 1},
		{"scheduled ones have no place", seen("a-2-t", "a-1-tS", "a-3-t"), 0},
		{"nor have those of branches", seen("a-2-t", "a-1-tX", "a-3-t"), 0},
		{"priorities have orders of their own", []Seen{{ID: "a-2-t", Priority: 5}, {ID: "a-1-t", Priority: 4}}, 0},
		{"higher priority behind", []Seen{{ID: "a-1-t", Priority: 4}, {ID: "b-1-t", Priority: 5}}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := Order("q", x.in); len(got) != x.want {
				t.Errorf("got %v, want %d", got, x.want)
			}
		})
	}
}
