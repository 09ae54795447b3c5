package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// A bench is one run: two sides and a folder for all that they write.
type bench struct {
	options
	dir     string
	artemis peers.Artemis
	sides   [2]*side // Saranga first
	queues  int      // that have been named
	report  *report

	ensemble *ensemble // of ZooKeeper; nil before the first row that needs it
}

// Names of the brokers, as package peers gives them.
const (
	sarangaName = "saranga"
	artemisName = "artemis"
)

// A side is a broker with the instance that most rows measure.
type side struct {
	broker peers.Broker
	dir    string
	main   *peers.Process // warm; nil before the first row that needs it
	tls    int            // port of its TLS acceptor
	pair   *haPair        // warm; nil before the first row that needs it
	group  *raftGroup     // Saranga's three lock servers; nil before the first row that needs them
}

func newBench(ctx context.Context, o options) (*bench, error) {
	artemis, err := peers.InstallArtemis(ctx)
	if err != nil {
		return nil, err
	}
	saranga, err := peers.BuildSaranga(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.dir, 0o750); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.dir, "bench-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	b := &bench{options: o, dir: dir, artemis: artemis}
	for i, broker := range []peers.Broker{saranga, artemis} {
		b.sides[i] = &side{broker: broker, dir: filepath.Join(dir, broker.Name())}
		if err := os.Mkdir(b.sides[i].dir, 0o750); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// close ends the brokers and removes what they wrote.
func (b *bench) close() error {
	errs := []error{b.closePairs()}
	for _, s := range b.sides {
		if s.main != nil {
			errs = append(errs, stopIfRunning(s.main))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// queue is a name that was not used before.
func (b *bench) queue() string {
	b.queues++
	return fmt.Sprintf("bench.%d", b.queues)
}

// create makes an instance as the broker ships it.
func (s *side) create(ctx context.Context, name string, flags ...string) (peers.Instance, error) {
	return s.broker.Create(ctx, filepath.Join(s.dir, name), peers.CreateOptions{AsShipped: true, Flags: flags})
}

// start serves an instance; what the broker prints goes into its log.
func (s *side) start(ctx context.Context, i peers.Instance) (*peers.Process, error) {
	return peers.Start(ctx, s.broker, i, logOf(i))
}

func logOf(i peers.Instance) string { return i.Dir + ".log" }

// warm is the broker that most rows measure, started and warmed up when it is needed first, or again if it has ended.
func (b *bench) warm(ctx context.Context, s *side) (*peers.Process, error) {
	if s.main != nil && running(s.main) {
		return s.main, nil
	}
	var i peers.Instance
	if s.main != nil {
		i = s.main.Instance
		b.report.note("%s ended and was started again:\n%s", s.broker.Name(), s.main.Tail())
	} else {
		var err error
		if i, err = s.create(ctx, "main"); err != nil {
			return nil, err
		}
		if s.tls, err = addTLSAcceptor(i); err != nil {
			return nil, err
		}
	}
	p, err := s.start(ctx, i)
	if err != nil {
		return nil, err
	}
	s.main = p
	return p, b.warmUp(ctx, s.broker.Name(), i)
}

// warmUp sends messages of both kinds through the broker.
func (b *bench) warmUp(ctx context.Context, broker string, i peers.Instance) error {
	const limit = 5 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%d messages took longer than %v", b.WarmUp, limit))
	defer cancel()
	for _, durable := range []bool{false, true} {
		f, err := openFlow(ctx, i, flowOptions{queue: b.queue(), size: bodySize, durable: durable, window: flowWindow})
		if err != nil {
			return fmt.Errorf("warm up %s: %w", broker, err)
		}
		for f.received.Load() < int64(b.WarmUp/2) && pause(f.ctx, 10*time.Millisecond) {
		}
		if err := f.close(); err != nil {
			return fmt.Errorf("warm up %s: %w", broker, err)
		}
	}
	return nil
}

func running(p *peers.Process) bool {
	select {
	case <-p.Exited():
		return false
	default:
		return true
	}
}

func stopIfRunning(p *peers.Process) error {
	if !running(p) {
		return nil
	}
	return p.Stop()
}

// pause waits and tells whether the context still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
