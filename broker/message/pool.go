package message

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Sizes of the slab allocator behind a Pool. There are four size classes per doubling, so a buffer wastes less than a
// fifth of its class, on average a tenth; larger buffers than maxPooled come from the garbage-collected heap.
const (
	minClassBits  = 7 // 128 bytes
	maxClassBits  = 17
	maxPooled     = 1 << maxClassBits
	classesPerBit = 4
	numClasses    = (maxClassBits-minClassBits)*classesPerBit + 1
	firstSlab     = 256 << 10 // bytes of a class's slab while it has no other
	slabBytes     = 2 << 20   // of the others: one huge page where there are such
	keepEmpty     = 1         // empty slabs a class keeps for reuse
)

// A Pool owns the memory of messages. Message bytes lie in slabs outside the garbage-collected heap (anonymous mappings
// where the platform has them): they hold no pointers, cost the collector nothing and return to the system when a slab
// is empty. Slabs are huge pages: many messages on their way would each need an address translation of its own, which
// costs a virtual machine more than copying the message. All methods may be called from any goroutine.
//
// The zero Pool is ready for use.
type Pool struct {
	// OnBreach is told of a message that was released more often than it was retained: a bug in the broker. The pool has
	// then already stopped recycling memory, so that no bytes of one message can turn up in another. Nil panics.
	OnBreach func(error)

	// Now is the time in ms since the epoch, which a time to live or a delay in an AMQP message counts from. Nil is the
	// system's clock.
	Now func() int64

	broken    atomic.Bool
	heap      atomic.Int64 // messages outside of the slabs
	heapBytes atomic.Int64
	structs   sync.Pool
	classes   [numClasses]class
}

// Live is the number of messages that are held by somebody. It takes all locks of the pool in turn.
func (p *Pool) Live() int64 {
	n, _ := p.usage()
	return n
}

// Bytes is the memory those messages occupy, in bytes of their size classes. It takes all locks of the pool in turn.
func (p *Pool) Bytes() int64 {
	_, bytes := p.usage()
	return bytes
}

func (p *Pool) usage() (messages, bytes int64) {
	messages, bytes = p.heap.Load(), p.heapBytes.Load()
	for c := range p.classes {
		cl := &p.classes[c]
		cl.mu.Lock()
		n := int64(cl.used)
		cl.mu.Unlock()
		messages += n
		bytes += n * int64(classSize(c))
	}
	return messages, bytes
}

type class struct {
	mu      sync.Mutex
	partial []*slab                       // slabs with at least one free slot; the last is used first
	slabs   int                           // all of them
	empty   int                           // slabs in partial with nothing in use
	used    int                           // slots in use
	_       [64 - 8 - 24 - 8 - 8 - 8]byte // a cache line of its own
}

// A slab is one mapping cut into slots of one size. pos is its index in class.partial, or -1 while it is full.
type slab struct {
	class  *class
	mem    []byte
	mapped bool
	size   int
	free   []uint32
	slots  int
	pos    int
}

// classOf returns the size class that holds n bytes, n in 1…maxPooled.
func classOf(n int) int {
	if n <= 1<<minClassBits {
		return 0
	}
	b := bits.Len(uint(n-1)) - 1 // 2^b < n <= 2^(b+1)
	step := uint(b) - 2          // a quarter of 2^b
	return (b-minClassBits)*classesPerBit + (n-1-1<<b)>>step + 1
}

// classSize returns the slot size of class c in bytes.
func classSize(c int) int {
	if c == 0 {
		return 1 << minClassBits
	}
	b := minClassBits + (c-1)/classesPerBit
	return 1<<b + ((c-1)%classesPerBit+1)<<(b-2)
}

// alloc returns n bytes of unspecified content, and where they came from for release.
func (p *Pool) alloc(n int) ([]byte, *slab, uint32) {
	if n > maxPooled || p.broken.Load() {
		p.heap.Add(1)
		p.heapBytes.Add(int64(n))
		return make([]byte, n), nil, 0
	}
	c := classOf(max(n, 1))
	cl := &p.classes[c]
	cl.mu.Lock()
	if len(cl.partial) == 0 {
		cl.grow(classSize(c))
	}
	s := cl.partial[len(cl.partial)-1]
	if len(s.free) == s.slots {
		cl.empty--
	}
	cl.used++
	slot := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if len(s.free) == 0 {
		cl.partial = cl.partial[:len(cl.partial)-1]
		s.pos = -1
	}
	cl.mu.Unlock()
	off := int(slot) * s.size
	return s.mem[off : off+n : off+s.size], s, slot
}

func (cl *class) grow(size int) {
	bytes := slabBytes
	if cl.slabs == 0 {
		bytes = firstSlab
	}
	bytes = max(bytes, 4*size)
	slots := bytes / size
	s := &slab{class: cl, size: size, slots: slots, free: make([]uint32, slots), pos: len(cl.partial)}
	s.mem, s.mapped = mapMemory(bytes)
	for i := range s.free {
		s.free[i] = uint32(slots - 1 - i)
	}
	cl.partial = append(cl.partial, s)
	cl.empty++
	cl.slabs++
}

// free takes back what alloc returned. recycle is false after a breach: somebody may still look at these bytes, so that
// they must never be handed out again.
func (p *Pool) free(b []byte, s *slab, slot uint32, recycle bool) {
	if s == nil {
		p.heap.Add(-1)
		p.heapBytes.Add(-int64(cap(b)))
		return
	}
	if recycle {
		poison(s.mem[int(slot)*s.size : (int(slot)+1)*s.size])
	}
	cl := s.class
	cl.mu.Lock()
	cl.used--
	if !recycle {
		cl.mu.Unlock()
		return
	}
	s.free = append(s.free, slot)
	if s.pos < 0 {
		s.pos = len(cl.partial)
		cl.partial = append(cl.partial, s)
	}
	var gone []byte
	if len(s.free) == s.slots {
		if cl.empty++; cl.empty > keepEmpty {
			last := cl.partial[len(cl.partial)-1]
			cl.partial[s.pos], last.pos = last, s.pos
			cl.partial = cl.partial[:len(cl.partial)-1]
			cl.empty--
			cl.slabs--
			gone, s.mem = s.mem, nil
		}
	}
	cl.mu.Unlock()
	if gone != nil && s.mapped {
		unmapMemory(gone)
	}
}

// breach stops the recycling: somebody may look at bytes that are free.
func (p *Pool) breach(err error) {
	p.broken.Store(true)
	if p.OnBreach == nil {
		panic(err)
	}
	p.OnBreach(err)
}
