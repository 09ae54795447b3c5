package crash

import (
	"context"
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// Seen is a message that a broker holds.
type Seen struct {
	ID        string
	Broker    int64 // the broker's id of it
	Priority  uint8
	Scheduled bool
}

// An Observation is everything a broker at rest holds, as clients see it.
type Observation struct {
	Queues   map[string][]Seen // in the order of a browser; scheduled ones first
	Branches []string          // in doubt
	Problems []string          // messages that are not what was sent, counts that do not add up
}

// observe reads all queues of a broker that nobody else uses.
func observe(ctx context.Context, cfg client.Config, queues []string) (*Observation, error) {
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	defer conn.Close()
	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	if err := s.Start(ctx); err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	manage, err := conn.NewManagement(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	o := &Observation{Queues: map[string][]Seen{}}
	if o.Branches, err = branches(ctx, conn); err != nil {
		return nil, err
	}
	for _, q := range queues {
		if err := o.queue(ctx, s, manage, q); err != nil {
			return nil, fmt.Errorf("observe %s: %w", q, err)
		}
	}
	return o, nil
}

// branches lists the branches in doubt by their global id.
func branches(ctx context.Context, conn *client.Conn) ([]string, error) {
	s, err := conn.NewSession(ctx, client.SessionOptions{XA: true})
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	xids, err := s.XARecover(ctx)
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	var names []string
	for _, x := range xids {
		names = append(names, x.Global)
	}
	return names, s.Close(ctx)
}

// xid is the branch of that name, which is unique.
func xid(name string) buf.Xid { return buf.Xid{FormatID: 4711, Global: name, Branch: "b"} }

func (o *Observation) queue(ctx context.Context, s *client.Session, manage *client.Management, name string) error {
	scheduled, err := listScheduled(ctx, manage, name)
	if err != nil {
		return err
	}
	known := map[int64]bool{}
	for _, m := range scheduled {
		known[m.Broker] = true
		o.Queues[name] = append(o.Queues[name], m)
	}
	c, err := s.NewConsumer(ctx, name, client.ConsumerOptions{Browse: true})
	if err != nil {
		return err
	}
	for {
		m, err := c.ReceiveTimeout(ctx, 0)
		if err != nil {
			return err
		}
		if m == nil {
			break
		}
		id, err := read(m)
		if err != nil {
			o.Problems = append(o.Problems, fmt.Sprintf("%s: %v", name, err))
		}
		v, err := m.Core()
		if err != nil {
			return err
		}
		if !known[m.ID()] { // one that has become due meanwhile has been counted
			o.Queues[name] = append(o.Queues[name], Seen{ID: id, Broker: m.ID(), Priority: v.Priority()})
		}
	}
	if err := c.Close(ctx); err != nil {
		return err
	}
	if len(o.Branches) > 0 { // what a branch holds is counted, too
		return nil
	}
	r, err := manage.Attribute(ctx, client.QueueResource(name), "MessageCount")
	if err != nil {
		return err
	}
	var n int
	if err := r.Into(&n); err != nil {
		return err
	}
	if n != len(o.Queues[name]) {
		o.Problems = append(o.Problems, fmt.Sprintf("%s counts %d messages and shows %d", name, n, len(o.Queues[name])))
	}
	return nil
}

func listScheduled(ctx context.Context, manage *client.Management, queue string) ([]Seen, error) {
	r, err := manage.Invoke(ctx, client.QueueResource(queue), "listScheduledMessagesAsJSON")
	if err != nil {
		return nil, err
	}
	// The answer is a string that holds JSON.
	var list []map[string]any
	if err := client.Result(r.Text()).Into(&list); err != nil {
		return nil, fmt.Errorf("list scheduled messages: %w", err)
	}
	var out []Seen
	for _, m := range list {
		id, _ := m[idProperty].(string)
		n, _ := m["messageID"].(float64)
		p, _ := m["priority"].(float64)
		out = append(out, Seen{ID: id, Broker: int64(n), Priority: uint8(p), Scheduled: true})
	}
	return out, nil
}

// After is what was seen as the ledger has it.
func (o *Observation) After() map[Copy]int {
	after := map[Copy]int{}
	for q, list := range o.Queues {
		for _, m := range list {
			after[Copy{q, m.ID}]++
		}
	}
	return after
}

// Order returns what is out of order in a queue of a broker that has just been started: higher priorities come first,
// and messages of one sender in the order it sent them. Those that were scheduled or sent in a branch have no place.
func Order(queue string, list []Seen) []string {
	type line struct {
		sender   string
		priority uint8
	}
	var wrong []string
	last := map[line]int{}
	before := uint8(9)
	for _, m := range list {
		if m.Scheduled || flagged(m.ID, 'S') || flagged(m.ID, 'X') {
			continue
		}
		if m.Priority > before {
			wrong = append(wrong, fmt.Sprintf("%s: %s of priority %d stands behind priority %d", queue, m.ID, m.Priority, before))
		}
		before = m.Priority
		sender, n := placeOf(m.ID)
		at := line{sender, m.Priority}
		if n <= last[at] {
			wrong = append(wrong, fmt.Sprintf("%s: %s stands behind number %d of the same sender", queue, m.ID, last[at]))
		}
		last[at] = n
	}
	return wrong
}

// drain consumes everything that can be had, until queues are empty; scheduled messages are waited for.
func drain(ctx context.Context, cfg client.Config, queues []string, got func(Copy)) error {
	cfg.BlockOnAcknowledge = true
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	defer conn.Close()
	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	if err := s.Start(ctx); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	for _, q := range queues {
		c, err := s.NewConsumer(ctx, q, client.ConsumerOptions{})
		if err != nil {
			return fmt.Errorf("drain %s: %w", q, err)
		}
		for {
			m, err := c.ReceiveTimeout(ctx, 20*time.Millisecond)
			if err != nil {
				return fmt.Errorf("drain %s: %w", q, err)
			}
			if m == nil {
				state, err := s.QueueQuery(ctx, q)
				if err != nil {
					return fmt.Errorf("drain %s: %w", q, err)
				}
				if state.MessageCount == 0 {
					break
				}
				continue
			}
			id, err := read(m)
			if err != nil {
				return fmt.Errorf("drain %s: %w", q, err)
			}
			got(Copy{q, id})
			if err := m.Ack(); err != nil {
				return fmt.Errorf("drain %s: %w", q, err)
			}
		}
		if err := c.Close(ctx); err != nil {
			return fmt.Errorf("drain %s: %w", q, err)
		}
	}
	return nil
}
