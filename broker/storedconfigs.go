package broker

import (
	"slices"
	"sync"
)

// A configStore is the store as others see it: it notes the settings that management stores, so that they can be applied
// again over a configuration that is read anew.
type configStore struct {
	Store
	mu   sync.Mutex
	list []StoredConfig // oldest first
}

// StoreConfig implements Bindings.
func (s *configStore) StoreConfig(c StoredConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Store.StoreConfig(c); err != nil {
		return err
	}
	s.list = append(s.without(c.Kind, c.Key), c)
	return nil
}

// DeleteConfig implements Bindings.
func (s *configStore) DeleteConfig(kind ConfigKind, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Store.DeleteConfig(kind, key); err != nil {
		return err
	}
	s.list = s.without(kind, key)
	return nil
}

func (s *configStore) without(kind ConfigKind, key string) []StoredConfig {
	return slices.DeleteFunc(s.list, func(c StoredConfig) bool { return c.Kind == kind && c.Key == key })
}

// loaded notes a setting that was found in the store.
func (s *configStore) loaded(c StoredConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.without(c.Kind, c.Key), c)
}

// StoredConfigs returns the settings that management has made, oldest first.
func (b *Broker) StoredConfigs() []StoredConfig {
	b.configs.mu.Lock()
	defer b.configs.mu.Unlock()
	return slices.Clone(b.configs.list)
}
