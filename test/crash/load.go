package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// An Address is what clients send to: a queue of that name, or a topic with durable subscriptions.
type Address struct {
	Name   string
	Queues []string
	Topic  bool
}

func (a Address) routing() message.RoutingType {
	if a.Topic {
		return message.Multicast
	}
	return message.Anycast
}

// copies of a message that is sent to the address.
func (a Address) copies(id string) []Copy {
	var out []Copy
	for _, q := range a.Queues {
		out = append(out, Copy{q, id})
	}
	return out
}

// goAddresses are those that the Go clients use; the Java client has its own.
var goAddresses = []Address{
	{Name: "crash.q0", Queues: []string{"crash.q0"}},
	{Name: "crash.q1", Queues: []string{"crash.q1"}},
	{Name: "crash.q2", Queues: []string{"crash.q2"}},
	{Name: "crash.topic", Queues: []string{"crash.sub.a", "crash.sub.b"}, Topic: true},
}

// createQueues makes the queues of addresses unless they are there.
func createQueues(ctx context.Context, cfg client.Config, addresses []Address) error {
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return fmt.Errorf("create queues: %w", err)
	}
	defer conn.Close()
	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		return fmt.Errorf("create queues: %w", err)
	}
	for _, a := range addresses {
		routing := core.RoutingAnycast
		if a.Topic {
			routing = core.RoutingMulticast
		}
		for _, q := range a.Queues {
			if err := s.CreateQueue(ctx, client.QueueOptions{Address: a.Name, Name: q, Durable: true, RoutingType: routing}); err != nil {
				return fmt.Errorf("create queue %s: %w", q, err)
			}
		}
	}
	return nil
}

// mostQueued is how many copies of a queue senders leave to consumers at most.
const mostQueued = 150

// mostInDoubt is how many branches are left in doubt at most.
const mostInDoubt = 6

// A Load is clients at work until the broker is gone.
type Load struct {
	ctx     context.Context
	cfg     client.Config
	h       *History
	name    string // of the round: part of every message's id
	inDoubt []*Unit
	resend  []resend
	workers sync.WaitGroup

	mu      sync.Mutex
	missing []resend // sends with a duplicate id that had no answer
	left    int      // branches left in doubt by this round
}

// resend is a message with a duplicate id whose send had no answer.
type resend struct {
	address Address
	id      string
	stored  bool // it was seen since: the broker must not take it again
}

// startLoad lets clients work. Wait returns when all of them have ended, by ctx or because the broker is gone.
func startLoad(ctx context.Context, cfg client.Config, h *History, name string, seed uint64, inDoubt []*Unit, resends []resend) *Load {
	cfg.CallTimeout = 20 * time.Second
	l := &Load{ctx: ctx, cfg: cfg, h: h, name: name, inDoubt: inDoubt, resend: resends}
	for i, work := range []func(*worker) error{(*worker).send, (*worker).sendAsync, (*worker).consume, (*worker).consumeInPassing, (*worker).transact, (*worker).transact, (*worker).branch} {
		w := &worker{Load: l, sender: fmt.Sprintf("%s.%d", name, i), rnd: rand.New(rand.NewPCG(seed, uint64(i)))}
		l.workers.Go(func() {
			if err := w.run(true, work); err != nil && ctx.Err() == nil {
				h.Failed(w.sender, err)
			}
		})
	}
	return l
}

// Wait waits for the clients. It returns the sends to be made again.
func (l *Load) Wait() []resend {
	l.workers.Wait()
	return l.missing
}

// A worker is one client with a connection of its own.
type worker struct {
	*Load
	sender string
	rnd    *rand.Rand
	n      int

	conn *client.Conn
	s    *client.Session
}

// run does work on a connection that waits for the answer to an acknowledgement or does not.
func (w *worker) run(wait bool, work func(*worker) error) error {
	cfg := w.cfg
	cfg.BlockOnAcknowledge = wait
	conn, err := client.Dial(w.ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	w.conn = conn
	return work(w)
}

func (w *worker) open(o client.SessionOptions) error {
	s, err := w.conn.NewSession(w.ctx, o)
	if err != nil {
		return err
	}
	w.s = s
	return s.Start(w.ctx)
}

// openProducer opens a session with a producer for all addresses.
func (w *worker) openProducer(o client.SessionOptions) (*client.Producer, error) {
	if err := w.open(o); err != nil {
		return nil, err
	}
	return w.s.NewProducer(w.ctx, "")
}

// told writes down what an answer makes of a unit. An error is no answer.
func (w *worker) told(u *Unit, after States, err error) error {
	if err == nil {
		w.h.Set(u, after)
	}
	return err
}

// step does something with a unit: during it the unit may be in several states, after it in one.
func (w *worker) step(u *Unit, during, after States, do func() error) error {
	w.h.Set(u, during)
	return w.told(u, after, do())
}

// once does all of a unit.
func (w *worker) once(u *Unit, do func() error) error {
	u.May = Applied | Undone
	w.h.Begin(u)
	return w.told(u, Applied, do())
}

// message makes the next message, for an address that has room. False: the load has ended.
func (w *worker) message(kind string) (Address, string, *message.Builder, bool) {
	a := goAddresses[w.rnd.IntN(len(goAddresses))]
	if !w.h.Room(w.ctx, a.Queues[0], mostQueued) {
		return a, "", nil, false
	}
	w.n++
	switch w.rnd.IntN(20) {
	case 0:
		kind += "bL"
	case 1, 2, 3, 4, 5:
		kind += "b"
	case 6, 7, 8:
		kind += "m"
	default:
		kind += "t"
	}
	at := int64(0)
	switch w.rnd.IntN(12) {
	case 0:
		kind += "S"
		at = time.Now().UnixMilli() + w.rnd.Int64N(3000)
		if w.rnd.IntN(3) == 0 {
			at += 15_000 // still scheduled when the next broker starts
		}
	case 1:
		kind += "G"
	}
	id := messageID(w.sender, w.n, kind)
	return a, id, build(a.Name, id, a.routing(), at), true
}

var autoCommit = client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true}

