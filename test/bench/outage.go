package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A prober is a client that wants a durable message answered, again and again, by whichever node answers. It connects anew as
// soon as a connection fails, so what it sees of an outage is not its own pause.
type prober struct {
	nodes  []peers.Instance
	queue  string
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	last    time.Time     // of the last answer
	longest time.Duration // between two answers since reset
	answers int
	failed  error // the last failure
}

// Pauses of a prober.
const (
	probePause = 2 * time.Millisecond  // from an answer to the next message
	probeRetry = 10 * time.Millisecond // from a failure to the next attempt, at the next node
	probeLimit = 2 * time.Second       // of a call
)

func startProber(ctx context.Context, queue string, nodes ...peers.Instance) *prober {
	ctx, cancel := context.WithCancel(ctx)
	p := &prober{nodes: nodes, queue: queue, cancel: cancel, done: make(chan struct{})}
	go p.run(ctx)
	return p
}

func (p *prober) run(ctx context.Context) {
	defer close(p.done)
	for k := 0; ctx.Err() == nil; k++ {
		err := p.use(ctx, p.nodes[k%len(p.nodes)])
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
		pause(ctx, probeRetry)
	}
}

// use sends to a node until that fails.
func (p *prober) use(ctx context.Context, i peers.Instance) (err error) {
	cfg, err := clientConfig(i)
	if err != nil {
		return err
	}
	cfg.InitialConnectAttempts, cfg.CallTimeout = 1, probeLimit
	dial, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	l, err := connect(dial, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.createQueue(dial, p.queue); err != nil && p.count() == 0 {
		return err
	}
	producer, err := l.session.NewProducer(dial, p.queue)
	if err != nil {
		return err
	}
	return p.sendAll(ctx, producer)
}

func (p *prober) sendAll(ctx context.Context, producer *client.Producer) error {
	encoded := newBuilder(p.queue, bodySize, true).AppendTo(nil)
	for {
		if err := producer.SendEncoded(ctx, encoded, true); err != nil {
			return err
		}
		p.answered(time.Now())
		if !pause(ctx, probePause) {
			return nil
		}
	}
}

func (p *prober) answered(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers > 0 {
		p.longest = max(p.longest, now.Sub(p.last))
	}
	p.last = now
	p.answers++
}

func (p *prober) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers
}

// reset forgets the outages so far.
func (p *prober) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest = 0
}

// more waits for so many more answers.
func (p *prober) more(ctx context.Context, n int) error {
	for want := p.count() + n; p.count() < want; {
		if !pause(ctx, time.Millisecond) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return fmt.Errorf("%s is not answered: %w; last: %w", p.queue, context.Cause(ctx), p.failed)
		}
	}
	return nil
}

// stop ends the prober and returns the longest time between two answers.
func (p *prober) stop() time.Duration {
	p.cancel()
	<-p.done
	return p.longest
}

// An outageRow measures the time without service after kill -9 of the active node of a fresh pair: what a client sees
// between the last answer of the one and the first of the other.
type outageRow struct {
	manager func(context.Context, *bench, *side) (lockManager, error)
	leads   func(leader string) bool // of the Raft group, when the node is killed; nil: it does not matter
}

const outageLimit = time.Minute

func (r outageRow) measure(ctx context.Context, b *bench, s *side) (_ values, err error) {
	m, err := r.manager(ctx, b, s)
	if err != nil {
		return nil, err
	}
	p, err := s.createPair(ctx, b.queue(), m)
	if err != nil {
		return nil, errors.Join(err, m.group.close())
	}
	defer func() { err = errors.Join(err, p.remove()) }()
	if err := r.start(ctx, p); err != nil {
		return nil, err
	}
	probe := startProber(ctx, "bench.probe", p.primary.instance, p.backup.instance)
	defer probe.stop()
	ctx, cancel := context.WithTimeoutCause(ctx, outageLimit, fmt.Errorf("it took longer than %v", outageLimit))
	defer cancel()
	if err := probe.more(ctx, 500); err != nil {
		return nil, err
	}
	probe.reset()
	p.primary.kill()
	if err := probe.more(ctx, 50); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.backup.tail())
	}
	return values{"outage": probe.stop().Seconds()}, nil
}

// start starts the pair, as often as it takes until the member leads that shall.
func (r outageRow) start(ctx context.Context, p *haPair) error {
	const tries = 20
	for range tries {
		if err := p.start(ctx); err != nil || r.leads == nil || p.group == nil {
			return err
		}
		leader, err := p.group.leader(ctx)
		if err != nil {
			return err
		}
		if r.leads(leader) {
			return nil
		}
		p.kill()
		w := p.group.witnesses[0]
		w.kill()
		if err := w.start(p.group.binary); err != nil {
			return err
		}
	}
	return fmt.Errorf("in %d starts the leader was never the one that is wanted", tries)
}

// equalSession is the session time in ms of both brokers' lock managers where they are compared with equal timeouts.
const equalSession = "6000"

// outages are the rows.
var (
	outageOnZooKeeper = outageRow{manager: func(ctx context.Context, b *bench, s *side) (lockManager, error) {
		return b.zookeeperManager(ctx, s.broker.Name()+"-"+b.queue(), map[string]string{"session-ms": equalSession})
	}}
	outageEqual = outageRow{manager: func(ctx context.Context, b *bench, s *side) (lockManager, error) {
		m, err := b.ownManager(ctx, s)
		if m.properties == nil {
			m.properties = map[string]string{}
		}
		m.properties["session-ms"] = equalSession
		return m, err
	}}
	outageLeaderLives = outageRow{manager: asShipped, leads: func(leader string) bool { return leader != primaryMember }}
	outageLeaderDies  = outageRow{manager: asShipped, leads: func(leader string) bool { return leader == primaryMember }}
)

// asShipped is a broker's own lock manager with its own defaults.
func asShipped(ctx context.Context, b *bench, s *side) (lockManager, error) {
	return b.ownManager(ctx, s)
}

// onlySaranga makes a row of what the other broker does not have.
func onlySaranga(measure func(context.Context, *bench, *side) (values, error)) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		if s.broker.Name() != sarangaName {
			return nil, nil
		}
		return measure(ctx, b, s)
	}
}
