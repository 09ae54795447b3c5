package broker

import (
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
)

// Bodies of large messages reach the disk before the message's record, and that sync takes milliseconds. A session does not
// stand still meanwhile: the sync is done by a goroutine of its own, which stores the message afterwards, while the session
// takes the next body. Nothing but the beginning of bodies may pass: whoever hands requests to a session waits with all
// others until Unstored is false, so that messages are stored in the order in which they were sent.

// maxUnstored is how many messages of a session may wait for their bodies. More would only queue up at the disk.
const maxUnstored = 4

// unstored are a session's messages whose bodies are being synced, in the order in which they were sent.
type unstored struct {
	list []*outcome // guarded by the session's lock
	gone sync.Cond  // on the session's lock: the list has become shorter

	storing sync.Mutex // who appends the first of the list; outside the session's lock
}

// BeginLarge begins a large message: its id and where its body goes. An unfinished one is dropped.
func (s *Session) BeginLarge(durable bool) (int64, BodyWriter, error) {
	s.AbortLarge()
	id := s.b.store.NextID()
	body, err := s.b.store.CreateBody(id, durable)
	s.large = body
	return id, body, err
}

// EndLarge forgets the unfinished body: it has become a message, and SendOptions.Body.
func (s *Session) EndLarge() { s.large = nil }

// AbortLarge drops the unfinished large message.
func (s *Session) AbortLarge() {
	if s.large != nil {
		s.large.Abort()
		s.large = nil
	}
}

// Unstored tells whether messages wait for their bodies to be synced: until they are stored, only bodies may begin and grow.
func (s *Session) Unstored() bool { return s.waiting.Load() > 0 }

// WaitStored waits until no message waits for its body.
func (s *Session) WaitStored() { s.waitUnstored(0) }

func (s *Session) waitUnstored(most int) {
	if int(s.waiting.Load()) <= most {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for int(s.waiting.Load()) > most {
		s.unstored.gone.Wait()
	}
}

// syncBody has the body of a message that is about to be sent synced, at once or behind (then it stays in o.Body).
// ErrBlocks: not here.
func (s *Session) syncBody(m *message.Message, rt *route, o *SendOptions) error {
	if !m.IsDurable() {
		o.Body = nil // Sync would do nothing
		return nil
	}
	alone := rt.simple != nil && !s.inTx() && !(m.Has(message.HasDuplicateID) && rt.address.dups.size > 0)
	switch {
	case !s.MayBlock && (!alone || s.waiting.Load() >= maxUnstored):
		return ErrBlocks
	case alone:
		s.waitUnstored(maxUnstored - 1)
		return nil
	}
	s.WaitStored()
	body := o.Body
	o.Body = nil
	return body.Sync()
}

// storeBehind stores a message outside a transaction once its body is synced, after those sent before it.
func (s *Session) storeBehind(out *outcome) {
	s.mu.Lock()
	s.push(out)
	if s.unstored == nil {
		s.unstored = &unstored{}
		s.unstored.gone.L = &s.mu
	}
	s.unstored.list = append(s.unstored.list, out)
	s.waiting.Add(1)
	s.mu.Unlock()
	s.b.syncing.Go(func() {
		err := out.body.Sync()
		s.mu.Lock()
		out.synced, out.err = true, err
		s.mu.Unlock()
		s.storeSynced()
	})
}

// storeSynced stores the messages at the head of the list whose bodies are synced.
func (s *Session) storeSynced() {
	u := s.unstored
	u.storing.Lock()
	defer u.storing.Unlock()
	w := s.b.NewWork()
	for {
		s.mu.Lock()
		var out *outcome
		if len(u.list) > 0 && u.list[0].synced {
			out = u.list[0]
			u.list = u.list[1:]
		}
		s.mu.Unlock()
		if out == nil {
			break
		}
		answer, err := out.answer, out.err
		if err == nil {
			out.send.ops(w, 0)
			err = w.append(out, 0) // from here on it is the store's
		}
		if err != nil {
			s.untold(answer, err)
		}
		s.mu.Lock()
		if err != nil {
			out.done, out.err = true, err
			s.drain(w)
		}
		s.waiting.Add(-1)
		u.gone.Broadcast()
		s.mu.Unlock()
	}
	w.Flush()
}
