package journal

import "math/bits"

// liveMap knows, for every live record id, which files hold its add and its updates, and how many bytes they take there.
//
// It holds no pointers and about 30 bytes per id, so that millions of live messages cost the garbage collector nothing.
// It is split into shards, so that growing never moves more than a small part while the append lock is held.
//
// The common case, an add and an update in the same file, is one entry. Further files hang in a chain of nodes.
type liveMap struct {
	shards [256]liveShard
	nodes  nodePool
	n      int
}

// charge: the file in slot holds n records of an id, size bytes in all.
type charge struct {
	slot uint32
	n    uint32
	size uint32
}

type liveEntry struct {
	id int64
	charge
	more uint32 // node of the next charge; 0 none
}

type liveShard struct {
	slots []liveEntry // open addressing, linear probing; n == 0 marks an empty slot
	used  int
}

func hashID(id int64) uint64 {
	h := uint64(id) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func (m *liveMap) shard(id int64) (*liveShard, uint64) {
	h := hashID(id)
	return &m.shards[h>>56], h
}

// find returns the entry of id, or nil. It stays valid until the next insert or removal.
func (m *liveMap) find(id int64) *liveEntry {
	s, h := m.shard(id)
	if len(s.slots) == 0 {
		return nil
	}
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; s.slots[i].n != 0; i = (i + 1) & mask {
		if s.slots[i].id == id {
			return &s.slots[i]
		}
	}
	return nil
}

// add charges size bytes in the file in slot to id, which becomes live if it was not.
func (m *liveMap) add(id int64, slot, size uint32) {
	s, h := m.shard(id)
	if s.used*5 >= len(s.slots)*4 {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for ; s.slots[i].n != 0; i = (i + 1) & mask {
		if e := &s.slots[i]; e.id == id {
			m.charge(e, charge{slot, 1, size})
			return
		}
	}
	s.slots[i] = liveEntry{id: id, charge: charge{slot, 1, size}}
	s.used++
	m.n++
}

// charge adds c to an entry.
func (m *liveMap) charge(e *liveEntry, c charge) {
	if e.slot == c.slot {
		e.n += c.n
		e.size += c.size
		return
	}
	for i := e.more; i != 0; {
		n := m.nodes.at(i)
		if n.slot == c.slot {
			n.n += c.n
			n.size += c.size
			return
		}
		i = n.next
	}
	i := m.nodes.get()
	*m.nodes.at(i) = liveNode{c, e.more}
	e.more = i
}

// each calls f with every charge of e.
func (m *liveMap) each(e *liveEntry, f func(charge)) {
	f(e.charge)
	for i := e.more; i != 0; {
		n := m.nodes.at(i)
		f(n.charge)
		i = n.next
	}
}

// remove takes id out and calls f with its charges. It tells whether id was live.
func (m *liveMap) remove(id int64, f func(charge)) bool {
	e := m.find(id)
	if e == nil {
		return false
	}
	f(e.charge)
	for i := e.more; i != 0; {
		n := m.nodes.at(i)
		f(n.charge)
		next := n.next
		m.nodes.put(i)
		i = next
	}
	s, _ := m.shard(id)
	s.delete(e)
	m.n--
	return true
}

// delete empties a slot and moves back the entries that probed past it.
func (s *liveShard) delete(e *liveEntry) {
	mask := uint64(len(s.slots) - 1)
	hole := hashID(e.id) & mask
	for &s.slots[hole] != e {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; s.slots[i].n != 0; i = (i + 1) & mask {
		home := hashID(s.slots[i].id) & mask
		if (i-home)&mask >= (i-hole)&mask {
			s.slots[hole] = s.slots[i]
			hole = i
		}
	}
	s.slots[hole] = liveEntry{}
	s.used--
	if n := len(s.slots); n > 64 && s.used*8 < n {
		s.resize(n / 2)
	}
}

func (s *liveShard) grow() { s.resize(max(8, 2*len(s.slots))) }

func (s *liveShard) resize(n int) {
	old := s.slots
	s.slots = make([]liveEntry, n)
	mask := uint64(n - 1)
	for _, e := range old {
		if e.n == 0 {
			continue
		}
		i := hashID(e.id) & mask
		for s.slots[i].n != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = e
	}
}

// nodePool hands out list nodes by number, in blocks, so that growing copies nothing. Number 0 is never handed out.
type nodePool struct {
	blocks []*[nodeBlock]liveNode
	free   uint32 // first of a list of free nodes
	next   uint32 // first number never used
}

const nodeBlock = 1 << 12

type liveNode struct {
	charge
	next uint32
}

func (p *nodePool) at(i uint32) *liveNode { return &p.blocks[i/nodeBlock][i%nodeBlock] }

func (p *nodePool) get() uint32 {
	if i := p.free; i != 0 {
		p.free = p.at(i).next
		return i
	}
	p.next = max(p.next, 1)
	if int(p.next/nodeBlock) == len(p.blocks) {
		p.blocks = append(p.blocks, new([nodeBlock]liveNode))
	}
	p.next++
	return p.next - 1
}

func (p *nodePool) put(i uint32) {
	p.at(i).next = p.free
	p.free = i
}

// idSet is a set of ids without pointers.
type idSet struct {
	slots []int64
	used  int
	zero  bool // holds id 0, which marks an empty slot
}

func (s *idSet) has(id int64) bool {
	if id == 0 || len(s.slots) == 0 {
		return id == 0 && s.zero
	}
	mask := uint64(len(s.slots) - 1)
	for i := hashID(id) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if s.slots[i] == id {
			return true
		}
	}
	return false
}

func (s *idSet) add(id int64) {
	if id == 0 {
		s.zero = true
		return
	}
	if s.used*4 >= len(s.slots)*3 {
		old := s.slots
		s.slots = make([]int64, 1<<bits.Len(uint(max(4, len(old)))))
		s.used = 0
		for _, v := range old {
			if v != 0 {
				s.put(v)
			}
		}
	}
	s.put(id)
}

func (s *idSet) put(id int64) {
	mask := uint64(len(s.slots) - 1)
	i := hashID(id) & mask
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		if s.slots[i] == id {
			return
		}
	}
	s.slots[i] = id
	s.used++
}
