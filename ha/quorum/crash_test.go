package quorum

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/journal/fs"
)

// A replica is one node of a pair: its data, as the number of messages it has, and its files.
type replica struct {
	mem  *fs.Mem
	data int
	node *Node // nil: not running
}

// A pair is two nodes, one store, and what has been acknowledged to clients.
type pair struct {
	store  store
	copies [2]*replica
	rnd    *rand.Rand

	acked      int
	active     *replica // nil: none
	replicated bool     // the other one has all that is acknowledged
}

func newPair(seed uint64) *pair {
	p := &pair{rnd: rand.New(rand.NewPCG(seed, 0))}
	for i := range p.copies {
		mem := fs.NewMem()
		if err := mem.MkdirAll("/data"); err != nil {
			panic(err)
		}
		p.copies[i] = &replica{mem: mem}
	}
	// The primary's first start: no sequence means 0.
	if err := p.boot(p.copies[0]).Local.Store(0); err != nil {
		panic(err)
	}
	return p
}

func (p *pair) other(c *replica) *replica {
	if c == p.copies[0] {
		return p.copies[1]
	}
	return p.copies[0]
}

// A limit says in which write a node crashes: of its files, of the store; negative: in none. reached: the write to the store in
// which it crashes is done, though the node doesn't hear of it.
type limit struct {
	files, store int
	reached      bool
}

var noLimit = limit{-1, -1, false}

// boot starts the process of a node.
func (p *pair) boot(c *replica) *Node {
	c.node = &Node{ID: "node", Manager: &manager{&p.store}, Local: FileSequence{c.mem, "/data"}, Log: hclog.NewNullLogger()}
	return c.node
}

// arm sets where the running node crashes.
func (p *pair) arm(c *replica, l limit) {
	f := fs.NewFaulty(c.mem)
	if l.files >= 0 {
		f.StopAfter(l.files, errors.New("crashed"))
	}
	c.node.Local = FileSequence{f, "/data"}
	p.store.refused, p.store.writes, p.store.reached = nil, l.store, l.reached
}

// kill ends the process of a node, also the machine under it: what was not synced may be gone. Its session expires.
func (p *pair) kill(c *replica) {
	if c.node != nil && p.store.holder == c.node.Manager {
		p.store.holder = nil
	}
	if p.active == c {
		p.active, p.replicated = nil, false
	}
	c.node = nil
	c.mem.Crash(p.rnd)
	p.store.refused, p.store.writes = nil, -1
}

// start starts a node, which becomes active if it may. The error is of this model, not of the node.
func (p *pair) start(c *replica, l limit) error {
	if c.node != nil {
		return nil
	}
	n := p.boot(c)
	p.arm(c, l)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.store.busy = cancel // the other one is active: wait no longer
	lock, standing, err := n.TryActivate(ctx)
	if err == nil && lock != nil {
		if standing == Stale {
			return fmt.Errorf("a stale node got the lock")
		}
		_, err = n.Increment(ctx)
	}
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, ErrNoSequence):
		p.kill(c)
	case err == nil && lock != nil:
		p.arm(c, noLimit)
		if p.active != nil {
			return fmt.Errorf("two active nodes")
		}
		if c.data < p.acked {
			return fmt.Errorf("a node with %d of %d acknowledged messages became active", c.data, p.acked)
		}
		p.acked = c.data // what had no answer yet counts from now on
		p.active = c
	default:
		p.arm(c, noLimit) // it is a backup now
	}
	return nil
}

// sync makes the other node, which has to run, a replica of the active one. It may crash halfway.
func (p *pair) sync(l limit, half bool) {
	if p.active == nil {
		return
	}
	b := p.other(p.active)
	if b.node == nil || p.replicated {
		return
	}
	// The data that was there is moved away, its sequence with it.
	_ = b.mem.Remove("/data/" + LocalFile)
	_ = b.mem.SyncDir("/data")
	b.data = 0
	if half {
		p.kill(b)
		return
	}
	b.data = p.active.data
	sequence, err := p.active.node.Local.Load()
	if err != nil {
		panic(err)
	}
	p.arm(b, l)
	err = b.node.Local.Store(sequence)
	p.replicated = true
	if err != nil {
		// The sequence may be on disk though the backup never said so: to the active node this is the loss of a backup.
		p.kill(b)
		p.lose(noLimit)
		return
	}
	p.arm(b, noLimit)
}

