package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

const (
	stressTime   = 3 * time.Second
	stressQueues = 3
	stressLarge  = 150 << 10 // bytes of a large body
)

// TestNothingLostOverCuts lets clients send, consume, commit, roll back and prepare while their connections are cut at any
// moment, an operator moves messages, and a queue is deleted and made again and again. In the end what a client was told is
// true: what is sent is there once, what is acknowledged does not come again, what is rolled back is not there; and nothing
// is held.
func TestNothingLostOverCuts(t *testing.T) {
	for _, window := range []int32{0, 1 << 20} {
		t.Run(map[bool]string{false: "anew", true: "reattached"}[window > 0], func(t *testing.T) { overCuts(t, window) })
	}
}

func overCuts(t *testing.T, window int32) {
	b := stressBroker(t)
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
		if live, n, size := b.Pool().Live(), b.Total().Messages(), b.Total().Bytes(); live != 0 || n != 0 || size != 0 {
			t.Errorf("after the stop %d messages are held, %d messages and %d bytes are counted", live, n, size)
		}
	})
	addr := serve(t, b)
	p := newCutter(t, addr)
	l := &stressLedger{sent: map[string]certainty{}, acked: map[string]int{}, perhaps: map[string]bool{}}
	ctx, cancel := context.WithTimeout(t.Context(), stressTime)
	defer cancel()
	var work sync.WaitGroup
	for i := range 6 {
		w := &stressWorker{t: t, l: l, name: fmt.Sprint("w", i), rnd: rand.New(rand.NewPCG(uint64(window), uint64(i))),
			cfg: stressConfig(p.addr(), window)}
		work.Go(func() { w.run(ctx, i%3) })
	}
	work.Go(func() { p.cutUntil(ctx, rand.New(rand.NewPCG(7, uint64(window)))) })
	work.Go(func() { stressOperator(ctx, t, b) })
	work.Wait()
	p.close()
	brokertest.Until(t, "the sessions of cut connections to end", func() bool { return len(b.Connections()) == 0 })
	stressFinish(t, b, l)
}

func stressBroker(t *testing.T) *broker.Broker {
	dir := t.TempDir()
	store := journal.NewStore(journal.StoreOptions{FS: fs.OS{}, Bindings: filepath.Join(dir, "bindings"), Journal: filepath.Join(dir, "journal"),
		Paging: filepath.Join(dir, "paging"), Large: filepath.Join(dir, "large"), FileSize: 1 << 20, MinFiles: 2, PoolFiles: 10,
		CompactMinFiles: 4, CompactPercentage: 30, BufferSize: 490 << 10, SyncTransactional: true, SyncNonTransactional: true})
	b := broker.New(broker.Options{Store: store, Wildcards: config.DefaultWildcards(), GlobalMaxBytes: -1, GlobalMaxMessages: -1, MaxRedeliveryRecords: 10,
		TransactionTimeout: 1000, TransactionScanPeriod: 50, ExpiryScanPeriod: 50, AddressScanPeriod: 50, PersistIDCache: true,
		Settings: func(string) config.AddressSettings {
			s := config.DefaultAddressSettings()
			s.MaxDeliveryAttempts = -1
			return s
		}})
	if err := b.Load(); err != nil {
		t.Fatal(err)
	}
	for i := range stressQueues {
		stressQueue(t, b, fmt.Sprint("q", i))
	}
	b.Start()
	return b
}

func stressQueue(t *testing.T, b *broker.Broker, name string) {
	cfg := b.DefaultQueue(name, name)
	cfg.Routing = message.Anycast
	if _, err := b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true, IgnoreExisting: true}); err != nil {
		t.Error(err)
	}
}

func stressConfig(addr string, window int32) client.Config {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	return client.Config{Hosts: []transport.ConnectorOptions{{Name: "c", Host: "127.0.0.1", Port: n}}, User: "u", Password: "p", ReconnectAttempts: -1, RetryInterval: 5 * time.Millisecond, InitialConnectAttempts: -1,
		ConfirmationWindow: window, BlockOnAcknowledge: true, MinLargeMessageSize: 50 << 10, CallTimeout: 20 * time.Second, ConsumerWindow: 64 << 10, ConnectionTTL: 500 * time.Millisecond,
		FailureCheckPeriod: 100 * time.Millisecond}
}

// certainty is what a client knows of a message that it sent.
type certainty uint8

const (
	never certainty = iota
	perhaps
	certainly
)

type stressLedger struct {
	mu      sync.Mutex
	sent    map[string]certainty
	acked   map[string]int
	perhaps map[string]bool // acknowledged, perhaps
}

func (l *stressLedger) send(c certainty, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range texts {
		l.sent[t] = c
	}
}

func (l *stressLedger) ack(sure bool, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range texts {
		if sure {
			l.acked[t]++
		} else {
			l.perhaps[t] = true
		}
	}
}

type stressWorker struct {
	t    *testing.T
	l    *stressLedger
	name string
	rnd  *rand.Rand
	cfg  client.Config
	n    int
}

