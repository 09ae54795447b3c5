package main

import (
	"context"
	"errors"
	"os"
	"time"
)

// started is how long after its start a broker's memory is read.
const started = time.Second

// startup starts a new instance twice: the first start makes the journal's files.
func startup(ctx context.Context, b *bench, s *side) (values, error) {
	i, err := s.create(ctx, b.queue())
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(i.Dir)
	first, err := s.start(ctx, i)
	if err != nil {
		return nil, err
	}
	if err := first.Stop(); err != nil {
		return nil, err
	}
	p, err := s.start(ctx, i)
	if err != nil {
		return nil, err
	}
	pause(ctx, started)
	u, err := p.Usage()
	if err = errors.Join(err, p.Stop()); err != nil {
		return nil, err
	}
	return values{"first-start": millis(first.StartTook), "start": millis(p.StartTook), "rss": mib(u.Resident)}, nil
}
