package drill

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// retryInterval is how long a client that no node takes waits before it tries them again.
const retryInterval = 50 * time.Millisecond

// A station is where one client of the workload stands: it has a connection to whichever node serves, and makes another when that is lost.
type station struct {
	r      *Run
	d      Dialer
	name   string
	queues []*Queue // made anew where they are missing
	next   int      // URL to try first

	conn    Client
	changed bool // the connection is another one than when this was cleared
}

// client returns the connection, making one if there is none. It gives up when ctx ends.
func (s *station) client(ctx context.Context) (Client, error) {
	if s.conn != nil && !s.conn.Lost() {
		return s.conn, nil
	}
	s.close()
	for {
		c, err := s.dial(ctx)
		if err == nil {
			s.conn, s.changed = c, true
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("drill: %s: %w", s.name, errors.Join(context.Cause(ctx), err))
		}
		timer := time.NewTimer(retryInterval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// dial tries each node once.
func (s *station) dial(ctx context.Context) (Client, error) {
	var errs []error
	for range s.r.w.URLs {
		url := s.r.w.URLs[s.next%len(s.r.w.URLs)]
		c, err := s.d.Dial(ctx, url)
		if err == nil {
			if err = s.prepare(ctx, c); err == nil {
				s.r.w.Log(s.name + " is connected to " + NodeName(url))
				return c, nil
			}
			c.Close()
		}
		errs = append(errs, err)
		s.next++
	}
	return nil, errors.Join(errs...)
}

func (s *station) prepare(ctx context.Context, c Client) error {
	for _, q := range s.queues {
		if err := c.Create(ctx, *q); err != nil {
			return err
		}
	}
	return nil
}

// failed looks after the connection following an error.
func (s *station) failed(err error) {
	if err != nil && s.conn != nil && s.conn.Lost() {
		s.r.w.Log(fmt.Sprintf("%s lost its connection: %v", s.name, err))
		s.close()
	}
}

// term is who answers now.
func (s *station) term() Term {
	if s.conn == nil {
		return 0
	}
	return s.r.history.Term(s.conn.Node())
}

func (s *station) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}
