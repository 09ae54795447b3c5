package drill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A producer is a client that sends, at a given rate.
type producer struct {
	station
	s        Stream
	record   *Producer
	session  Sender
	answered chan struct{} // closed by the first answer
	batches  int
	inDoubt  bool // a branch may be left prepared
	body     []byte
}

// run sends until the run is told to stop, or ctx ends. What is under way is brought to an end first.
func (p *producer) run(ctx context.Context) {
	defer p.close()
	messages := 1
	if p.s.Mode != Plain {
		messages = p.s.Batch
	}
	interval := time.Duration(float64(messages) / p.s.Rate * float64(time.Second))
	tick := time.NewTicker(max(interval, time.Microsecond))
	defer tick.Stop()
	for {
		select {
		case <-p.r.stopProducing:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch p.s.Mode {
		case Plain:
			p.send(ctx)
		case Transacted:
			p.transaction(ctx)
		case XA:
			p.branch(ctx)
		}
	}
}

// sender returns the session, making one if the connection is another.
func (p *producer) sender(ctx context.Context) (Sender, error) {
	for {
		c, err := p.client(ctx)
		if err != nil {
			return nil, err
		}
		if !p.changed {
			return p.session, nil
		}
		if p.session, err = c.Sender(ctx, p.record.Address, p.queues[0].Multicast, p.s.Mode); err == nil {
			p.changed = false
			return p.session, nil
		}
		p.r.w.Log(fmt.Sprintf("%s: %v", p.name, err))
		p.close()
		if ctx.Err() != nil {
			return nil, err
		}
	}
}

func (p *producer) message(seq uint32) Message {
	p.body = appendBody(p.body[:0], p.r.id, p.record.ID(seq), p.s.Size)
	m := Message{Body: p.body}
	if p.record.DuplicateDetection {
		m.DuplicateID = fmt.Sprintf("%s.%s.%v", magic, p.r.id, p.record.ID(seq))
	}
	return m
}

// new notes n new messages and returns the first.
func (p *producer) new(n int) (first uint32) {
	first = p.record.Send(p.r.now())
	for range n - 1 {
		p.record.Send(p.r.now())
	}
	p.r.sent.Add(uint64(n))
	return first
}

// answer notes what became of n messages.
func (p *producer) answer(first uint32, n int, o Outcome, t Term) {
	now := p.r.now()
	if o == Acknowledged {
		now = p.r.answeredNow(t)
		p.r.acknowledged.Add(uint64(n))
		select {
		case <-p.answered:
		default:
			close(p.answered)
		}
	}
	for i := range n {
		p.record.Answer(first+uint32(i), o, t, now)
	}
}

// outcome is what an error says.
func outcome(err error) Outcome {
	switch {
	case err == nil, errors.Is(err, ErrDuplicate):
		return Acknowledged
	case errors.Is(err, ErrRefused):
		return Refused
	case errors.Is(err, ErrRolledBack):
		return RolledBack
	}
	return Unknown
}

// send sends a message until it is answered.
func (p *producer) send(ctx context.Context) {
	seq := p.new(1)
	for attempt := 1; ; attempt++ {
		session, err := p.sender(ctx)
		if err != nil {
			return
		}
		if attempt > 1 {
			p.record.Again(seq, p.r.now())
		}
		t := p.term()
		err = session.Send(ctx, p.message(seq))
		o := outcome(err)
		p.answer(seq, 1, o, t)
		if o == Acknowledged || o != Unknown && attempt == 1 {
			return
		}
		p.failed(err)
		if ctx.Err() != nil {
			return
		}
	}
}

// goesBack tells, at every so manieth transaction, that it is to be rolled back.
func goesBack(n *int, every int) bool {
	*n++
	return every > 0 && *n%every == 0
}

// transaction sends a batch until it is known what became of it. A transaction of which nobody knows is made again with duplicate
// detection only: the broker refuses it then if it was committed.
func (p *producer) transaction(ctx context.Context) {
	n := p.s.Batch
	first := p.new(n)
	p.record.Transaction(Transaction{first, uint32(n)})
	back := goesBack(&p.batches, p.s.Back)
	for attempt := 1; ; attempt++ {
		session, err := p.sender(ctx)
		if err != nil {
			return
		}
		t := p.term()
		if attempt > 1 {
			for i := range n {
				p.record.Again(first+uint32(i), p.r.now())
			}
		}
		for i := range n {
			if err = session.Send(ctx, p.message(first+uint32(i))); err != nil {
				break
			}
		}
		o := RolledBack // what was not committed is
		switch {
		case err != nil && !errors.Is(err, ErrDuplicate):
			p.undo(ctx, session)
		case back && attempt == 1:
			err = session.Rollback(ctx)
		default:
			err = session.Commit(ctx)
			o = outcome(err)
		}
		p.answer(first, n, o, t)
		p.failed(err)
		switch {
		case o == Acknowledged, attempt == 1 && o != Unknown, !p.record.DuplicateDetection, ctx.Err() != nil:
			return
		}
	}
}

// undo rolls back what a session has begun. If that fails, the session has ended, and its transaction with it.
func (p *producer) undo(ctx context.Context, session Sender) {
	if err := session.Rollback(ctx); err != nil {
		p.close()
	}
}

// branch sends a batch in a distributed transaction, and finds out what became of it after a failure, as a transaction manager does.
func (p *producer) branch(ctx context.Context) {
	n := p.s.Batch
	first := p.new(n)
	p.record.Transaction(Transaction{first, uint32(n)})
	name := fmt.Sprintf("%s.%v", p.r.id, p.record.ID(first))
	commit := !goesBack(&p.batches, p.s.Back)

	session, err := p.sender(ctx)
	if err != nil {
		p.answer(first, n, RolledBack, 0) // nothing was sent
		return
	}
	err = session.Begin(ctx, name)
	for i := 0; i < n && err == nil; i++ {
		err = session.Send(ctx, p.message(first+uint32(i)))
	}
	if err != nil { // without a prepare it is never committed
		p.answer(first, n, RolledBack, 0)
		p.failed(err)
		p.close()
		return
	}
	if err = session.Prepare(ctx, name); err != nil {
		p.failed(err)
		if outcome(err) != Unknown {
			p.answer(first, n, RolledBack, 0)
			return
		}
		prepared, err := p.isPrepared(ctx, name)
		if err != nil {
			p.inDoubt = true
			p.answer(first, n, RolledBack, 0) // nobody ever commits it
			return
		}
		commit = commit && prepared
	}
	p.complete(ctx, first, n, name, commit)
}

// isPrepared asks whether a branch is.
func (p *producer) isPrepared(ctx context.Context, name string) (bool, error) {
	for {
		session, err := p.sender(ctx)
		if err != nil {
			return false, err
		}
		list, err := session.Recover(ctx)
		if err == nil {
			for _, b := range list {
				if b == name {
					return true, nil
				}
			}
			return false, nil
		}
		p.failed(err)
		if ctx.Err() != nil {
			return false, err
		}
	}
}

// complete ends a prepared branch. That a branch which was to be committed is gone means that it has been committed, by an attempt before
// this one; if there was none, its messages, for which the broker has given its word, are missed in the end.
func (p *producer) complete(ctx context.Context, first uint32, n int, name string, commit bool) {
	done := RolledBack
	if commit {
		done = Acknowledged
	}
	for {
		session, err := p.sender(ctx)
		if err != nil {
			break
		}
		t := p.term()
		err = session.Complete(ctx, name, commit)
		switch {
		case err == nil, errors.Is(err, ErrNoBranch):
			p.answer(first, n, done, t)
			return
		case errors.Is(err, ErrRolledBack):
			p.answer(first, n, RolledBack, t)
			return
		}
		p.failed(err)
		if ctx.Err() != nil {
			break
		}
	}
	p.inDoubt = true
	if !commit {
		p.answer(first, n, RolledBack, 0) // nobody ever commits it
	}
}

// abandon rolls back the branches that are still prepared.
func (p *producer) abandon(ctx context.Context) error {
	defer p.close()
	session, err := p.sender(ctx)
	if err != nil {
		return err
	}
	list, err := session.Recover(ctx)
	for _, b := range list {
		if strings.HasPrefix(b, p.r.id+".") && err == nil {
			err = session.Complete(ctx, b, false)
		}
	}
	return err
}
