package transport

import "sync"

// A Releaser is told that by-reference bytes are no longer needed by the output. Release is called exactly once per
// Output.AppendRef, from any goroutine, possibly inside AppendRef, with no lock of this package held except the
// output's own in that last case. It must not block.
type Releaser interface {
	Release()
}

// A segment is a run of bytes to be written. Exactly one of ref and chunk may be set: the owner that is told when the
// segment has been written or dropped.
type segment struct {
	p     []byte
	ref   Releaser
	chunk *chunk
}

func (s *segment) release() {
	switch {
	case s.ref != nil:
		s.ref.Release()
	case s.chunk != nil:
		s.chunk.put()
	}
	*s = segment{}
}

// A batch is a list of segments in the order of the stream. One goroutine at a time uses it.
type batch struct {
	segs []segment
	next int // segs before it are written and released
	scratch
}

var batchPool = sync.Pool{New: func() any { return &batch{segs: make([]segment, 0, 8)} }}

func getBatch() *batch { return batchPool.Get().(*batch) }

// advance marks n bytes as written and releases the segments that are complete. It tells how many of these were by
// reference and how many of the bytes.
func (b *batch) advance(n int) (refs, refBytes int) {
	for b.next < len(b.segs) {
		s := &b.segs[b.next]
		m := min(n, len(s.p))
		n -= m
		if s.ref != nil {
			refBytes += m
		}
		if m < len(s.p) {
			s.p = s.p[m:]
			break
		}
		if s.ref != nil {
			refs++
		}
		s.release()
		b.next++
	}
	return refs, refBytes
}

func (b *batch) done() bool { return b.next == len(b.segs) }

// put releases what is left and returns the batch to its pool.
func (b *batch) put() {
	for b.next < len(b.segs) {
		b.segs[b.next].release()
		b.next++
	}
	b.segs, b.next = b.segs[:0], 0
	batchPool.Put(b)
}
