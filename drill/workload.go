package drill

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Workload says which clients a drill keeps at work, and where. The zero value of a field is its default.
type Workload struct {
	URLs    []string // of all nodes that may become active; a client tries them in turn
	Dialers []Dialer // protocols; the clients of a stream take them in turn
	Streams []Stream // nil: DefaultStreams

	// Prefix is what names of addresses and queues begin with: default "saranga.drill.".
	Prefix string

	// Rate is how many messages a second each producer sends that has no rate of its own, default 50.
	Rate float64

	// Log, if not nil, is told of connections that were made and lost. It may be called by several goroutines.
	Log func(line string)
}

// A Stream is an address with producers and consumers that work in one manner.
type Stream struct {
	Name string
	Mode Mode // of its producers; consumers are transacted if it is Transacted, else plain

	Producers int // default 1
	Consumers int // of each queue, default 1; with more nothing is said of the order

	// Backlog has nothing received before the drain: what consumers that keep up have taken is not there to be lost.
	Backlog bool

	// Subscriptions, if not 0, makes the address a topic with so many durable subscriptions. Else it has one queue.
	Subscriptions int

	// Repeats has producers repeat what they don't know without duplicate detection, so that duplicates are allowed.
	Repeats bool

	Size  int     // bytes of a body, default 200
	Batch int     // messages in a transaction, default 5
	Rate  float64 // messages a second of each producer, default that of the Workload

	// Back is that every so many transactions are rolled back, those of consumers too; default 9, negative: none.
	Back int
}

// DefaultStreams are durable sends with and without duplicate detection, transactions, distributed transactions, large messages, and a
// topic with two durable subscriptions, and messages that nobody takes before the end.
func DefaultStreams() []Stream {
	return []Stream{
		{Name: "durable", Producers: 2},
		{Name: "repeats", Repeats: true, Consumers: 2},
		{Name: "transactions", Mode: Transacted},
		{Name: "xa", Mode: XA, Rate: 20},
		{Name: "large", Size: 256 << 10, Rate: 4},
		{Name: "topic", Subscriptions: 2},
		{Name: "backlog", Backlog: true, Rate: 20},
	}
}

func (s Stream) withDefaults(w *Workload) Stream {
	def := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	def(&s.Producers, 1)
	def(&s.Consumers, 1)
	def(&s.Size, 200)
	def(&s.Batch, 5)
	def(&s.Back, 9)
	if s.Rate == 0 {
		s.Rate = w.Rate
	}
	return s
}

// A Run is a Workload at work.
type Run struct {
	w       Workload
	id      string // in each body and in names
	began   time.Time
	history *History

	producers []*producer
	consumers []*consumer
	queues    []*Queue

	stopProducing chan struct{}
	stopConsuming chan struct{}
	producing     sync.WaitGroup
	consuming     sync.WaitGroup
	cancel        context.CancelFunc // ends all calls

	sent, acknowledged, received, consumed atomic.Uint64
	lastAnswer                             atomic.Uint32 // Time of the last acknowledgement
	lastTerm                               atomic.Uint32
}

// Start makes the queues and starts the clients. It returns when each producer has been answered, or ctx ends.
func (w Workload) Start(ctx context.Context) (*Run, error) {
	if len(w.URLs) == 0 || len(w.Dialers) == 0 {
		return nil, errors.New("drill: a workload needs URLs and Dialers")
	}
	if w.Prefix == "" {
		w.Prefix = "saranga.drill."
	}
	if w.Rate == 0 {
		w.Rate = 50
	}
	if w.Streams == nil {
		w.Streams = DefaultStreams()
	}
	if w.Log == nil {
		w.Log = func(string) {}
	}
	r := &Run{w: w, id: newRunID(), began: time.Now(), history: NewHistory(), stopProducing: make(chan struct{}), stopConsuming: make(chan struct{})}
	clients := 0
	dialer := func(m Mode) (Dialer, error) {
		for range w.Dialers {
			d := w.Dialers[clients%len(w.Dialers)]
			clients++
			if d.Supports(m) {
				return d, nil
			}
		}
		return nil, ErrUnable
	}
	for _, s := range w.Streams {
		if err := r.add(s.withDefaults(&w), dialer); err != nil {
			return nil, fmt.Errorf("drill: stream %s: %w", s.Name, err)
		}
	}
	clean := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		return r.remove(ctx)
	}
	if err := r.create(ctx); err != nil {
		return nil, errors.Join(err, clean())
	}
	var all context.Context
	all, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, c := range r.consumers {
		r.consuming.Go(func() { c.run(all) })
	}
	for _, p := range r.producers {
		r.producing.Go(func() { p.run(all) })
	}
	for _, p := range r.producers {
		select {
		case <-p.answered:
		case <-ctx.Done():
			err := fmt.Errorf("drill: %s was not answered: %w", p.record.Name, context.Cause(ctx))
			r.halt()
			return nil, errors.Join(err, clean())
		}
	}
	return r, nil
}

