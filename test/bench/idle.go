package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// idleSettle is how long connections stay idle before the broker's memory is read: a broker may take some seconds to notice.
const idleSettle = 8 * time.Second

// idle finds what a connection costs that is logged in, has a session and does nothing.
func idle(ctx context.Context, b *bench, s *side) (_ values, err error) {
	i, err := s.create(ctx, b.queue())
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(i.Dir)
	p, err := s.start(ctx, i)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stopIfRunning(p)) }()
	cfg, err := clientConfig(i)
	if err != nil {
		return nil, err
	}
	var open []*link
	defer func() {
		for _, l := range open {
			l.close()
		}
	}()
	connectMore := func(n int) error {
		for range n {
			l, err := connect(ctx, cfg)
			if err != nil {
				return fmt.Errorf("connection %d: %w", len(open)+1, err)
			}
			open = append(open, l)
		}
		if !pause(ctx, idleSettle) {
			return context.Cause(ctx)
		}
		return nil
	}
	if err := connectMore(1); err != nil { // what the first one loads is not its own
		return nil, err
	}
	before, err := p.Usage()
	if err != nil {
		return nil, err
	}
	if err := connectMore(b.Idle); err != nil {
		return nil, err
	}
	after, err := p.Usage()
	if err != nil {
		return nil, err
	}
	each := float64(after.Resident-before.Resident) / float64(b.Idle) / (1 << 10)
	return values{"connections": float64(b.Idle), "connection": each}, nil
}
