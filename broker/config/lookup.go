package config

// Connector returns the connector of that name, or nil.
func (c *Config) Connector(name string) *Transport { return transportNamed(c.Connectors, name) }

// Acceptor returns the acceptor of that name, or nil.
func (c *Config) Acceptor(name string) *Transport { return transportNamed(c.Acceptors, name) }

func transportNamed(list []Transport, name string) *Transport {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// EffectiveGlobalMaxSize returns the bound on the bytes of all addresses:
// global-max-size if set, else the configured percentage of heap, else, when heap
// is 0 because nobody set one, a quarter of memory, which is the smaller of the
// machine's and the cgroup's. 0 is returned when nothing is known.
func (c *Config) EffectiveGlobalMaxSize(heap, memory Bytes) Bytes {
	switch {
	case c.GlobalMaxSize > 0:
		return c.GlobalMaxSize
	case heap > 0:
		percent := Bytes(c.GlobalMaxSizePercentOfHeap)
		return heap/100*percent + heap%100*percent/100
	}
	return memory / 4
}