// send sends one message after the other, and first those again whose answer the last round did not get.
func (w *worker) send() error {
	p, err := w.openProducer(autoCommit)
	if err != nil {
		return err
	}
	for _, r := range w.resend {
		u := &Unit{Name: "resend " + r.id, Sends: r.address.copies(r.id), May: Undone}
		send := func() error { return p.Send(w.ctx, build(r.address.Name, r.id, r.address.routing(), 0)) }
		if r.stored {
			w.h.Begin(u)
			err = send()
		} else {
			err = w.once(u, send)
		}
		if err != nil {
			w.miss(r.address, r.id)
			return err
		}
	}
	for w.ctx.Err() == nil {
		kind := ""
		if w.rnd.IntN(4) == 0 {
			kind = "D"
		}
		a, id, m, ok := w.message(kind)
		if !ok {
			return nil
		}
		err := w.once(&Unit{Name: "send " + id, Sends: a.copies(id)}, func() error { return p.Send(w.ctx, m) })
		if err != nil {
			if kind == "D" {
				w.miss(a, id)
			}
			return err
		}
	}
	return nil
}

func (w *worker) miss(a Address, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.missing = append(w.missing, resend{address: a, id: id})
}

// sendAsync keeps many sends under way.
func (w *worker) sendAsync() error {
	p, err := w.openProducer(autoCommit)
	if err != nil {
		return err
	}
	var failed error
	var mu sync.Mutex
	var pending sync.WaitGroup
	defer pending.Wait()
	slots := make(chan struct{}, 1+w.rnd.IntN(30))
	for w.ctx.Err() == nil {
		a, id, m, ok := w.message("")
		if !ok {
			break
		}
		u := &Unit{Name: "async " + id, Sends: a.copies(id), May: Applied | Undone}
		w.h.Begin(u)
		slots <- struct{}{}
		pending.Add(1)
		err := p.SendAsync(w.ctx, m, func(err error) {
			if w.told(u, Applied, err) != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
			<-slots
			pending.Done()
		})
		if err != nil {
			pending.Done()
			return err
		}
		mu.Lock()
		err = failed
		mu.Unlock()
		if err != nil {
			return err
		}
	}
	pending.Wait()
	return failed
}

// queue chooses a queue.
func (w *worker) queue() string {
	a := goAddresses[w.rnd.IntN(len(goAddresses))]
	return a.Queues[w.rnd.IntN(len(a.Queues))]
}

// received is a message that a consumer got, with what it is.
type received struct {
	Copy
	m *client.Message
}

// receive gets up to n messages.
func (w *worker) receive(c *client.Consumer, queue string, n int) ([]received, error) {
	var got []received
	for range n {
		m, err := c.ReceiveTimeout(w.ctx, 0)
		if err != nil || m == nil {
			return got, err
		}
		id, err := read(m)
		if err != nil {
			return got, err
		}
		at := Copy{queue, id}
		w.h.Delivered(at)
		got = append(got, received{at, m})
	}
	return got, nil
}

// consumer runs work with a consumer of some queue, again and again with another one.
func (w *worker) consumer(work func(c *client.Consumer, queue string) error) error {
	for w.ctx.Err() == nil {
		queue := w.queue()
		c, err := w.s.NewConsumer(w.ctx, queue, client.ConsumerOptions{})
		if err != nil {
			return err
		}
		for range 1 + w.rnd.IntN(10) {
			if err := work(c, queue); err != nil {
				return err
			}
		}
		if err := c.Close(w.ctx); err != nil { // what was not acknowledged goes back
			return err
		}
	}
	return nil
}

