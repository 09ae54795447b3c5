package brokertest

import (
	"fmt"
	"slices"

	"github.com/saranga-mq/saranga/broker"
)

// bind does a change of the bindings unless it is to fail.
func (s *Store) bind(what string, subject any, do func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return broker.ErrStoreFailed
	}
	if s.failBind != nil {
		if err := s.failBind(what); err != nil {
			return err
		}
	}
	s.bindOps = append(s.bindOps, fmt.Sprint(what, " ", subject))
	do()
	return nil
}

// StoreAddress implements broker.Bindings.
func (s *Store) StoreAddress(a broker.AddressRecord) error {
	return s.bind("StoreAddress", a.Name, func() { s.addresses[a.ID] = a })
}

// ReplaceAddress implements broker.Bindings.
func (s *Store) ReplaceAddress(old int64, a broker.AddressRecord) error {
	return s.bind("ReplaceAddress", a.Name, func() {
		delete(s.addresses, old)
		s.addresses[a.ID] = a
	})
}

// UpdateAddress implements broker.Bindings.
func (s *Store) UpdateAddress(a broker.AddressRecord) error {
	return s.bind("UpdateAddress", a.Name, func() { s.addresses[a.ID] = a })
}

// DeleteAddress implements broker.Bindings.
func (s *Store) DeleteAddress(id int64) error {
	return s.bind("DeleteAddress", id, func() { delete(s.addresses, id) })
}

// StoreQueue implements broker.Bindings.
func (s *Store) StoreQueue(q broker.QueueRecord) error {
	return s.bind("StoreQueue", q.Name, func() { s.queues[q.ID] = q })
}

// UpdateQueue implements broker.Bindings.
func (s *Store) UpdateQueue(q broker.QueueRecord) error {
	return s.bind("UpdateQueue", q.Name, func() { s.queues[q.ID] = q })
}

// DeleteQueue implements broker.Bindings.
func (s *Store) DeleteQueue(id int64) error {
	return s.bind("DeleteQueue", id, func() { delete(s.queues, id) })
}

// StorePause implements broker.Bindings.
func (s *Store) StorePause(kind broker.PauseKind, id int64) (rec int64, err error) {
	err = s.bind("StorePause", id, func() {
		rec = s.newID()
		s.pauses[rec] = pause{kind, id}
	})
	return rec, err
}

// DeleteBinding implements broker.Bindings.
func (s *Store) DeleteBinding(rec int64) error {
	return s.bind("DeleteBinding", rec, func() { delete(s.pauses, rec) })
}

// StoreConfig implements broker.Bindings.
func (s *Store) StoreConfig(c broker.StoredConfig) error {
	return s.bind("StoreConfig", c.Key, func() {
		s.dropConfig(c.Kind, c.Key)
		s.configs = append(s.configs, c)
	})
}

// DeleteConfig implements broker.Bindings.
func (s *Store) DeleteConfig(kind broker.ConfigKind, key string) error {
	return s.bind("DeleteConfig", key, func() { s.dropConfig(kind, key) })
}

func (s *Store) dropConfig(kind broker.ConfigKind, key string) {
	s.configs = slices.DeleteFunc(s.configs, func(c broker.StoredConfig) bool { return c.Kind == kind && c.Key == key })
}

// Configs returns the stored settings.
func (s *Store) Configs() []broker.StoredConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.configs)
}