// send stores a message. Unanswered: the active node crashes before all have it.
func (p *pair) send(unanswered bool) {
	if p.active == nil {
		return
	}
	p.active.data++
	if unanswered {
		p.kill(p.active)
		return
	}
	if p.replicated {
		p.other(p.active).data = p.active.data
	}
	p.acked = p.active.data
}

// lose ends the replication: the active node goes on alone if it can raise the sequence.
func (p *pair) lose(l limit) {
	if p.active == nil || !p.replicated {
		return
	}
	p.arm(p.active, l)
	if _, err := p.active.node.Increment(context.Background()); err != nil {
		p.kill(p.active)
		return
	}
	p.arm(p.active, noLimit)
	p.replicated = false
}

// TestCrashes runs pairs through any number of crashes, each at any write to a file or the store. No node that lacks an
// acknowledged message ever becomes active, and in the end one of the two can.
func TestCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(rapid.Uint64().Draw(t, "seed"))
		node := rapid.SampledFrom(p.copies[:])
		limits := rapid.Custom(func(t *rapid.T) limit {
			return limit{rapid.IntRange(-1, 4).Draw(t, "files"), rapid.IntRange(-1, 5).Draw(t, "store"), rapid.Bool().Draw(t, "reached")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				if err := p.start(node.Draw(t, "node"), limits.Draw(t, "limit")); err != nil {
					t.Fatal(err)
				}
			},
			"sync": func(t *rapid.T) { p.sync(limits.Draw(t, "limit"), rapid.Bool().Draw(t, "half")) },
			"send": func(t *rapid.T) { p.send(rapid.Bool().Draw(t, "unanswered")) },
			"lose": func(t *rapid.T) { p.lose(limits.Draw(t, "limit")) },
			"kill": func(t *rapid.T) { p.kill(node.Draw(t, "node")) },
		})
		for _, c := range p.copies {
			p.kill(c)
		}
		for _, c := range p.copies {
			if err := p.start(c, noLimit); err != nil {
				t.Fatal(err)
			}
		}
		if p.active == nil {
			t.Fatalf("both nodes are locked out: coordinated sequence %d", p.store.value)
		}
	})
}

// TestEveryCrash enumerates the crashes of a node that starts after both have died, in each of its writes: when both had all data,
// and when the primary had gone on alone. Then the other one starts, whoever may be active serves, and dies, and it all begins again.
func TestEveryCrash(t *testing.T) {
	for _, alone := range []bool{false, true} {
		for first := range 2 {
			for files := -1; files < 6; files++ {
				for writes := -1; writes < 7; writes++ {
					for _, reached := range []bool{false, true} {
						p := newPair(1)
						a, b := p.copies[first], p.copies[1-first]
						start := func(c *replica, l limit) {
							if err := p.start(c, l); err != nil {
								t.Fatalf("alone %v, first %d, files %d, store %d %v: %v", alone, first, files, writes, reached, err)
							}
						}
						die := func() { p.kill(a); p.kill(b) }
						start(p.copies[0], noLimit)
						start(p.copies[1], noLimit)
						p.sync(noLimit, false)
						p.send(false)
						if alone {
							p.lose(noLimit)
							p.send(false)
						}
						for range 2 {
							die()
							start(a, limit{files, writes, reached})
							start(b, noLimit)
							start(a, noLimit)
							if p.active == nil {
								t.Fatalf("alone %v, first %d, files %d, store %d %v: nobody is active", alone, first, files, writes, reached)
							}
							p.send(false)
						}
					}
				}
			}
		}
	}
}