// consume acknowledges one by one or several at once, and waits for the answer.
func (w *worker) consume() error {
	if err := w.open(autoCommit); err != nil {
		return err
	}
	return w.consumer(func(c *client.Consumer, queue string) error {
		got, err := w.receive(c, queue, 1+w.rnd.IntN(12))
		if err != nil || len(got) == 0 {
			return err
		}
		if w.rnd.IntN(2) == 0 {
			var all []Copy
			for _, r := range got {
				all = append(all, r.Copy)
			}
			return w.ack("cumulative", all, got[len(got)-1].m.Ack)
		}
		for _, r := range got {
			if err := w.ack("individual", []Copy{r.Copy}, r.m.AckIndividual); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *worker) ack(how string, copies []Copy, do func() error) error {
	return w.once(&Unit{Name: how + " ack of " + copies[len(copies)-1].Message, Acks: copies}, do)
}

// consumeInPassing acknowledges without waiting for an answer, so nobody knows what becomes of it.
func (w *worker) consumeInPassing() error {
	return w.run(false, (*worker).ackInPassing)
}

func (w *worker) ackInPassing() error {
	if err := w.open(autoCommit); err != nil {
		return err
	}
	return w.consumer(func(c *client.Consumer, queue string) error {
		got, err := w.receive(c, queue, 10)
		if err != nil {
			return err
		}
		for _, r := range got {
			w.h.Begin(&Unit{Name: "ack in passing of " + r.Message, Acks: []Copy{r.Copy}, May: Applied | Undone})
			if err := r.m.AckIndividual(); err != nil {
				return err
			}
		}
		return nil
	})
}

// work receives and sends as parts of a unit.
func (w *worker) work(u *Unit, c *client.Consumer, p *client.Producer, queue, kind string) error {
	got, err := w.receive(c, queue, w.rnd.IntN(6))
	if err != nil {
		return err
	}
	for _, r := range got {
		w.h.Ack(u, r.Copy)
		if err := r.m.AckIndividual(); err != nil {
			return err
		}
	}
	for range w.rnd.IntN(4) {
		a, id, m, ok := w.message(kind)
		if !ok {
			return w.ctx.Err()
		}
		w.h.Send(u, a.copies(id)...)
		if err := p.Send(w.ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// units does one atomic unit after the other. end calls work, which does the parts of the unit, and decides on the unit.
func (w *worker) units(p *client.Producer, name, kind string, end func(u *Unit, work func() error) error) error {
	n := 0
	return w.consumer(func(c *client.Consumer, queue string) error {
		n++
		u := &Unit{Name: fmt.Sprintf("%s %s.%d", name, w.sender, n), Atomic: true, May: Undone}
		w.h.Begin(u)
		return end(u, func() error { return w.work(u, c, p, queue, kind) })
	})
}

// transact commits most of its transactions.
func (w *worker) transact() error {
	p, err := w.openProducer(client.SessionOptions{})
	if err != nil {
		return err
	}
	return w.units(p, "tx", "", func(u *Unit, work func() error) error {
		if err := work(); err != nil {
			return err
		}
		if w.rnd.IntN(5) == 0 {
			return w.s.Rollback(w.ctx, w.rnd.IntN(2) == 0)
		}
		return w.step(u, Applied|Undone, Applied, func() error { return w.s.Commit(w.ctx) })
	})
}

// branch works in branches of distributed transactions, after it has ended some of those that are in doubt.
func (w *worker) branch() error {
	p, err := w.openProducer(client.SessionOptions{XA: true})
	if err != nil {
		return err
	}
	for i, u := range w.inDoubt {
		if end := w.rnd.IntN(3); end > 0 || len(w.inDoubt)-i > mostInDoubt {
			if err := w.complete(u, end != 1); err != nil {
				return err
			}
		}
	}
	return w.units(p, "xa", "X", func(u *Unit, work func() error) error {
		x := xid(u.Name)
		if err := w.s.XAStart(w.ctx, x); err != nil {
			return err
		}
		if err := work(); err != nil {
			return err
		}
		if err := w.s.XAEnd(w.ctx, x, false); err != nil {
			return err
		}
		switch w.rnd.IntN(10) {
		case 0:
			return w.s.XARollback(w.ctx, x)
		case 1, 2:
			return w.step(u, Applied|Undone, Applied, func() error { return w.s.XACommit(w.ctx, x, true) })
		}
		if err := w.step(u, InDoubt|Undone, InDoubt, func() error { return w.s.XAPrepare(w.ctx, x) }); err != nil {
			return err
		}
		if end := w.rnd.IntN(8); end > 0 || w.leave() > mostInDoubt {
			return w.complete(u, end%2 == 0)
		}
		return nil
	})
}

// leave counts a branch that is left in doubt.
func (w *worker) leave() int {
	w.left++
	return w.left
}

// complete ends a branch that is in doubt.
func (w *worker) complete(u *Unit, commit bool) error {
	if commit {
		return w.step(u, InDoubt|Applied, Applied, func() error { return w.s.XACommit(w.ctx, xid(u.Name), false) })
	}
	return w.step(u, InDoubt|Undone, Undone, func() error { return w.s.XARollback(w.ctx, xid(u.Name)) })
}
