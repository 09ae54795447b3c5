package broker_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// TestRefusedExpiryRests: more expired messages than one pass looks at, none of which can go: the queue must not try again and
// again, and goes on when there is space.
func TestRefusedExpiryRests(t *testing.T) {
	const expired = 5000
	b := brokertest.New(t, nil)
	if err := b.Settings.Set("q", `{"expiryAddress":""}`); err != nil {
		t.Fatal(err)
	}
	b.SettingsChanged()
	q := b.CreateAnycast("q")
	c := b.Connect(brokertest.AutoCommit)
	for i := range expired {
		m := brokertest.Text("q", fmt.Sprint(i), message.Anycast)
		m.Expiration = b.Clock.Now() + 100
		c.Act(func(w *broker.Work) {
			if err := c.Session.Send(w, build(b, m), broker.SendOptions{Routing: message.Unspecified}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := c.Send(brokertest.Text("q", "last", message.Anycast)); err != nil {
		t.Fatal(err)
	}
	b.Advance(200)
	b.Store.FailAppend(func([]broker.Op) error { return broker.ErrNoSpace })
	k, err := c.Consume(broker.ConsumerOptions{Queue: "q"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	b.Until("the queue to rest", func() bool { return !b.Busy() })
	if n := q.Counts(); n.Messages != expired+1 || n.Stats.Expired != 0 {
		t.Errorf("%d messages, %d expired", n.Messages, n.Stats.Expired)
	}
	b.Store.FailAppend(nil)
	b.Advance(1000)
	k.Wait(1)
	b.Until("the expired messages to go", func() bool { return q.MessageCount() == 1 && b.Store.Messages() == 1 })
}

func build(b *brokertest.Broker, m *message.Builder) *message.Message {
	b.T.Helper()
	built, err := b.Pool().Build(m)
	if err != nil {
		b.T.Fatal(err)
	}
	return built
}

// TestNothingLostWithoutSpace is a store that refuses every third append or so, while clients send, acknowledge, commit and
// roll back, messages expire and die, and an operator moves and removes. Whoever was told that something is done can rely on
// it, and whoever was told that it is not finds everything as it was: in the end each message was taken exactly once, counts
// and accounts are zero and the store is empty.
func TestNothingLostWithoutSpace(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { withoutSpace(t, seed) })
	}
}

func withoutSpace(t *testing.T, seed uint64) {
	b := brokertest.New(t, nil)
	if err := b.Settings.Set("s.#", `{"maxDeliveryAttempts":3,"redeliveryDelay":10}`); err != nil {
		t.Fatal(err)
	}
	b.SettingsChanged()
	for i := range stressQueues {
		b.CreateAnycast(fmt.Sprintf("s.q%d", i))
	}
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 7))
	var refused atomic.Int64
	b.Store.FailAppend(func(ops []broker.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if len(ops) == 0 || rnd.IntN(3) > 0 { // what takes no space is never refused
			return nil
		}
		refused.Add(1)
		return broker.ErrNoSpace
	})
	l := &ledger{sent: map[string]bool{}, acked: map[string]int{}}
	var clients sync.WaitGroup
	for i := range 3 {
		u := &unlucky{b: b, l: l, name: fmt.Sprintf("%d-%d", seed, i), rnd: rand.New(rand.NewPCG(seed, uint64(i)))}
		clients.Go(func() {
			for range 40 {
				u.step()
			}
		})
	}
	done := make(chan struct{})
	var operator sync.WaitGroup
	operator.Go(func() { operateUnlucky(b, rand.New(rand.NewPCG(seed, 99)), l, done) })
	clients.Wait()
	close(done)
	operator.Wait()
	if refused.Load() == 0 {
		t.Fatal("nothing was refused")
	}
	b.Store.FailAppend(nil)
	b.Advance(5000)
	b.ScanExpired()
	c := b.Connect(brokertest.AutoCommit)
	queues := []string{"DLQ", "ExpiryQueue"}
	for i := range stressQueues {
		queues = append(queues, fmt.Sprintf("s.q%d", i))
	}
	b.Until("what was scheduled and moved to come to rest", func() bool {
		b.Advance(1000)
		b.Store.Settle()
		n := int64(0)
		for _, name := range queues {
			n += b.Queue(name).Counts().Scheduled
		}
		return n == 0 && !b.Busy()
	})
	for _, name := range queues {
		n := int(b.Queue(name).MessageCount())
		k, err := c.Consume(broker.ConsumerOptions{Queue: name}, broker.Unlimited)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range k.Wait(n) {
			l.ack(d.Text)
		}
		if got := k.Got(); n > 0 {
			if err := c.Do(func(w *broker.Work, a broker.Answer) { c.Acknowledge(w, k.ID, got[len(got)-1].ID, true, a) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for text := range l.sent {
		if n := l.acked[text]; n != 1 {
			t.Errorf("message %s was taken %d times", text, n)
		}
	}
	for text, n := range l.acked {
		if !l.sent[text] {
			t.Errorf("message %s was refused or rolled back and yet taken %d times", text, n)
		}
	}
	b.Until("the store to be empty", func() bool {
		b.Advance(1000)
		b.Store.Settle()
		return b.Store.Messages() == 0 && b.Store.Orphans() == 0
	})
	for _, name := range queues {
		if c := b.Queue(name).Counts(); c.Messages != 0 || c.Delivering != 0 || c.Size != 0 || c.DeliveringSize != 0 || c.Durable != 0 || c.DurableSize != 0 {
			t.Errorf("queue %s: %+v", name, c)
		}
	}
}

// An unlucky client works on a store that refuses now and then.
type unlucky struct {
	b    *brokertest.Broker
	l    *ledger
	name string
	rnd  *rand.Rand
	n    int
}

func (u *unlucky) message() (*message.Builder, string) {
	u.n++
	text := fmt.Sprintf("%s-%d", u.name, u.n)
	m := brokertest.Text(fmt.Sprintf("s.q%d", u.rnd.IntN(stressQueues)), text, message.Anycast)
	m.Durable = u.rnd.IntN(5) > 0
	if u.rnd.IntN(4) == 0 {
		m.Expiration = u.b.Clock.Now() + int64(u.rnd.IntN(60))
	}
	return m, text
}

// step sends some messages and takes some, in a transaction or not, then leaves.
func (u *unlucky) step() {
	transacted := u.rnd.IntN(2) == 0
	o := brokertest.AutoCommit
	if transacted {
		o = broker.SessionOptions{}
	}
	c := u.b.Connect(o)
	defer func() { c.Disconnect(u.rnd.IntN(2) == 0) }()
	var sent []string
	for range 1 + u.rnd.IntN(4) {
		m, text := u.message()
		if err := c.Send(m); err == nil {
			sent = append(sent, text)
		}
	}
	if !transacted {
		u.l.send(sent...)
	}
	k, err := c.Consume(broker.ConsumerOptions{Queue: fmt.Sprintf("s.q%d", u.rnd.IntN(stressQueues))}, int64(1+u.rnd.IntN(10)))
	if err != nil {
		u.b.T.Errorf("consume: %v", err)
		return
	}
	var taken []string
	got := k.Got()
	for at := 0; at < len(got); {
		n := 1 + u.rnd.IntN(len(got)-at)
		last := got[at+n-1]
		one := u.rnd.IntN(4) == 0
		if one {
			n, last = 1, got[at]
		}
		if err := c.Do(func(w *broker.Work, a broker.Answer) { c.Acknowledge(w, k.ID, last.ID, !one, a) }); err != nil {
			if u.rnd.IntN(3) == 0 {
				break // gives up
			}
			continue // tries again
		}
		for _, d := range got[at : at+n] {
			taken = append(taken, d.Text)
		}
		at += n
	}
	if !transacted {
		u.l.ack(taken...)
		return
	}
	if u.rnd.IntN(3) == 0 {
		c.Do(func(w *broker.Work, a broker.Answer) { c.Rollback(w, u.rnd.IntN(2) == 0, a) })
	} else if err := c.Do(func(w *broker.Work, a broker.Answer) { c.Commit(w, a) }); err == nil {
		u.l.send(sent...)
		u.l.ack(taken...)
	}
}

// operateUnlucky moves, expires, kills and removes messages.
func operateUnlucky(b *brokertest.Broker, rnd *rand.Rand, l *ledger, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		q := b.Queue(fmt.Sprintf("s.q%d", rnd.IntN(stressQueues)))
		switch rnd.IntN(6) {
		case 0:
			q.MoveMessages("", fmt.Sprintf("s.q%d", rnd.IntN(stressQueues)), broker.MoveOptions{Count: 3})
		case 1:
			remove(q, l)
		case 2:
			q.SendToDeadLetterAddress("AMQPriority = 0")
		case 3:
			b.Queue("DLQ").RetryMessages("")
		case 4:
			b.Advance(15)
		case 5:
			b.ScanExpired()
		}
	}
}

// remove removes one message.
func remove(q *broker.Queue, l *ledger) {
	var id int64
	var text string
	q.Browse("", func(m *message.Message, _ int32) bool {
		id = m.ID()
		text, _ = m.TextBody()
		return false
	})
	if ok, err := q.RemoveMessage(id); ok && err == nil {
		l.ack(text)
	}
}