// cleanTimeout bounds the removal of queues after a start that failed.
const cleanTimeout = 10 * time.Second

func newRunID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// add makes the clients of a stream.
func (r *Run) add(s Stream, dialer func(Mode) (Dialer, error)) error {
	address := r.w.Prefix + s.Name + "." + r.id
	queues := []Queue{{Address: address, Name: address}}
	if s.Subscriptions > 0 {
		queues = nil
		for n := range s.Subscriptions {
			queues = append(queues, Queue{Address: address, Name: fmt.Sprintf("%s.subscription%d", address, n), Multicast: true})
		}
	}
	mode := Plain
	if s.Mode == Transacted {
		mode = Transacted
	}
	made := make([]*Queue, len(queues))
	for i, q := range queues {
		made[i] = r.history.AddQueue(q)
		for n := range s.Consumers {
			d, err := dialer(mode)
			if err != nil {
				return err
			}
			c := &consumer{record: r.history.AddConsumer(made[i]), s: s, mode: mode, first: n == 0}
			c.station = station{r: r, d: d, name: fmt.Sprintf("consumer %d of %s", n, q.Name), queues: made[i : i+1]}
			r.consumers = append(r.consumers, c)
		}
	}
	r.queues = append(r.queues, made...)
	for n := range s.Producers {
		d, err := dialer(s.Mode)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s/%d", s.Name, n)
		p := &producer{s: s, answered: make(chan struct{}), record: r.history.AddProducer(Producer{Name: name, Address: address, DuplicateDetection: !s.Repeats, Ordered: true})}
		p.station = station{r: r, d: d, name: "producer " + name, queues: made}
		r.producers = append(r.producers, p)
	}
	return nil
}

// now is the time in the history.
func (r *Run) now() Time { return Time(time.Since(r.began) / Tick) }

// answeredNow counts an acknowledgement.
func (r *Run) answeredNow(t Term) Time {
	now := r.now()
	r.lastAnswer.Store(uint32(now))
	r.lastTerm.Store(uint32(t))
	return now
}

// Began is when the time of the History began.
func (r *Run) Began() time.Time { return r.began }

// Progress is how a Run goes.
type Progress struct {
	Sent, Acknowledged, Received, Consumed uint64
	Silence                                time.Duration // since the last acknowledgement
	Node                                   string        // who gave it, empty if that is not known
}

// Progress tells how the run goes. It may be called at any time.
func (r *Run) Progress() Progress {
	return Progress{
		Sent: r.sent.Load(), Acknowledged: r.acknowledged.Load(), Received: r.received.Load(), Consumed: r.consumed.Load(),
		Silence: time.Since(r.began) - Time(r.lastAnswer.Load()).Duration(), Node: r.history.TermInfo(Term(r.lastTerm.Load())).Node,
	}
}

// Stop has the producers end, receives what is left, removes the queues and returns the History. If ctx ends before that is done, the
// History says which queues were not drained, and the error why.
func (r *Run) Stop(ctx context.Context) (*History, error) {
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	close(r.stopProducing)
	r.producing.Wait()
	close(r.stopConsuming)
	r.consuming.Wait()
	r.cancel()
	errs := make([]error, len(r.consumers))
	for _, p := range r.producers {
		if p.inDoubt {
			errs = append(errs, p.abandon(ctx))
		}
	}
	var draining sync.WaitGroup
	for i, c := range r.consumers {
		if c.first {
			draining.Go(func() { errs[i] = c.drain(ctx) })
		}
	}
	draining.Wait()
	err := errors.Join(errs...)
	if err == nil {
		err = r.remove(ctx)
	}
	return r.history, err
}

// halt ends everything at once.
func (r *Run) halt() {
	close(r.stopProducing)
	close(r.stopConsuming)
	r.cancel()
	r.producing.Wait()
	r.consuming.Wait()
}

// create makes the queues on the first node that serves.
func (r *Run) create(ctx context.Context) error {
	s := station{r: r, d: r.w.Dialers[0], name: "drill", queues: r.queues}
	defer s.close()
	_, err := s.client(ctx)
	return err
}

// remove removes the queues from all nodes that serve.
func (r *Run) remove(ctx context.Context) error {
	var errs []error
	for _, url := range r.w.URLs {
		c, err := r.w.Dialers[0].Dial(ctx, url)
		if err != nil {
			continue // it does not serve
		}
		for _, q := range r.queues {
			if err := c.Delete(ctx, *q); err != nil {
				errs = append(errs, fmt.Errorf("drill: remove %s at %s: %w", q.Name, url, err))
			}
		}
		c.Close()
	}
	return errors.Join(errs...)
}
