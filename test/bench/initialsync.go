package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// The load and the data of the initial synchronisation.
const (
	syncBody    = 64 << 10
	syncRate    = 500 // durable 1 KiB messages a second of the clients meanwhile
	syncPending = 64  // messages of the data not yet answered, at most
)

// initialSync measures how long a new backup takes to have all of a primary that holds so many bytes, from the first file to
// the last acknowledgement, and what clients see of it: a paced load of durable messages before and meanwhile.
func initialSync(ctx context.Context, b *bench, s *side) (_ values, err error) {
	m, err := b.zookeeperManager(ctx, fmt.Sprintf("%s-sync-%d", s.broker.Name(), time.Now().UnixNano()), nil)
	if err != nil {
		return nil, err
	}
	p, err := s.createPair(ctx, b.queue(), m, "--global-max-size", "6G", "--java-memory", "6G")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove()) }()
	if err := p.primary.start(); err != nil {
		return nil, err
	}
	if err := p.primary.serves(ctx); err != nil {
		return nil, err
	}
	if err := fill(ctx, p.primary.instance, b.queue(), b.Sync); err != nil {
		return nil, err
	}
	before, err := b.paced(ctx, p.primary.instance, func() error { pause(ctx, b.Length); return nil })
	if err != nil {
		return nil, err
	}
	var joined, first, last time.Time
	during, err := b.paced(ctx, p.primary.instance, func() (err error) {
		joined = time.Now()
		if err := p.backup.start(); err != nil {
			return err
		}
		if first, err = p.primary.says(ctx, codeFile); err != nil {
			return err
		}
		last, err = p.backup.says(ctx, codeSynced)
		return err
	})
	if err != nil {
		return nil, err
	}
	size, err := sizeOf(filepath.Join(p.backup.instance.Dir, "data"))
	if err != nil {
		return nil, err
	}
	return values{"sync": last.Sub(first).Seconds(), "join": last.Sub(joined).Seconds(), "size": mib(size),
		"before": before, "during": during, "factor": during / before}, nil
}

// paced runs a function beside a paced load, and returns the p99 in µs of what was sent meanwhile.
func (b *bench) paced(ctx context.Context, i peers.Instance, f func() error) (p99 float64, err error) {
	load, err := openFlow(ctx, i, flowOptions{queue: b.queue(), size: bodySize, durable: true, window: math.MaxInt64, rate: syncRate})
	if err != nil {
		return 0, err
	}
	pause(ctx, settle)
	load.noting.Store(true)
	err = f()
	if err = errors.Join(err, load.close()); err != nil {
		return 0, err
	}
	return load.times.at(99), nil
}

// fill sends durable messages of together so many bytes that nobody receives.
func fill(ctx context.Context, i peers.Instance, queue string, bytes int64) (err error) {
	cfg, err := clientConfig(i)
	if err != nil {
		return err
	}
	l, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.createQueue(ctx, queue); err != nil {
		return err
	}
	producer, err := l.session.NewProducer(ctx, queue)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	room, answers, want := make(chan struct{}, syncPending), atomic.Int64{}, bytes/syncBody
	encoded := newBuilder(queue, syncBody, true).AppendTo(nil)
	for range want {
		select {
		case room <- struct{}{}:
		default:
			l.session.Flush()
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return fmt.Errorf("fill %s: %w", queue, context.Cause(ctx))
			}
		}
		err := producer.SendEncodedAsync(ctx, encoded, func(err error) {
			if err != nil {
				cancel(err)
			}
			answers.Add(1)
			<-room
		})
		if err != nil {
			return fmt.Errorf("fill %s: %w", queue, err)
		}
	}
	l.session.Flush()
	for answers.Load() < want {
		if !pause(ctx, time.Millisecond) {
			return fmt.Errorf("fill %s: %w", queue, context.Cause(ctx))
		}
	}
	return context.Cause(ctx)
}

// sizeOf adds up all files below a folder.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the broker has just removed it
		}
		if err == nil {
			size += i.Size()
		}
		return err
	})
	return size, err
}
