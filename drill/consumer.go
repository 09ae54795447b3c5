package drill

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// receiveWait is how long a consumer waits for a message before it looks whether it is to end.
const receiveWait = 200 * time.Millisecond

// A consumer is a client that receives from a queue.
type consumer struct {
	station
	s       Stream
	record  *Consumer
	mode    Mode
	first   bool // it drains the queue in the end
	session Receiver
	batches int
}

// run receives until the run is told to stop, or ctx ends.
func (c *consumer) run(ctx context.Context) {
	defer c.close()
	if c.s.Backlog {
		select {
		case <-c.r.stopConsuming:
		case <-ctx.Done():
		}
		return
	}
	for {
		select {
		case <-c.r.stopConsuming:
			return
		case <-ctx.Done():
			return
		default:
		}
		session, err := c.receiver(ctx, c.mode)
		if err != nil {
			return
		}
		if c.mode == Transacted {
			c.transaction(ctx, session)
			continue
		}
		body, err := session.Receive(ctx, receiveWait)
		if err == nil && body != nil {
			err = c.take(ctx, session, body)
		}
		c.failed(err)
	}
}

// receiver returns the session, making one if the connection is another.
func (c *consumer) receiver(ctx context.Context, m Mode) (Receiver, error) {
	for {
		x, err := c.client(ctx)
		if err != nil {
			return nil, err
		}
		if !c.changed {
			return c.session, nil
		}
		if c.session, err = x.Receiver(ctx, *c.record.Queue, m); err == nil {
			c.changed = false
			return c.session, nil
		}
		c.r.w.Log(fmt.Sprintf("%s: %v", c.name, err))
		c.close()
		if ctx.Err() != nil {
			return nil, err
		}
	}
}

// note notes a delivery; ok is false if it is none of ours.
func (c *consumer) note(body []byte) (receipt int, ok bool) {
	id, err := parseBody(body, c.r.id)
	if errors.Is(err, errStranger) {
		c.record.Stranger(string(body[:min(len(body), 80)]))
		return 0, false
	}
	c.r.received.Add(1)
	receipt = c.record.Receive(id, c.term(), c.r.now())
	if err != nil {
		c.record.Damaged(id)
	}
	return receipt, true
}

// take notes a delivery and acknowledges it.
func (c *consumer) take(ctx context.Context, session Receiver, body []byte) error {
	receipt, ok := c.note(body)
	t := c.term()
	err := session.Acknowledge(ctx)
	if ok {
		c.answer(receipt, receiptOutcome(err), t)
	}
	return err
}

// receiptOutcome is what an error says of an acknowledgement.
func receiptOutcome(err error) Outcome {
	if errors.Is(err, ErrReturned) {
		return Refused
	}
	return outcome(err)
}

func (c *consumer) answer(receipt int, o Outcome, t Term) {
	now := c.r.now()
	if o == Acknowledged {
		now = c.r.answeredNow(t)
		c.r.consumed.Add(1)
	}
	c.record.Answer(receipt, o, now)
}

// transaction receives a batch and commits it, or rolls it back.
func (c *consumer) transaction(ctx context.Context, session Receiver) {
	var batch []int
	t := c.term()
	var err error
	for len(batch) < c.s.Batch && err == nil {
		var body []byte
		if body, err = session.Receive(ctx, receiveWait); err != nil || body == nil {
			break
		}
		if receipt, ok := c.note(body); ok {
			batch = append(batch, receipt)
		}
		err = session.Acknowledge(ctx)
	}
	if len(batch) == 0 && err == nil {
		return
	}
	o := RolledBack // what was not committed is
	switch {
	case err != nil:
		if session.Rollback(ctx) != nil {
			c.close()
		}
	case goesBack(&c.batches, c.s.Back):
		err = session.Rollback(ctx)
	default:
		err = session.Commit(ctx)
		o = receiptOutcome(err)
	}
	for _, receipt := range batch {
		c.answer(receipt, o, t)
	}
	c.failed(err)
}

// drain takes all that is left in the queue, on every node that serves. It tries until it is done or ctx ends.
func (c *consumer) drain(ctx context.Context) error {
	c.close()
	for {
		drained := 0
		var errs []error
		for _, url := range c.r.w.URLs {
			switch err := c.drainAt(ctx, url); {
			case err == nil:
				drained++
			case !errors.Is(err, errNotServing):
				drained = -len(c.r.w.URLs) // messages may be left there
				errs = append(errs, err)
			default:
				errs = append(errs, err)
			}
		}
		if drained > 0 {
			c.record.Queue.Drained = true
			return nil
		}
		timer := time.NewTimer(retryInterval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("drill: drain %s: %w", c.record.Queue.Name, errors.Join(append(errs, context.Cause(ctx))...))
		}
	}
}

// errNotServing is a node that takes no clients.
var errNotServing = errors.New("does not serve")

func (c *consumer) drainAt(ctx context.Context, url string) error {
	x, err := c.d.Dial(ctx, url)
	if err != nil {
		return fmt.Errorf("%s %w: %w", url, errNotServing, err)
	}
	c.conn = x
	defer c.close()
	if err := c.prepare(ctx, x); err != nil {
		return err
	}
	session, err := x.Receiver(ctx, *c.record.Queue, Plain)
	if err != nil {
		return err
	}
	for {
		body, err := session.Receive(ctx, 0)
		if err != nil {
			return err
		}
		if body == nil {
			return nil
		}
		if err := c.take(ctx, session, body); err != nil && !errors.Is(err, ErrReturned) {
			return err
		}
	}
}
