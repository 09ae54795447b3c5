package broker

import (
	"slices"
	"sync"
)

// An outcome is a request whose answer waits: for the store, or behind one that does. While it waits for the store it is
// the store's Waiter.
type outcome struct {
	s      *Session
	next   *outcome
	done   bool
	stored bool // by a batch of the store that is over or at work
	err    error
	send   send
	body   BodyWriter // of send's message, to be synced before it is stored; nil: none
	synced bool       // that is done
	tx     *Tx        // committed
	branch *Tx        // prepared
	answer Answer
}

var outcomes = sync.Pool{New: func() any { return new(outcome) }}

func newOutcome(s *Session, a Answer) *outcome {
	o := outcomes.Get().(*outcome)
	o.s, o.answer = s, a
	o.send.queues = o.send.one[:0]
	return o
}

func (o *outcome) free() {
	*o = outcome{}
	outcomes.Put(o)
}

// abortBody gives up a body that needs no sync any more.
func (o *outcome) abortBody() {
	if o.body != nil {
		o.body.Abort()
		o.body = nil
	}
}

// wait appends the collected operations with o as their waiter, behind the session's other outcomes. An error has become
// the outcome's already.
func (s *Session) wait(w *Work, o *outcome, mode AppendMode) error {
	s.mu.Lock()
	s.push(o)
	s.mu.Unlock()
	answer := o.answer
	err := w.append(o, mode)
	if err != nil {
		s.failed(answer, err)
		s.mu.Lock()
		o.done, o.err = true, err
		s.drain(w)
		s.mu.Unlock()
	}
	return err
}

func (s *Session) push(o *outcome) {
	if s.tail == nil {
		s.head = o
	} else {
		s.tail.next = o
	}
	s.tail = o
	s.pending.Add(1)
}

// now does o at once, or when those before it are done.
func (s *Session) now(w *Work, o *outcome) {
	o.done = true
	if s.pending.Load() == 0 {
		o.finish(w)
		return
	}
	s.mu.Lock()
	s.push(o)
	s.drain(w)
	s.mu.Unlock()
}

// Done answers a request that is already decided, in its turn.
func (s *Session) Done(w *Work, a Answer, err error) {
	if err != nil {
		s.failed(a, err)
	}
	if a.Kind == 0 && a.Call == nil {
		return
	}
	if s.pending.Load() == 0 {
		s.answer(w, a, err, false)
		return
	}
	o := newOutcome(s, a)
	o.done, o.err = true, err
	s.mu.Lock()
	s.push(o)
	s.drain(w)
	s.mu.Unlock()
}

// failed is called with each request that fails. What the broker itself could not do makes the transaction rollback-only;
// of what the client does not want to know the operator is told, once for each kind of error.
func (s *Session) failed(a Answer, err error) {
	e := AsError(err)
	if tx := s.tx; tx != nil && (e.Code == InternalError || e.Code == IOError) {
		tx.lock()
		tx.fail(&Error{Code: GenericException, Text: err.Error()})
		tx.unlock()
	}
	s.untold(a, err)
}

// untold is the part of failed for the operator. It may be called from any goroutine.
func (s *Session) untold(a Answer, err error) {
	e := AsError(err)
	if !a.Silent && (a.Kind != 0 || a.Call != nil) || e.Code == QueueExists {
		return // a client that comes back creates its queues again
	}
	s.mu.Lock()
	known := slices.Contains(s.unanswered, e.Code)
	if !known {
		s.unanswered = append(s.unanswered, e.Code)
	}
	s.mu.Unlock()
	if !known {
		s.b.log.Warn("AMQ224016: a request failed and its client asked for no answer; more of this kind are not reported", "session", s.Name, "remote", s.Conn().Remote, "error", err)
	}
}

// DoneStored answers when everything appended so far is stored.
func (s *Session) DoneStored(w *Work, a Answer) {
	s.wait(w, newOutcome(s, a), 0)
}

// Stored implements Waiter.
func (o *outcome) Stored() {
	s := o.s
	s.mu.Lock()
	o.done, o.stored = true, true
	s.drain(s.b.onStore())
	s.mu.Unlock()
}

// drain finishes the outcomes at the head that are done. Called with the session's lock held.
func (s *Session) drain(w *Work) {
	for s.head != nil && s.head.done {
		o := s.head
		if s.head = o.next; s.head == nil {
			s.tail = nil
		}
		o.next = nil
		o.finish(w)
		s.pending.Add(-1)
	}
}

func (o *outcome) finish(w *Work) {
	switch {
	case o.err != nil:
		o.send.abandon()
		if o.tx != nil {
			o.tx.aborted(w)
		}
		if o.branch != nil {
			o.branch.unprepared(o.err)
		}
	case o.tx != nil:
		o.tx.committed(w)
	case o.send.msg != nil:
		o.send.arrive(w)
	}
	o.s.answer(w, o.answer, o.err, o.stored)
	o.free()
}

// answer is the one place where an answer leaves. stored: it tells what a batch of the store has made true.
func (s *Session) answer(w *Work, a Answer, err error, stored bool) {
	if a.Kind == 0 && a.Call == nil {
		return
	}
	if a.Inside && s.b.failed.Load() != nil || !a.Inside && !w.mayAnswer(stored) {
		return
	}
	if a.Call != nil {
		a.Call(w)
		return
	}
	s.Client.Answer(w, a, err)
}
