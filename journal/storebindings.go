package journal

import (
	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal/bindings"
)

// The bindings part of the store: every call is one operation on the bindings journal, waited for.

// signal is a Waiter for a goroutine that waits.
type signal chan struct{}

func (s signal) Stored() { close(s) }

// bind appends an operation to the bindings journal and waits until it is stored and, with a replica, confirmed.
func (s *Store) bind(f func(r *bindingAppender)) error {
	a, err := s.bindings.Begin(Wait)
	if err != nil {
		return err
	}
	r := &bindingAppender{a: a, keep: s.tapped.Load()}
	f(r)
	stored := make(signal)
	if _, err := a.Commit(stored, true); err != nil {
		return err
	}
	if err := s.await(stored); err != nil {
		return err
	}
	return s.replicate(r.ops)
}

// await waits for a waiter; it gives up when the store has failed.
func (s *Store) await(stored signal) error {
	select {
	case <-stored:
		return nil
	case <-s.failed:
		return s.failure
	}
}

// replicate puts operations that are stored into the messages' stream, where a tap sees them in order, and waits for the
// replica.
func (s *Store) replicate(ops []broker.BindingOp) error {
	if len(ops) == 0 {
		return nil
	}
	stored := make(signal)
	err := s.step(Wait, stored, func(t broker.Tap, mark func() broker.Mark) {
		for _, op := range ops {
			t.Binding(mark(), op)
		}
	})
	if err != nil {
		return err
	}
	return s.await(stored)
}

// step lets the tap, if there is one, see something in the order of the stream.
func (s *Store) step(m Mode, w Waiter, f func(t broker.Tap, mark func() broker.Mark)) error {
	a, err := s.messages.Begin(m)
	if err != nil {
		return err
	}
	if s.tap != nil {
		f(s.tap, func() broker.Mark { a.Step(); return broker.Mark(a.End()) })
	}
	_, err = a.Commit(w, true)
	return err
}

// bindingAppender encodes records of the bindings journal, and remembers them for a tap.
type bindingAppender struct {
	a    *Appender
	keep bool
	ops  []broker.BindingOp
}

func (r *bindingAppender) op(kind Kind, tx, id int64, userType byte, payload []byte) {
	switch kind {
	case Add:
		copy(r.a.Add(id, userType, len(payload)), payload)
	case AddTx:
		copy(r.a.AddTx(tx, id, userType, len(payload)), payload)
	case UpdateTx:
		copy(r.a.UpdateTx(tx, id, userType, len(payload)), payload)
	case DeleteTx:
		r.a.DeleteTx(tx, id)
	case Delete:
		if r.a.Delete(id) != nil {
			return // gone already
		}
	case Commit:
		r.a.CommitTx(tx)
	}
	if r.keep {
		r.ops = append(r.ops, broker.BindingOp{Kind: byte(kind), ID: id, Tx: tx, Type: userType, Payload: payload})
	}
}

// bindTx is bind with a transaction of one record.
func (s *Store) bindTx(kind Kind, id int64, userType byte, payload []byte) error {
	tx := s.ids.Next()
	return s.bind(func(r *bindingAppender) {
		r.op(kind, tx, id, userType, payload)
		r.op(Commit, tx, 0, 0, nil)
	})
}

// StoreAddress implements broker.Bindings, as all methods here.
func (s *Store) StoreAddress(a broker.AddressRecord) error {
	return s.bindTx(AddTx, a.ID, bindings.TypeAddress, bindings.AppendAddress(nil, &a))
}

func (s *Store) ReplaceAddress(old int64, a broker.AddressRecord) error {
	tx := s.ids.Next()
	return s.bind(func(r *bindingAppender) {
		r.op(DeleteTx, tx, old, 0, nil)
		r.op(AddTx, tx, a.ID, bindings.TypeAddress, bindings.AppendAddress(nil, &a))
		r.op(Commit, tx, 0, 0, nil)
	})
}

func (s *Store) UpdateAddress(a broker.AddressRecord) error {
	return s.bindTx(UpdateTx, a.ID, bindings.TypeAddress, bindings.AppendAddress(nil, &a))
}

func (s *Store) DeleteAddress(id int64) error { return s.bindTx(DeleteTx, id, 0, nil) }

func (s *Store) StoreQueue(q broker.QueueRecord) error {
	return s.bindTx(AddTx, q.ID, bindings.TypeQueue, bindings.AppendQueue(nil, &q))
}

func (s *Store) UpdateQueue(q broker.QueueRecord) error {
	return s.bindTx(UpdateTx, q.ID, bindings.TypeQueue, bindings.AppendQueue(nil, &q))
}

func (s *Store) DeleteQueue(id int64) error { return s.bindTx(DeleteTx, id, 0, nil) }

func (s *Store) StorePause(kind broker.PauseKind, id int64) (record int64, err error) {
	userType := byte(bindings.TypeQueueStatus)
	if kind == broker.PausedAddress {
		userType = bindings.TypeAddressStatus
	}
	record = s.ids.Next()
	return record, s.bind(func(r *bindingAppender) {
		r.op(Add, 0, record, userType, bindings.AppendStatus(nil, bindings.Status{Of: id, Paused: true}))
	})
}

func (s *Store) DeleteBinding(record int64) error {
	return s.bind(func(r *bindingAppender) { r.op(Delete, 0, record, 0, nil) })
}

func (s *Store) StoreConfig(c broker.StoredConfig) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	key := configKey{c.Kind, c.Key}
	old, id := s.configs[key], s.ids.Next()
	payload := bindings.AppendConfig(nil, &c)
	err := s.bind(func(r *bindingAppender) {
		if len(old) == 0 {
			r.op(Add, 0, id, bindings.TypeOf(c.Kind), payload)
			return
		}
		tx := s.ids.Next()
		for _, o := range old {
			r.op(DeleteTx, tx, o, 0, nil)
		}
		r.op(AddTx, tx, id, bindings.TypeOf(c.Kind), payload)
		r.op(Commit, tx, 0, 0, nil)
	})
	if err == nil {
		s.configs[key] = []int64{id}
	}
	return err
}

func (s *Store) DeleteConfig(kind broker.ConfigKind, key string) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	old := s.configs[configKey{kind, key}]
	if len(old) == 0 {
		return nil
	}
	err := s.bind(func(r *bindingAppender) {
		for _, o := range old {
			r.op(Delete, 0, o, 0, nil)
		}
	})
	if err == nil {
		delete(s.configs, configKey{kind, key})
	}
	return err
}

// storeIDs stores a reservation of ids.
func (s *Store) storeIDs(record, value int64) error {
	return s.bind(func(r *bindingAppender) {
		r.op(Add, 0, record, bindings.TypeIDCounter, bindings.AppendIDCounter(nil, value))
	})
}
