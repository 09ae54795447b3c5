package pair

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

const queue = "orders"

// A ledger is what was sent, acknowledged to the producer, and consumed with an acknowledgement, by text.
type ledger struct {
	t  *testing.T
	mu sync.Mutex

	sent, acked, consumed map[string]bool

	stop      chan struct{}
	producing sync.WaitGroup
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, sent: map[string]bool{}, acked: map[string]bool{}, consumed: map[string]bool{}}
}

// connect makes a session. An acknowledgement is waited for if blocking is set.
func connect(ctx context.Context, port int, blocking bool) (*client.Conn, *client.Session, error) {
	conn, err := client.Dial(ctx, client.Config{Hosts: []transport.ConnectorOptions{{Host: "127.0.0.1", Port: port}}, User: "admin", Password: "admin", InitialConnectAttempts: 1, BlockOnAcknowledge: blocking})
	if err != nil {
		return nil, nil, err
	}
	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, s, nil
}

// produce has some producers send to the node, each message when the last one was acknowledged, until halt or the node is gone.
func (l *ledger) produce(n *node, name string) {
	l.t.Helper()
	if l.stop == nil {
		l.stop = make(chan struct{})
	}
	conn, s, err := connect(background(l.t), n.instance.Port, false)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := s.CreateSharedQueue(background(l.t), client.QueueOptions{Name: queue, Durable: true, RoutingType: core.RoutingAnycast}); err != nil {
		l.t.Fatal(err)
	}
	conn.Close()
	stop := l.stop
	for i := range 3 {
		l.producing.Go(func() { l.send(n, fmt.Sprint(name, i), stop) })
	}
}

func (l *ledger) send(n *node, name string, stop <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, s, err := connect(ctx, n.instance.Port, false)
	if err != nil {
		l.t.Error(err)
		return
	}
	defer conn.Close()
	p, err := s.NewProducer(ctx, queue)
	if err != nil {
		l.t.Error(err)
		return
	}
	tick := time.NewTicker(4 * time.Millisecond) // or a slow start of the other broker would make too many
	defer tick.Stop()
	for i := 1; ; i++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		text := fmt.Sprintf("%s-%d", name, i)
		m := brokertest.Text(queue, text, message.Anycast)
		l.mu.Lock()
		l.sent[text] = true
		l.mu.Unlock()
		if err := p.Send(ctx, m); err != nil {
			return // the node is gone, and nobody knows whether it has the message
		}
		l.mu.Lock()
		l.acked[text] = true
		l.mu.Unlock()
	}
}

// halt ends the producers.
func (l *ledger) halt() {
	if l.stop != nil {
		close(l.stop)
		l.stop = nil
	}
	l.producing.Wait()
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// more waits for so many more acknowledgements.
func (l *ledger) more(n int) {
	l.t.Helper()
	want := l.count() + n
	until(l.t, fmt.Sprint(n, " more acknowledged"), func() bool { return l.count() >= want })
}

// consume takes so many messages, or with -1 all, from the node.
func (l *ledger) consume(n *node, count int) {
	l.t.Helper()
	ctx := background(l.t)
	conn, s, err := connect(ctx, n.instance.Port, count > 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	c, err := s.NewConsumer(ctx, queue, client.ConsumerOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := s.Start(ctx); err != nil {
		l.t.Fatal(err)
	}
	for ; count != 0; count-- {
		wait := 10 * time.Second
		if count < 0 {
			wait = 0
		}
		m, err := c.ReceiveTimeout(ctx, wait)
		if err != nil {
			l.t.Fatal(err)
		}
		if m == nil {
			break
		}
		text, ok := m.Text()
		l.mu.Lock()
		switch {
		case !ok || !l.sent[text]:
			l.t.Errorf("%q was never sent", text)
		case l.consumed[text]:
			l.t.Errorf("%s came again after it was acknowledged", text)
		}
		l.consumed[text] = true
		l.mu.Unlock()
		if err := m.Ack(); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := c.Close(ctx); err != nil {
		l.t.Fatal(err)
	}
}

// check takes everything from the node: what was acknowledged must be there.
func (l *ledger) check(n *node) {
	l.t.Helper()
	l.consume(n, -1)
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := 0
	for text := range l.acked {
		if !l.consumed[text] {
			if lost++; lost <= 5 {
				l.t.Errorf("%s was acknowledged and is lost", text)
			}
		}
	}
	l.t.Logf("%d sent, %d acknowledged, %d received, %d lost", len(l.sent), len(l.acked), len(l.consumed), lost)
}
