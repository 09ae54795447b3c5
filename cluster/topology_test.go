package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// tc is a connector to a port.
func tc(port int) *core.TransportConfiguration {
	return &core.TransportConfiguration{Name: "artemis", Factory: core.NettyConnectorFactory, Params: []core.Param{{Key: "port", Value: fmt.Sprint(port)}, {Key: "host", Value: "127.0.0.1"}}}
}

func member(id string, event int64, primary, backup *core.TransportConfiguration) Member {
	return Member{NodeID: id, UniqueEventID: event, Primary: primary, Backup: backup}
}

// TestTopologyRules are cluster §5.3 and §19 rows 7 to 11.
func TestTopologyRules(t *testing.T) {
	a, b, c := tc(1), tc(2), tc(3)
	var none Change
	up := func(m Member) Change { return Change{NodeUp, m} }
	down := func(id string, event int64) Change {
		return Change{NodeDown, Member{NodeID: id, UniqueEventID: event}}
	}
	type step struct {
		do   func(*Topology) (Change, error)
		want Change
		err  error
	}
	update := func(m Member) func(*Topology) (Change, error) {
		return func(t *Topology) (Change, error) { return t.Update(m) }
	}
	remove := func(id string, event int64) func(*Topology) (Change, error) {
		return func(t *Topology) (Change, error) { return t.Remove(id, event) }
	}
	backup := func(m Member, now int64) func(*Topology) (Change, error) {
		return func(t *Topology) (Change, error) { return t.UpdateBackup(m, now) }
	}
	primary := func(m Member, now int64) func(*Topology) (Change, error) {
		return func(t *Topology) (Change, error) { return t.UpdateAsPrimary(m, now), nil }
	}
	resend := func(id string, now int64) func(*Topology) (Change, error) {
		return func(t *Topology) (Change, error) { return t.Resend(id, now), nil }
	}
	own := Own{NodeID: "own", Connector: a, SplitBrainDetection: true}
	for name, test := range map[string]struct {
		own   Own
		steps []step
		want  []Member // in the end
	}{
		"a new node, then an older event of it": {steps: []step{
			{update(member("n", 100, a, nil)), up(member("n", 100, a, nil)), nil},
			{update(member("n", 99, b, nil)), none, nil},
			{update(member("n", 100, b, nil)), none, nil},
		}, want: []Member{member("n", 100, a, nil)}},
		"a newer event keeps a backup that it does not name": {steps: []step{
			{update(member("n", 100, a, b)), up(member("n", 100, a, b)), nil},
			{update(member("n", 101, c, nil)), up(member("n", 101, c, b)), nil},
			{update(member("n", 102, nil, nil)), up(member("n", 102, c, b)), nil},
		}, want: []Member{member("n", 102, c, b)}},
		"an older event fills in a backup, and nobody is told": {steps: []step{
			{update(member("n", 100, a, nil)), up(member("n", 100, a, nil)), nil},
			{update(member("n", 50, c, b)), none, nil},
			{update(member("n", 50, nil, c)), none, nil},
		}, want: []Member{member("n", 100, a, b)}},
		"an older event brings the primary of a node that had none": {steps: []step{
			{update(member("n", 100, nil, b)), up(member("n", 100, nil, b)), nil},
			{update(member("n", 50, a, nil)), up(member("n", 100, a, b)), nil},
		}, want: []Member{member("n", 100, a, b)}},
		"removed, then updates of before and after": {steps: []step{
			{update(member("n", 90, a, nil)), up(member("n", 90, a, nil)), nil},
			{remove("n", 100), down("n", 100), nil},
			{update(member("n", 99, a, nil)), none, ErrRemovedSince},
			{update(member("n", 100, b, nil)), up(member("n", 100, b, nil)), nil},
		}, want: []Member{member("n", 100, b, nil)}},
		"removed, then an update with event 0": {steps: []step{
			{update(member("n", 90, a, nil)), up(member("n", 90, a, nil)), nil},
			{remove("n", 100), down("n", 100), nil},
			{update(member("n", 0, b, nil)), up(member("n", 0, b, nil)), nil},
		}, want: []Member{member("n", 0, b, nil)}},
		"a removal of before the node came": {steps: []step{
			{update(member("n", 100, a, nil)), up(member("n", 100, a, nil)), nil},
			{remove("n", 99), none, nil},
			{remove("other", 99), none, nil},
			{update(member("other", 1, b, nil)), up(member("other", 1, b, nil)), nil}, // nothing was remembered of it
			{remove("n", 100), down("n", 100), nil},
		}, want: []Member{member("other", 1, b, nil)}},
		"the backup of a known node": {steps: []step{
			{update(Member{NodeID: "n", UniqueEventID: 100, Primary: a, BackupGroupName: buf.Of("g")}), up(Member{NodeID: "n", UniqueEventID: 100, Primary: a, BackupGroupName: buf.Of("g")}), nil},
			{backup(Member{NodeID: "n", UniqueEventID: 1, Backup: b, BackupGroupName: buf.Of("h")}, 200), up(Member{NodeID: "n", UniqueEventID: 200, Primary: a, Backup: b, BackupGroupName: buf.Of("g")}), nil},
			{backup(member("n", 1, nil, c), 150), up(Member{NodeID: "n", UniqueEventID: 201, Primary: a, Backup: c, BackupGroupName: buf.Of("g")}), nil}, // the clock went back
		}, want: []Member{{NodeID: "n", UniqueEventID: 201, Primary: a, Backup: c, BackupGroupName: buf.Of("g")}}},
		"the backup of an unknown node": {steps: []step{
			{backup(member("n", 7, nil, b), 200), up(member("n", 200, nil, b)), nil},
		}, want: []Member{member("n", 200, nil, b)}},
		"this node is protected": {own: own, steps: []step{
			{primary(member("own", 0, a, nil), 100), up(member("own", 100, a, nil)), nil},
			{remove("own", 1000), none, ErrOwnNode},
			{update(member("own", 1000, b, nil)), none, ErrSplitBrain},
			{update(member("own", 1000, nil, c)), up(member("own", 1000, a, c)), nil},
			{resend("own", 500), up(member("own", 1001, a, c)), nil},
			{resend("own", 500), up(member("own", 1002, a, c)), nil},
			{resend("nobody", 500), none, nil},
		}, want: []Member{member("own", 1002, a, c)}},
		"without split brain detection this node may be updated": {own: Own{NodeID: "own", Connector: a}, steps: []step{
			{primary(member("own", 0, a, nil), 100), up(member("own", 100, a, nil)), nil},
			{update(member("own", 1000, b, nil)), up(member("own", 1000, b, nil)), nil},
			{primary(member("own", 0, a, nil), 200), up(member("own", 1001, a, nil)), nil}, // always succeeds
		}, want: []Member{member("own", 1001, a, nil)}},
		"a controller's topology protects nobody": {steps: []step{
			{update(member("own", 1000, b, nil)), up(member("own", 1000, b, nil)), nil},
			{remove("own", 1000), down("own", 1000), nil},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			topology := NewTopology(test.own)
			for i, s := range test.steps {
				got, err := s.do(topology)
				if !reflect.DeepEqual(got, s.want) || !errors.Is(err, s.err) {
					t.Errorf("step %d: %+v, %v; want %+v, %v", i, got, err, s.want, s.err)
				}
			}
			if got := topology.Members(); len(got)+len(test.want) > 0 && !reflect.DeepEqual(got, test.want) {
				t.Errorf("in the end %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestTopologyBounds: nobody can make it grow without end.
func TestTopologyBounds(t *testing.T) {
	topology := NewTopology(Own{})
	for i := range maxMembers {
		if _, err := topology.Update(member(fmt.Sprint(i), 1, tc(1), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := topology.Update(member("x", 1, tc(1), nil)); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	if _, err := topology.UpdateBackup(member("x", 1, nil, tc(1)), 1); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more backup: %v", err)
	}
	if c, err := topology.Update(member("5", 2, tc(2), nil)); err != nil || c.Kind != NodeUp {
		t.Errorf("a known one: %v %v", c, err)
	}
	for i := range maxMembers {
		topology.Remove(fmt.Sprint(i), 10)
	}
	for i := range maxRemoved {
		id := fmt.Sprint("y", i)
		topology.Update(member(id, 20, nil, nil))
		topology.Remove(id, 20)
	}
	if n := len(topology.removed); n != maxRemoved {
		t.Errorf("%d removals are remembered, want %d", n, maxRemoved)
	}
	if _, ok := topology.removed["y0"]; !ok {
		t.Error("a later removal was forgotten before an earlier one")
	}
}

// TestTopologyConverges: two topologies that hear the same events in any order know the same primaries, so long as no
// event id is used twice for a node: that is what event ids are for.
func TestTopologyConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "events")
		type event struct {
			m    Member
			down bool
		}
		var events []event
		for i := range n {
			events = append(events, event{member(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "node"), int64(10+i), tc(i), nil), rapid.Bool().Draw(t, "down")})
		}
		apply := func(order []int) *Topology {
			topology := NewTopology(Own{})
			for _, i := range order {
				// A removal is remembered only of a node that is known, so each order begins with the nodes there.
				if events[i].down {
					topology.Remove(events[i].m.NodeID, events[i].m.UniqueEventID)
				} else {
					topology.Update(events[i].m)
				}
			}
			return topology
		}
		identity := make([]int, n)
		for i := range identity {
			identity[i] = i
		}
		x := apply(identity)
		for _, m := range x.Members() {
			last := int64(0)
			for _, e := range events {
				if e.m.NodeID == m.NodeID {
					last = max(last, e.m.UniqueEventID)
				}
			}
			if m.UniqueEventID != last {
				t.Fatalf("%v has event %d, the last was %d", m, m.UniqueEventID, last)
			}
		}
		// Without removals the order does not matter.
		for i := range events {
			events[i].down = false
		}
		x, y := apply(identity), apply(rapid.Permutation(identity).Draw(t, "order"))
		if !reflect.DeepEqual(x.Members(), y.Members()) {
			t.Fatalf("%+v and %+v", x.Members(), y.Members())
		}
	})
}

func TestEventIDs(t *testing.T) {
	var e EventIDs
	for i, c := range []struct{ now, after, want int64 }{{100, 0, 100}, {100, 0, 101}, {50, 0, 102}, {50, 500, 501}, {501, 0, 502}, {1000, 0, 1000}} {
		if got := e.Next(c.now, c.after); got != c.want {
			t.Errorf("%d: Next(%d, %d) = %d, want %d", i, c.now, c.after, got, c.want)
		}
	}
}
