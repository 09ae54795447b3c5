package raftfsm

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// call is one operation of a history. The history of a register with compare-and-set (a counter) and of a lock, while leaders are killed, is that of one copy. Reads are preceded by a
// sync, as spec/ha.md 3.9 rule 9 asks for.
type call struct {
	op       string // read, cas, lock, unlock
	from, to int64
}

type result struct {
	value int64
	ok    bool
}

// state of the model: the counter, and who holds the lock.
type registers struct {
	value  int64
	holder int64
}

var model = porcupine.Model{
	Init: func() any { return registers{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(registers), input.(call), output.(result)
		switch in.op {
		case "read":
			return out.value == s.value, s
		case "cas":
			if out.ok != (s.value == in.from) {
				return false, s
			}
			if out.ok {
				s.value = in.to
			}
			return true, s
		case "lock":
			if out.ok != (s.holder == 0) {
				return false, s
			}
			if out.ok {
				s.holder = in.from
			}
			return true, s
		default: // unlock
			if s.holder != in.from {
				return false, s
			}
			s.holder = 0
			return true, s
		}
	},
}

// The checker itself finds bad histories.
func TestCheckerFails(t *testing.T) {
	op := func(client int, in call, begin int64, out result, end int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: in, Call: begin, Output: out, Return: end}
	}
	yes, no := result{ok: true}, result{}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    bool
	}{
		"a good one":     {[]porcupine.Operation{op(1, call{op: "cas", to: 1}, 0, yes, 10), op(2, call{op: "read"}, 20, result{value: 1}, 30)}, true},
		"a stale read":   {[]porcupine.Operation{op(1, call{op: "cas", to: 1}, 0, yes, 10), op(2, call{op: "read"}, 20, result{value: 0}, 30)}, false},
		"a lost update":  {[]porcupine.Operation{op(1, call{op: "cas", to: 1}, 0, yes, 10), op(2, call{op: "cas", to: 2}, 20, yes, 30)}, false},
		"two holders":    {[]porcupine.Operation{op(1, call{op: "lock", from: 1}, 0, yes, 10), op(2, call{op: "lock", from: 2}, 20, yes, 30)}, false},
		"one is refused": {[]porcupine.Operation{op(1, call{op: "lock", from: 1}, 0, yes, 10), op(2, call{op: "lock", from: 2}, 20, no, 30)}, true},
	} {
		if got := porcupine.CheckOperations(model, c.history); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLinearizable(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const clients, rounds = 4, 40
	setup := l.connect(l.member("a"), 100, time.Minute)
	setup.must(create("/counter", "0", tree.Persistent))

	var mu sync.Mutex
	var history []porcupine.Operation
	began := time.Now()
	record := func(id int, in call, f func() result) result {
		begin := time.Since(began).Nanoseconds()
		out := f()
		end := time.Since(began).Nanoseconds()
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: id, Input: in, Call: begin, Output: out, Return: end})
		return out
	}
	var working sync.WaitGroup
	for i := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		home := l.peers[i%2].ID // a and b; c is the one that is killed, unless it does not lead
		c := l.connect(l.member(home), int64(i+1), time.Minute)
		version := func() (value int64, v int32) {
			if o, err := c.do(&tree.Sync{Path: "/"}); err != nil || o.Code != tree.OK {
				t.Errorf("sync: %v, %v", o.Code, err)
			}
			c.member.Read(func(view *tree.View) {
				b, stat, _ := view.Get(&observer, "/counter")
				value, _ = strconv.ParseInt(string(b), 10, 64)
				v = stat.Version
			})
			return value, v
		}
		working.Go(func() {
			for range rounds {
				switch random.IntN(3) {
				case 0:
					record(i, call{op: "read"}, func() result {
						value, _ := version()
						return result{value: value}
					})
				case 1:
					from, v := version()
					record(i, call{op: "cas", from: from, to: from + 1}, func() result {
						o, err := c.do(&tree.SetData{Path: "/counter", Data: strconv.AppendInt(nil, from+1, 10), Version: v})
						if err != nil {
							t.Errorf("set: %v", err)
						}
						return result{ok: o.Code == tree.OK}
					})
				case 2:
					me := int64(i + 1)
					held := record(i, call{op: "lock", from: me}, func() result {
						o, err := c.do(create("/lock", "", tree.Ephemeral))
						if err != nil {
							t.Errorf("lock: %v", err)
						}
						return result{ok: o.Code == tree.OK}
					})
					if held.ok {
						record(i, call{op: "unlock", from: me}, func() result {
							c.must(&tree.Delete{Path: "/lock", Version: -1})
							return result{ok: true}
						})
					}
				}
			}
		})
	}
	done := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() { // c leads, dies, comes back, and again
		for {
			select {
			case <-done:
				return
			case <-time.After(300 * time.Millisecond):
			}
			for _, m := range l.all() {
				if r, _, ok := m.leads(); ok && m.cfg.Member != "c" {
					_ = r.LeadershipTransferToServer("c", l.member("c").transport.LocalAddr()).Error()
				}
			}
			l.kill("c")
			select {
			case <-done:
			case <-time.After(time.Second):
			}
			l.start("c")
		}
	})
	working.Wait()
	close(done)
	killing.Wait()
	if got := porcupine.CheckOperationsTimeout(model, history, 20*time.Second); got != porcupine.Ok {
		t.Errorf("a history of %d calls: %v", len(history), got)
	}
	l.same()
}