// outcomeOf tells from the error of the call that ends a piece of work what has become of it.
func outcomeOf(err error) certainty {
	var e *core.Error
	switch {
	case err == nil:
		return certainly
	case errors.As(err, &e) && e.Code == core.TransactionRolledBack:
		return never
	}
	return perhaps
}

func (w *stressWorker) run(ctx context.Context, kind int) {
	for ctx.Err() == nil {
		c, err := client.Dial(ctx, w.cfg)
		if err != nil {
			return
		}
		for range 30 {
			if ctx.Err() != nil {
				break
			}
			if err := w.session(ctx, c, kind); err != nil {
				break
			}
		}
		c.Close()
	}
}

func (w *stressWorker) queue() string { return fmt.Sprint("q", w.rnd.IntN(stressQueues)) }

// send sends one message and returns its text, by which it is known.
func (w *stressWorker) send(ctx context.Context, s *client.Session) (string, error) {
	w.n++
	text := fmt.Sprint(w.name, "-", w.n)
	q := w.queue()
	p, err := s.NewProducer(ctx, q)
	if err != nil {
		return text, err
	}
	m := message.New(q, message.Bytes)
	m.Durable = true
	m.Set(message.PropRoutingType, int8(message.Anycast))
	m.Set("text", text)
	if w.rnd.IntN(8) == 0 {
		return text, p.SendLarge(ctx, m, bytes.NewReader(make([]byte, stressLarge)))
	}
	m.Body = make([]byte, w.rnd.IntN(2000))
	return text, p.Send(ctx, m)
}

// take receives up to n messages and acknowledges them.
func (w *stressWorker) take(ctx context.Context, k *client.Consumer, n int) (texts []string, failed error) {
	for range n {
		m, err := k.ReceiveTimeout(ctx, 20*time.Millisecond)
		if err != nil {
			return texts, err
		}
		if m == nil {
			return texts, nil
		}
		v, err := m.Core()
		if err != nil {
			w.t.Error(err)
			return texts, err
		}
		text, _ := v.Property("text").Text()
		if m.IsLarge() {
			body, err := m.Body()
			if err != nil {
				return texts, err
			}
			if n, err := io.Copy(io.Discard, body); err != nil {
				return texts, err
			} else if n != stressLarge {
				w.t.Errorf("message %s has a body of %d bytes", text, n)
			}
		}
		texts = append(texts, text)
		if err := m.Ack(); err != nil {
			return texts, err
		}
	}
	return texts, nil
}

// session does a piece of work in a session of its own: by itself, in a transaction, or in a branch.
func (w *stressWorker) session(ctx context.Context, c *client.Conn, kind int) error {
	auto := kind == 0
	s, err := c.NewSession(ctx, client.SessionOptions{AutoCommitSends: auto, AutoCommitAcks: auto, XA: kind == 2})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		s.Close(closing)
	}()
	k, err := s.NewConsumer(ctx, w.queue(), client.ConsumerOptions{})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	for range 1 + w.rnd.IntN(4) {
		if auto {
			text, err := w.send(ctx, s)
			w.l.send(outcomeOf(err), text)
			if err != nil {
				return err
			}
			texts, err := w.take(ctx, k, 1+w.rnd.IntN(2))
			w.settleAuto(texts, err)
			if err != nil {
				return err
			}
			continue
		}
		if err := w.transaction(ctx, s, k, kind == 2); err != nil {
			return err
		}
	}
	return nil
}

// settleAuto notes acknowledgements; with an error the last is not sure.
func (w *stressWorker) settleAuto(texts []string, err error) {
	if n := len(texts); err != nil && n > 0 {
		w.l.ack(false, texts[n-1])
		texts = texts[:n-1]
	}
	w.l.ack(true, texts...)
}

func (w *stressWorker) transaction(ctx context.Context, s *client.Session, k *client.Consumer, xa bool) error {
	var sent, taken []string
	failed := error(nil)
	x := buf.Xid{FormatID: 1, Global: fmt.Sprint(w.name, "/", w.n, "/", w.rnd.Uint64()), Branch: "b"}
	if xa {
		if err := s.XAStart(ctx, x); err != nil {
			return err
		}
	}
	for range 1 + w.rnd.IntN(3) {
		text, err := w.send(ctx, s)
		sent = append(sent, text)
		if failed = err; err != nil {
			break
		}
	}
	if failed == nil {
		taken, failed = w.take(ctx, k, w.rnd.IntN(4))
	}
	note := func(c certainty) {
		w.l.send(c, sent...)
		switch c {
		case certainly:
			w.l.ack(true, taken...)
		case perhaps:
			w.l.ack(false, taken...)
		}
	}
	if xa {
		return w.endBranch(ctx, s, x, failed, note)
	}
	if failed != nil || w.rnd.IntN(3) == 0 {
		note(never)
		if failed != nil {
			return failed // the session is closed, which rolls back
		}
		return s.Rollback(ctx, w.rnd.IntN(2) == 0)
	}
	err := s.Commit(ctx)
	note(outcomeOf(err))
	return err
}

