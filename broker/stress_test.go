package broker_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// ledger is what must be true in the end: every message that was sent, and not rolled back, is acknowledged once.
type ledger struct {
	mu    sync.Mutex
	sent  map[string]bool
	acked map[string]int
}

func (l *ledger) send(texts ...string) {
	l.mu.Lock()
	for _, t := range texts {
		l.sent[t] = true
	}
	l.mu.Unlock()
}

func (l *ledger) ack(texts ...string) {
	l.mu.Lock()
	for _, t := range texts {
		l.acked[t]++
	}
	l.mu.Unlock()
}

// TestNothingLost lets clients send, consume, roll back and vanish while an operator moves, pauses and looks at
// everything; at the end each message has been acknowledged exactly once and all accounts are zero.
func TestNothingLost(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { nothingLost(t, seed) })
	}
}

const stressQueues = 3

func nothingLost(t *testing.T, seed uint64) {
	b := brokertest.New(t, nil)
	if err := b.Settings.Set("s.#", `{"maxDeliveryAttempts":-1}`); err != nil {
		t.Fatal(err)
	}
	b.SettingsChanged()
	for i := range stressQueues {
		b.CreateAnycast(fmt.Sprintf("s.q%d", i))
	}
	l := &ledger{sent: map[string]bool{}, acked: map[string]int{}}
	var clients, operators sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		w := &worker{b: b, l: l, name: fmt.Sprintf("%d-%d", seed, i), rnd: rand.New(rand.NewPCG(seed, uint64(i)))}
		clients.Go(func() {
			for range 150 {
				w.step()
			}
			w.leave(false)
		})
	}
	operators.Go(func() { operate(b, rand.New(rand.NewPCG(seed, 99)), done) })
	clients.Wait()
	close(done)
	operators.Wait()
	for i := range stressQueues {
		if err := b.Resume(b.NewWork(), b.Queue(fmt.Sprintf("s.q%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	b.Advance(1000)
	b.Until("scheduled messages to be released", func() bool {
		n := int64(0)
		for i := range stressQueues {
			n += b.Queue(fmt.Sprintf("s.q%d", i)).Counts().Scheduled
		}
		return n == 0
	})
	if seed == 1 {
		// what is durable comes back; what is not is crossed off
		for i := range stressQueues {
			b.Queue(fmt.Sprintf("s.q%d", i)).Browse("AMQDurable = 'NON_DURABLE'", func(m *message.Message, _ int32) bool {
				text, _ := m.TextBody()
				l.ack(text)
				return true
			})
		}
		b.Restart()
	}
	c := b.Connect(brokertest.AutoCommit)
	for i := range stressQueues {
		name := fmt.Sprintf("s.q%d", i)
		n := int(b.Queue(name).MessageCount())
		k, err := c.Consume(broker.ConsumerOptions{Queue: name}, broker.Unlimited)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range k.Wait(n) {
			l.ack(d.Text)
		}
		if n > 0 {
			got := k.Got()
			c.Act(func(w *broker.Work) { c.Acknowledge(w, k.ID, got[len(got)-1].ID, true, broker.Answer{}) })
		}
	}
	for text := range l.sent {
		if n := l.acked[text]; n != 1 {
			t.Errorf("message %s was acknowledged %d times", text, n)
		}
	}
	for text, n := range l.acked {
		if !l.sent[text] {
			t.Errorf("message %s was rolled back and yet acknowledged %d times", text, n)
		}
	}
	b.Store.Settle()
	if n, orphans := b.Store.Messages(), b.Store.Orphans(); n != 0 || orphans != 0 {
		t.Errorf("%d messages are still stored, %d without a reference", n, orphans)
	}
	for i := range stressQueues {
		if c := b.Queue(fmt.Sprintf("s.q%d", i)).Counts(); c.Messages != 0 || c.Delivering != 0 || c.Size != 0 || c.DeliveringSize != 0 || c.Durable != 0 || c.DurableSize != 0 {
			t.Errorf("queue %d: %+v", i, c)
		}
	}
}

// A worker is a client that does this and that.
type worker struct {
	b    *brokertest.Broker
	l    *ledger
	name string
	rnd  *rand.Rand
	n    int

	auto, tx   *brokertest.Client
	sink       *brokertest.Sink
	transacted bool
	seen       int // deliveries handled
}

func (w *worker) connect() {
	if w.auto == nil {
		w.auto = w.b.Connect(brokertest.AutoCommit)
		w.tx = w.auto.Open(broker.SessionOptions{})
	}
}

func (w *worker) message() (*message.Builder, string) {
	w.n++
	text := fmt.Sprintf("%s-%d", w.name, w.n)
	m := brokertest.Text(fmt.Sprintf("s.q%d", w.rnd.IntN(stressQueues)), text, message.Anycast)
	m.Durable = w.rnd.IntN(4) > 0
	m.Priority = uint8(w.rnd.IntN(3) + 3)
	if w.rnd.IntN(5) == 0 {
		m.Set(message.PropGroupID, fmt.Sprint(w.rnd.IntN(3)))
	}
	if w.rnd.IntN(8) == 0 {
		m.Set(message.PropScheduled, w.b.Clock.Now()+int64(w.rnd.IntN(50)))
	}
	return m, text
}

func (w *worker) step() {
	w.connect()
	switch w.rnd.IntN(12) {
	case 0, 1, 2, 3:
		m, text := w.message()
		if err := w.auto.Send(m); err != nil {
			w.b.T.Errorf("send: %v", err)
		}
		w.l.send(text)
	case 4, 5:
		w.transaction()
	case 6, 7, 8:
		w.consume()
	case 9, 10:
		if w.sink != nil {
			w.stopConsuming()
		}
	case 11:
		w.leave(w.rnd.IntN(2) == 0)
	}
}

// transaction sends and perhaps acknowledges, then commits or rolls back.
func (w *worker) transaction() {
	var texts []string
	for range 1 + w.rnd.IntN(3) {
		m, text := w.message()
		if err := w.tx.Send(m); err != nil {
			w.b.T.Errorf("send: %v", err)
		}
		texts = append(texts, text)
	}
	var acked []string
	if w.sink != nil && w.transacted {
		acked = w.acknowledge(w.tx)
	}
	if w.rnd.IntN(2) == 0 {
		if err := w.tx.Do(func(k *broker.Work, a broker.Answer) { w.tx.Commit(k, a) }); err != nil {
			w.b.T.Errorf("commit: %v", err)
		}
		w.l.send(texts...)
		w.l.ack(acked...)
		return
	}
	w.rollback()
}

// rollback: what was delivered comes again, so that nothing delivered so far can be acknowledged any more.
func (w *worker) rollback() {
	w.tx.Do(func(k *broker.Work, a broker.Answer) { w.tx.Rollback(k, w.rnd.IntN(2) == 0, a) })
	if w.sink != nil && w.transacted {
		w.stopConsuming()
	}
}

func (w *worker) consume() {
	if w.sink == nil {
		w.transacted = w.rnd.IntN(3) == 0
		c := w.auto
		if w.transacted {
			c = w.tx
		}
		o := broker.ConsumerOptions{Queue: fmt.Sprintf("s.q%d", w.rnd.IntN(stressQueues)), Priority: int32(w.rnd.IntN(2))}
		if w.rnd.IntN(4) == 0 {
			o.Filter = "AMQPriority > 3"
		}
		k, err := c.Consume(o, int64(1+w.rnd.IntN(20)))
		if err != nil {
			w.b.T.Errorf("consume: %v", err)
			return
		}
		k.SetPlain(w.rnd.IntN(2) == 0)
		w.sink, w.seen = k, 0
		return
	}
	if !w.transacted {
		w.l.ack(w.acknowledge(w.auto)...)
	}
	w.auto.Act(func(k *broker.Work) { w.sink.Grant(k, int64(w.rnd.IntN(20))) })
}

// acknowledge acknowledges some of what was delivered and returns their texts.
func (w *worker) acknowledge(c *brokertest.Client) []string {
	var texts []string
	got := w.sink.Got()
	if len(got) == w.seen {
		return nil
	}
	n := 1 + w.rnd.IntN(len(got)-w.seen)
	last := got[w.seen+n-1]
	if err := c.Do(func(k *broker.Work, a broker.Answer) { c.Acknowledge(k, w.sink.ID, last.ID, true, a) }); err != nil {
		w.b.T.Errorf("acknowledge: %v", err)
		return nil
	}
	for _, d := range got[w.seen : w.seen+n] {
		texts = append(texts, d.Text)
	}
	w.seen += n
	return texts
}

func (w *worker) stopConsuming() {
	c := w.auto
	if w.transacted {
		c = w.tx
		// what was acknowledged in the transaction goes back with it
		c.Do(func(k *broker.Work, a broker.Answer) { c.Rollback(k, false, a) })
	}
	c.Act(func(k *broker.Work) { c.CloseConsumer(k, w.sink.ID) })
	w.sink = nil
}

func (w *worker) leave(lost bool) {
	if w.auto != nil {
		w.auto.Disconnect(lost)
		w.auto, w.tx, w.sink = nil, nil, nil
	}
}

// operate is the operator.
func operate(b *brokertest.Broker, rnd *rand.Rand, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		q := b.Queue(fmt.Sprintf("s.q%d", rnd.IntN(stressQueues)))
		other := fmt.Sprintf("s.q%d", rnd.IntN(stressQueues))
		var err error
		w := b.NewWork()
		switch rnd.IntN(9) {
		case 0:
			_, err = q.MoveMessages("AMQPriority = 4", other, broker.MoveOptions{})
		case 1:
			_, err = q.MoveMessages("", other, broker.MoveOptions{Count: 5})
		case 2:
			err = b.Pause(q, false)
		case 3, 4:
			err = b.Resume(w, q)
		case 5:
			_, err = q.ChangeMessagesPriority("AMQPriority = 3", 5)
		case 6:
			err = q.Browse("", func(m *message.Message, _ int32) bool { return m.Priority() <= 9 })
		case 7:
			b.Advance(20)
		case 8:
			b.ScanExpired()
			q.ResetGroup(w, "")
		}
		w.Flush()
		if err != nil {
			b.T.Errorf("operator: %v", err)
			return
		}
	}
}
