package tree

import (
	"cmp"
	"hash/maphash"
)

// omap is an ordered map that shares what it can with its older copies: a treap whose entries carry the generation that made them. A change in
// generation g changes entries of g in place and copies older ones, so a copy of the omap value taken before the generation was
// raised never changes. All operations but ascend take O(log n).
//
// Priorities are hashes with a seed of the process, so nobody can choose keys that make it deep. They decide about the shape only, never about
// what comes out.
type omap[K cmp.Ordered, V any] struct {
	root *entry[K, V]
	n    int
}

type entry[K cmp.Ordered, V any] struct {
	key         K
	value       V
	generation  uint64
	priority    uint64
	left, right *entry[K, V]
}

var seed = maphash.MakeSeed()

func (m *omap[K, V]) len() int { return m.n }

func (m *omap[K, V]) get(key K) (V, bool) {
	e := m.root
	for e != nil && e.key != key {
		if key < e.key {
			e = e.left
		} else {
			e = e.right
		}
	}
	if e == nil {
		var none V
		return none, false
	}
	return e.value, true
}

// set stores a value under a key.
func (m *omap[K, V]) set(generation uint64, key K, value V) {
	if _, ok := m.get(key); ok {
		m.root = replace(m.root, generation, key, value)
		return
	}
	m.root = insert(m.root, &entry[K, V]{key: key, value: value, generation: generation, priority: maphash.Comparable(seed, key)})
	m.n++
}

// remove drops a key, if it is there.
func (m *omap[K, V]) remove(generation uint64, key K) {
	if _, ok := m.get(key); ok {
		m.root = remove(m.root, generation, key)
		m.n--
	}
}

// ascend calls f in the order of the keys until it answers false. The map must not change meanwhile.
func (m *omap[K, V]) ascend(f func(K, V) bool) { m.root.ascend(f) }

func (e *entry[K, V]) ascend(f func(K, V) bool) bool {
	return e == nil || e.left.ascend(f) && f(e.key, e.value) && e.right.ascend(f)
}

// own is the entry to change in a generation: itself, or a copy.
func (e *entry[K, V]) own(generation uint64) *entry[K, V] {
	if e.generation == generation {
		return e
	}
	c := *e
	c.generation = generation
	return &c
}

// replace gives a key that is there another value.
func replace[K cmp.Ordered, V any](e *entry[K, V], generation uint64, key K, value V) *entry[K, V] {
	e = e.own(generation)
	switch {
	case key < e.key:
		e.left = replace(e.left, generation, key, value)
	case key > e.key:
		e.right = replace(e.right, generation, key, value)
	default:
		e.value = value
	}
	return e
}

// insert adds an entry whose key is not there.
func insert[K cmp.Ordered, V any](e, add *entry[K, V]) *entry[K, V] {
	if e == nil {
		return add
	}
	if add.priority > e.priority {
		add.left, add.right = split(e, add.generation, add.key)
		return add
	}
	e = e.own(add.generation)
	if add.key < e.key {
		e.left = insert(e.left, add)
	} else {
		e.right = insert(e.right, add)
	}
	return e
}

// split parts the entries below a key from those above.
func split[K cmp.Ordered, V any](e *entry[K, V], generation uint64, key K) (below, above *entry[K, V]) {
	if e == nil {
		return nil, nil
	}
	e = e.own(generation)
	if e.key < key {
		e.right, above = split(e.right, generation, key)
		return e, above
	}
	below, e.left = split(e.left, generation, key)
	return below, e
}

// remove drops a key that is there.
func remove[K cmp.Ordered, V any](e *entry[K, V], generation uint64, key K) *entry[K, V] {
	if e.key == key {
		return join(e.left, e.right, generation)
	}
	e = e.own(generation)
	if key < e.key {
		e.left = remove(e.left, generation, key)
	} else {
		e.right = remove(e.right, generation, key)
	}
	return e
}

// join puts two treaps together, all keys of the first below those of the second.
func join[K cmp.Ordered, V any](a, b *entry[K, V], generation uint64) *entry[K, V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		a = a.own(generation)
		a.right = join(a.right, b, generation)
		return a
	}
	b = b.own(generation)
	b.left = join(a, b.left, generation)
	return b
}
