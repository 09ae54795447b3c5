package journal

import (
	"fmt"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal/bindings"
)

// The bindings part of the store: every call is one operation on the bindings journal, waited for.

// signal is a Waiter for a goroutine that waits.
type signal chan struct{}

func (s signal) Stored() { close(s) }

// bind appends an operation to the bindings journal and waits until it is stored and, with a replica, confirmed.
func (s *Store) bind(f func(r bindingAppender)) error {
	a, err := s.bindings.Begin(Wait)
	if err != nil {
		return err
	}
	f(bindingAppender{a})
	stored := make(signal)
	if _, err := a.Commit(stored, true); err != nil {
		return err
	}
	return s.await(stored)
}

// await waits for a waiter; it gives up when the store has failed, or when nobody will be told any more.
func (s *Store) await(stored signal) error {
	select {
	case <-stored:
		return nil
	case <-s.failed:
		return s.failure
	case <-s.over:
	}
	select {
	case <-stored:
		return nil
	default:
		return fmt.Errorf("%w before the change was confirmed", ErrClosed)
	}
}

// bindingAppender encodes records of the bindings journal.
type bindingAppender struct{ *Appender }

func (r bindingAppender) op(kind Kind, tx, id int64, userType byte, payload []byte) {
	switch kind {
	case Add:
		copy(r.Add(id, userType, len(payload)), payload)
	case AddTx:
		copy(r.AddTx(tx, id, userType, len(payload)), payload)
	case UpdateTx:
		copy(r.UpdateTx(tx, id, userType, len(payload)), payload)
	case DeleteTx:
		r.DeleteTx(tx, id)
	case Delete:
		_ = r.Delete(id) // gone already
	case Commit:
		r.CommitTx(tx)
	}
}

// bindTx is bind with a transaction of one record.
func (s *Store) bindTx(kind Kind, id int64, userType byte, payload []byte) error {
	tx := s.ids.Next()
	return s.bind(func(r bindingAppender) {
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
	return s.bind(func(r bindingAppender) {
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
	return record, s.bind(func(r bindingAppender) {
		r.op(Add, 0, record, userType, bindings.AppendStatus(nil, bindings.Status{Of: id, Paused: true}))
	})
}

func (s *Store) DeleteBinding(record int64) error {
	return s.bind(func(r bindingAppender) { r.op(Delete, 0, record, 0, nil) })
}

func (s *Store) StoreConfig(c broker.StoredConfig) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	key := configKey{c.Kind, c.Key}
	old, id := s.configs[key], s.ids.Next()
	payload := bindings.AppendConfig(nil, &c)
	err := s.bind(func(r bindingAppender) {
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
	err := s.bind(func(r bindingAppender) {
		for _, o := range old {
			r.op(Delete, 0, o, 0, nil)
		}
	})
	if err == nil {
		delete(s.configs, configKey{kind, key})
	}
	return err
}

// storeIDs stores a reservation of ids. It waits for the disk only: a replica gets it before anything that uses the ids. It
// may be called by a waiter, on the goroutine that confirms.
func (s *Store) storeIDs(record, value int64) error {
	a, err := s.bindings.Begin(Reserve)
	if err != nil {
		return err
	}
	copy(a.Add(record, bindings.TypeIDCounter, 8), bindings.AppendIDCounter(nil, value))
	if _, err := a.Commit(nil, false); err != nil {
		return err
	}
	return s.bindings.Flush()
}
