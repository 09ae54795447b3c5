package primary

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
)

// A history is what was done to a store, in the order of its stream, and what it held after each step.
type history struct {
	n     *node
	p     func() *peer // nil before the registration
	queue int64

	live   map[string]int64 // text → id
	queues []string
	states []string

	mu    sync.Mutex
	acked map[int]int // step → packets the replica had answered when it was answered
}

func (h *history) state() string {
	var refs []string
	for text := range h.live {
		refs = append(refs, fmt.Sprint(h.queue, " ", text))
	}
	slices.Sort(refs)
	return fmt.Sprint(refs, slices.Sorted(slices.Values(h.queues)))
}

// step is the waiter of a step.
type step struct {
	h *history
	i int
}

func (s step) Stored() {
	answered := 0
	if p := s.h.p(); p != nil {
		_, answered = p.count()
	}
	s.h.mu.Lock()
	s.h.acked[s.i] = answered
	s.h.mu.Unlock()
}

func (h *history) append(ops ...broker.Op) {
	if _, err := h.n.store.Append(ops, step{h, len(h.states)}, 0); err != nil {
		h.n.t.Error(err)
	}
}

func (h *history) do(r *rand.Rand) {
	n, text := h.n, fmt.Sprintf("%03d", len(h.states))
	send := func(text string, tx int64) []broker.Op {
		m := n.text(text)
		m.SetID(n.store.NextID())
		h.live[text] = m.ID()
		return []broker.Op{{Kind: broker.OpAddMessage, Tx: tx, Msg: m}, {Kind: broker.OpAddRef, Tx: tx, Msg: m, Queue: h.queue}}
	}
	switch k := r.IntN(10); {
	case k < 4:
		h.append(send(text, 0)...)
	case k < 5:
		tx := n.store.NextID()
		h.append(append(append(send(text, tx), send(text+"b", tx)...), broker.Op{Kind: broker.OpCommit, Tx: tx})...)
	case k < 6:
		id, w := n.large(h.queue, text+" large", 500+r.IntN(200000))
		h.live[text+" large"] = id
		i := len(h.states)
		go func() { <-w; step{h, i}.Stored() }() // later than it was answered: all the more has to be there
	case k < 7:
		n.queue("queue " + text)
		h.queues = append(h.queues, "queue "+text)
		step{h, len(h.states)}.Stored()
	default:
		texts := slices.Sorted(maps.Keys(h.live))
		if len(texts) == 0 {
			h.append(send(text, 0)...)
			break
		}
		gone := texts[r.IntN(len(texts))]
		id := h.live[gone]
		delete(h.live, gone)
		h.append(broker.Op{Kind: broker.OpDeleteMessage, ID: id})
		if strings.HasSuffix(gone, " large") {
			n.store.DeleteBody(id)
		}
	}
	h.states = append(h.states, h.state())
}

// Whatever is cut off: a replica that becomes active with the packets it had then holds what this node held after some step, and
// that step is not before any that was answered by then.
func TestEveryCutIsAPrefix(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			n := newNode(t, fs.NewMem(), func(o *Options) { o.QueueBytes = 32 << 10 })
			var mu sync.Mutex
			var p *peer
			h := &history{n: n, live: map[string]int64{}, acked: map[int]int{}, p: func() *peer { mu.Lock(); defer mu.Unlock(); return p }}
			h.queue = n.queue("q")
			h.queues = []string{"q"}
			h.states = append(h.states, h.state())
			for range 10 {
				h.do(r)
			}
			mu.Lock()
			p = newPeer(wireVersion)
			p.allowed = 0
			mu.Unlock()
			s, err := n.p.Register(p, wireVersion, false)
			if err != nil {
				t.Fatal(err)
			}
			p.start(s)
			stop := make(chan struct{})
			var answering sync.WaitGroup
			answering.Go(func() {
				r := rand.New(rand.NewPCG(seed, 5))
				for {
					select {
					case <-stop:
						p.allow(-1)
						return
					default:
						p.allow(1 + r.IntN(20))
						runtime.Gosched()
					}
				}
			})
			for range 15 { // while files are copied
				h.do(r)
			}
			<-n.sync
			for range 25 {
				h.do(r)
			}
			close(stop)
			answering.Wait()
			until(t, "all is answered", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return p.settled() && len(h.acked) == len(h.states)-1
			})
			all := p.all()
			finish := slices.IndexFunc(all, func(x core.Packet) bool {
				f, ok := x.(*core.ReplicationStartFinishSync)
				return ok && f.Finished
			})
			last := 0
			for cut := finish + 1; cut <= len(all); cut++ {
				c := after(t, n.o, all[:cut])
				got := fmt.Sprint(c.refs, c.queues)
				for step, answered := range h.acked {
					if answered <= cut {
						last = max(last, step)
					}
				}
				if i := slices.Index(h.states[last:], got); i < 0 {
					at := slices.Index(h.states, got)
					t.Fatalf("after packet %d of %d (%s): step %d was answered, the replica holds what was there after %d:\n%s\nwant at least\n%s", cut, len(all), line(all[cut-1]), last, at, got, h.states[last])
				}
			}
			n.close(p)
		})
	}
}
