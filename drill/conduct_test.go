package drill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/drill"
)

// A theatre is two nodes of which one is active, a conductor for them, and who does what it asks for.
type theatre struct {
	t         *testing.T
	one, two  *fakeNode
	conductor drill.Conductor
	sequence  atomic.Int64
	inSync    atomic.Bool
	policy    string

	mu  sync.Mutex
	log []string
}

// newTheatre makes a pair, or, with real false, two brokers that say they are one.
func newTheatre(t *testing.T, real bool) *theatre {
	t.Helper()
	h := &theatre{t: t, policy: "Replication Primary w/lock manager"}
	h.inSync.Store(true)
	node := func(failover func(), backup func() string) management.Node {
		return management.Node{
			HAPolicy: func() string { return h.policy }, ReplicaSync: h.inSync.Load,
			Topology: func() []management.TopologyMember {
				return []management.TopologyMember{{NodeID: "11111111-2222-3333-4444-555555555555", Backup: backup()}}
			},
			ForceFailover: func() error { go failover(); return nil },
		}
	}
	address := func(n **fakeNode) func() string {
		return func() string {
			if !h.inSync.Load() {
				return ""
			}
			return strings.TrimPrefix((*n).url(), "tcp://")
		}
	}
	b := engine(t, &h.sequence, node(h.change, address(&h.two)))
	h.one = newNode(t, b, &h.sequence)
	if !real {
		b = engine(t, &h.sequence, node(h.change, address(&h.one)))
	}
	h.two = newNode(t, b, &h.sequence)
	h.one.open()
	w := workload(h.one, h.two)
	h.conductor = drill.Conductor{Workload: w, Admin: drill.Admin{User: "admin", Password: "admin"}, Operator: h, Before: 300 * time.Millisecond, After: 300 * time.Millisecond,
		Cut: 100 * time.Millisecond, Timeout: 20 * time.Second, Log: func(line string) {
			h.mu.Lock()
			h.log = append(h.log, line)
			h.mu.Unlock()
		}}
	return h
}

// change makes the passive node active.
func (h *theatre) change() {
	if h.one.isOpen() {
		h.one.close()
		h.two.open()
	} else {
		h.two.close()
		h.one.open()
	}
}

// Do implements drill.Operator.
func (h *theatre) Do(_ context.Context, t drill.Task) error {
	switch t.Kind {
	case drill.Start:
		h.change()
	case drill.CutNet:
		h.inSync.Store(false)
	case drill.HealNet:
		h.inSync.Store(true)
	case drill.Restart:
		if h.one.isOpen() == (t.URL == h.one.url()) {
			h.change()
		}
	}
	return nil
}

// TestDrills: a pair passes all of them.
func TestDrills(t *testing.T) {
	for _, x := range []struct {
		name   string
		ready  func(h *theatre)
		events []string
	}{
		{drill.Failover, func(*theatre) {}, []string{"forceFailover at ONE", "TWO is active"}},
		{drill.Failback, func(h *theatre) {
			h.change()
			h.policy = "Replication Backup w/lock manager"
			h.inSync.Store(false)
		}, []string{"asked for: Start the broker that was at ONE", "done: Start the broker that was at ONE", "ONE is active"}},
		{drill.Failback, func(h *theatre) {
			h.change()
			h.policy = "Replication Backup w/lock manager"
		}, []string{"forceFailover at TWO", "ONE is active"}},
		{drill.Partition, func(*theatre) {}, []string{"asked for: Part the network between the nodes", "done: Part the network between the nodes",
			"asked for: Make the network whole again", "done: Make the network whole again", "a node is active and a backup has everything"}},
		{drill.RollingUpgrade, func(*theatre) {}, []string{
			"asked for: Stop the broker at TWO, upgrade it, and start it again", "done: Stop the broker at TWO, upgrade it, and start it again", "TWO is done: a node is active and a backup has everything",
			"asked for: Stop the broker at ONE, upgrade it, and start it again", "done: Stop the broker at ONE, upgrade it, and start it again", "ONE is done: a node is active and a backup has everything"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := newTheatre(t, true)
			x.ready(h)
			r, err := h.conductor.Run(within(t), x.name)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Passed() {
				t.Error("it did not pass")
			}
			var events []string
			name := strings.NewReplacer(drill.NodeName(h.one.url()), "ONE", drill.NodeName(h.two.url()), "TWO")
			for _, e := range r.Timeline.Events {
				events = append(events, name.Replace(e.Text))
			}
			if got, want := strings.Join(events, "\n"), strings.Join(x.events, "\n"); got != want {
				t.Errorf("events\n%s\nwant\n%s", got, want)
			}
			t.Log(r.Text(80))
		})
	}
}

// TestNoPair: two brokers that only say that they are a pair fail, as the second has not got the messages of the first.
func TestNoPair(t *testing.T) {
	h := newTheatre(t, false)
	r, err := h.conductor.Run(within(t), drill.Failover)
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed() || r.Verdict.Broken[drill.Lost] == 0 {
		t.Errorf("nothing is found to be lost:\n%s", r.Text(80))
	}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, page.String())
	for _, text := range []string{"FAILED", "lost: "} {
		if !strings.Contains(page.String(), text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	var report struct {
		Passed bool
		Lost   uint64
		Drill  string
	}
	var out bytes.Buffer
	if err := errors.Join(r.WriteJSON(&out), json.Unmarshal(out.Bytes(), &report)); err != nil || report.Passed || report.Lost != r.Verdict.Broken[drill.Lost] || report.Drill != "failover" {
		t.Errorf("%+v, %v", report, err)
	}
}

// wellFormed checks that a page is XML too, which no browser asks for and everything that is left open would break.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%v\n%s", err, page)
		}
	}
}

// TestCannot: what is not fit for a drill is left alone.
func TestCannot(t *testing.T) {
	for _, x := range []struct {
		name, drill, want string
		ready             func(h *theatre)
	}{
		{"not in sync", drill.Failover, "no backup of it has everything", func(h *theatre) { h.inSync.Store(false) }},
		{"nobody is active", drill.Failover, "no node is active", func(h *theatre) { h.one.close() }},
		{"both are active", drill.Failover, "are both active, with the same node id", func(h *theatre) { h.two.open() }},
		{"the primary is active", drill.Failback, "there is nothing to fail back", func(*theatre) {}},
		{"unknown", "flood", `there is no drill "flood"`, func(*theatre) {}},
		{"nobody to do it", drill.Partition, "nobody is there to do this", func(h *theatre) { h.conductor.Operator = nil }},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := newTheatre(t, true)
			x.ready(h)
			_, err := h.conductor.Run(within(t), x.drill)
			if !errors.Is(err, drill.ErrCannot) || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want %q", err, x.want)
			}
			for _, a := range h.one.b.Addresses() {
				if strings.HasPrefix(a.Name(), "saranga.drill.") {
					t.Errorf("the address %s is left", a.Name())
				}
			}
		})
	}
}

// TestInterrupted: the history so far is checked, and the drill has not passed, since it was not done.
func TestInterrupted(t *testing.T) {
	h := newTheatre(t, true)
	ctx, cancel := context.WithCancel(within(t))
	h.conductor.Before = time.Hour
	h.conductor.Log = func(line string) {
		if strings.Contains(line, "acknowledged") {
			cancel()
		}
	}
	r, err := h.conductor.Run(ctx, drill.Failover)
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed() || !r.Verdict.OK() || r.Verdict.Consumed == 0 || r.Problem != "the drill was interrupted before it was done" {
		t.Errorf("%s", r.Text(80))
	}
}