func (w *stressWorker) endBranch(ctx context.Context, s *client.Session, x buf.Xid, failed error, note func(certainty)) error {
	if failed != nil {
		note(perhaps)
		return failed
	}
	if err := s.XAEnd(ctx, x, false); err != nil {
		note(perhaps)
		return err
	}
	if w.rnd.IntN(4) == 0 {
		err := s.XARollback(ctx, x)
		if err != nil {
			note(perhaps)
			return err
		}
		note(never)
		return nil
	}
	onePhase := w.rnd.IntN(2) == 0
	if !onePhase {
		if err := s.XAPrepare(ctx, x); err != nil {
			note(perhaps)
			return err
		}
	}
	err := s.XACommit(ctx, x, onePhase)
	if err != nil {
		note(perhaps)
		return err
	}
	note(certainly)
	return nil
}

// stressOperator moves messages about, and deletes and makes a queue to which messages are sent.
func stressOperator(ctx context.Context, t *testing.T, b *broker.Broker) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for ctx.Err() == nil {
		from, to := fmt.Sprint("q", rnd.IntN(stressQueues)), fmt.Sprint("q", rnd.IntN(stressQueues))
		if _, err := b.Queue(from).MoveMessages("", to, broker.MoveOptions{Count: 3}); err != nil {
			t.Error(err)
			return
		}
		stressQueue(t, b, "gone")
		p := b.NewPublisher(security.Internal("operator"))
		for range 5 {
			m := message.New("gone", message.Bytes)
			m.Durable = true
			if _, err := p.Send(m); err != nil {
				t.Error(err)
			}
		}
		if err := b.DeleteQueue(b.NewWork(), "gone", broker.DeleteQueueOptions{AutoDeleteAddress: true}); err != nil {
			t.Error(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stressFinish ends what is in doubt, takes what is left, and holds the books against it.
func stressFinish(t *testing.T, b *broker.Broker, l *stressLedger) {
	for _, x := range b.XAInDoubt() {
		if _, err := b.CompleteHeuristically(b.NewWork(), x, true); err != nil {
			t.Fatal(err)
		}
	}
	left := map[string]int{}
	for i := range stressQueues {
		q := b.Queue(fmt.Sprint("q", i))
		brokertest.Until(t, "branches of lost clients to time out", func() bool { return q.Counts().Delivering == 0 })
		if c := q.Counts(); c.Delivering != 0 || c.Consumers != 0 {
			t.Errorf("%s: %d messages are in delivery, %d consumers are there", q.Name(), c.Delivering, c.Consumers)
		}
		err := q.Browse("", func(m *message.Message, _ int32) bool {
			text, _ := m.Property("text").Text()
			left[text]++
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.RemoveMessages(""); err != nil {
			t.Fatal(err)
		}
		if c := q.Counts(); c.Messages != 0 || c.Size != 0 || c.DeliveringSize != 0 || c.DurableSize != 0 {
			t.Errorf("%s is empty and counts %+v", q.Name(), c)
		}
	}
	sure := 0
	for text, sent := range l.sent {
		n := l.acked[text] + left[text]
		switch {
		case n > 1:
			t.Errorf("message %s was acknowledged %d times and is there %d times", text, l.acked[text], left[text])
		case sent == never && n > 0:
			t.Errorf("message %s was rolled back, and was acknowledged %d times and is there %d times", text, l.acked[text], left[text])
		case sent == certainly && n == 0 && !l.perhaps[text]:
			t.Errorf("message %s is lost", text)
		}
		if sent == certainly {
			sure++
		}
	}
	t.Logf("%d messages, %d of them for sure, %d acknowledged, %d left", len(l.sent), sure, len(l.acked), len(left))
	if sure == 0 || len(l.acked) == 0 {
		t.Error("nothing was done")
	}
}

// A cutter passes connections on and cuts them.
type cutter struct {
	ln   net.Listener
	to   string
	mu   sync.Mutex
	open map[net.Conn]bool
	all  sync.WaitGroup
}

func newCutter(t *testing.T, to string) *cutter {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cutter{ln: ln, to: to, open: map[net.Conn]bool{}}
	p.all.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *cutter) addr() string { return p.ln.Addr().String() }

func (p *cutter) accept() {
	for {
		in, err := p.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.open[in], p.open[out] = true, true
		p.mu.Unlock()
		pass := func(dst, src net.Conn) {
			io.Copy(dst, src)
			dst.Close()
			src.Close()
			p.mu.Lock()
			delete(p.open, src)
			p.mu.Unlock()
		}
		p.all.Go(func() { pass(in, out) })
		p.all.Go(func() { pass(out, in) })
	}
}

// cutUntil cuts a connection every now and then.
func (p *cutter) cutUntil(ctx context.Context, rnd *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(10+rnd.IntN(100)) * time.Millisecond):
		}
		p.mu.Lock()
		for c := range p.open { // in no order
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
			break
		}
		p.mu.Unlock()
	}
}

func (p *cutter) close() {
	p.ln.Close()
	p.mu.Lock()
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}
