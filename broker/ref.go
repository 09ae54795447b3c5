package broker

import (
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
)

// A Ref is a message's place in one queue. It is a value: the queue's list, a consumer's list of unacknowledged
// messages or a transaction holds it, one of them at a time. Whoever holds it holds the message.
type Ref struct {
	Msg   *message.Message
	Count int32 // deliveries so far
	saved int16 // Count as the backing has it
	from  uint8 // index of its Backing in the queue's broker
	flags uint8
}

const (
	refGone      uint8 = 1 << iota // removed from the list, its slot not yet reclaimed
	refScheduled                   // was held back until a time that the backing has stored
	refHeld                        // delivered to a consumer of a non-destructive queue, still in the list
	refStray                       // its id says nothing of its place: it came late, or to the front
)

const chunkRefs = 256

// A chunk is 256 places of a list. Live refs lie in refs[lo:hi], between removed ones.
type chunk struct {
	refs       [chunkRefs]Ref
	lo, hi     int
	live       int
	highest    int64 // no ref ever put here had a higher id
	prev, next *chunk
	unlinked   bool
}

var chunkPool = sync.Pool{New: func() any { return new(chunk) }}

// A refList holds the references of one priority in order: by id, with strays between. The last chunk is never unlinked, so
// that a cursor always finds its way on through chunks that were. Not safe for concurrent use: the queue's lock guards it.
type refList struct {
	head, tail *chunk
	live       int
	epoch      uint32 // counts insertions before the end: a cursor of an older epoch starts over
	last       int64  // id of the newest ref that is no stray, ever
}

// A cursor is a reader's place in a refList.
type cursor struct {
	c     *chunk
	i     int
	epoch uint32
}

func (l *refList) pushBack(r Ref) {
	if id := r.Msg.ID(); id > l.last {
		l.last = id
		r.flags &^= refStray
	} else {
		r.flags |= refStray // a large message, which has had its id from its first byte on, or one that comes back
	}
	l.append(r)
}

func (l *refList) append(r Ref) {
	t := l.tail
	if t == nil || t.hi == chunkRefs {
		n := newChunk()
		n.prev = t
		if t == nil {
			l.head = n
		} else {
			t.next = n
		}
		l.tail, t = n, n
	}
	t.refs[t.hi] = r
	t.hi++
	t.live++
	t.highest = max(t.highest, r.Msg.ID())
	l.live++
}

func newChunk() *chunk {
	c := chunkPool.Get().(*chunk)
	c.lo, c.hi, c.live, c.highest, c.prev, c.next, c.unlinked = 0, 0, 0, 0, nil, nil, false
	return c
}

// front returns the first live ref, nil when there is none. recycle tells that no cursor can point into a chunk.
func (l *refList) front(recycle bool) *Ref {
	for c := l.head; c != nil; c = l.head {
		for ; c.lo < c.hi; c.lo++ {
			if r := &c.refs[c.lo]; r.flags&refGone == 0 {
				return r
			}
		}
		if c == l.tail {
			if c.hi == chunkRefs && recycle {
				c.lo, c.hi = 0, 0
			}
			return nil
		}
		l.unlink(c, recycle)
	}
	return nil
}

// popFront removes and returns the first ref; the list must not be empty.
func (l *refList) popFront(recycle bool) Ref {
	r := l.front(recycle)
	out := *r
	l.drop(l.head, r)
	l.head.lo++
	return out
}

func (l *refList) drop(c *chunk, r *Ref) {
	*r = Ref{flags: refGone}
	c.live--
	l.live--
}

func (l *refList) unlink(c *chunk, recycle bool) {
	if c.prev == nil {
		l.head = c.next
	} else {
		c.prev.next = c.next
	}
	c.next.prev = c.prev // c is not the tail
	c.unlinked = true
	if recycle {
		chunkPool.Put(c)
	}
}

// next moves the cursor to the next live ref and returns it, nil at the end. The cursor then stands behind it.
func (l *refList) next(at *cursor) *Ref {
	if at.c == nil || at.epoch != l.epoch {
		at.c, at.i, at.epoch = l.head, 0, l.epoch
	}
	for c := at.c; c != nil; {
		if c.unlinked {
			c = c.next
			at.c, at.i = c, 0
			continue
		}
		for i := max(at.i, c.lo); i < c.hi; i++ {
			if r := &c.refs[i]; r.flags&refGone == 0 {
				at.i = i + 1
				return r
			}
		}
		at.i = c.hi
		if c.next == nil {
			return nil
		}
		c = c.next
		at.c, at.i = c, 0
	}
	return nil
}

// take removes the ref that next has just returned.
func (l *refList) take(at *cursor, recycle bool) Ref {
	c := at.c
	r := &c.refs[at.i-1]
	out := *r
	l.drop(c, r)
	if c.live == 0 && c != l.tail {
		next := c.next
		l.unlink(c, recycle)
		at.c, at.i = next, 0
	}
	return out
}

// insert puts a ref back where its id belongs, counted from the head and without regard to strays.
func (l *refList) insert(r Ref) {
	id := r.Msg.ID()
	c := l.head
	for c != nil && c.lastID() < id {
		c = c.next
	}
	if c == nil {
		l.append(r)
		l.epoch++
		return
	}
	k := c.lo
	for k < c.hi && (c.refs[k].flags&(refGone|refStray) != 0 || c.refs[k].Msg.ID() < id) {
		k++
	}
	l.insertAt(c, k, r)
}

// pushFront puts a ref before all others.
func (l *refList) pushFront(r Ref) {
	r.flags |= refStray
	if l.head == nil {
		l.append(r)
		l.epoch++
		return
	}
	l.insertAt(l.head, l.head.lo, r)
}

// insertAt puts r before place k of chunk c.
func (l *refList) insertAt(c *chunk, k int, r Ref) {
	l.epoch++
	c.highest = max(c.highest, r.Msg.ID())
	switch {
	case c.lo > 0:
		copy(c.refs[c.lo-1:k-1], c.refs[c.lo:k])
		c.lo--
		c.refs[k-1] = r
	case c.hi < chunkRefs:
		copy(c.refs[k+1:c.hi+1], c.refs[k:c.hi])
		c.hi++
		c.refs[k] = r
	default:
		n := newChunk() // the refs before k move there, at its end, so that there is room on both sides
		n.hi = chunkRefs
		n.lo = chunkRefs - k
		n.highest = c.highest
		copy(n.refs[n.lo:], c.refs[:k])
		for i := range k {
			if c.refs[i].flags&refGone == 0 {
				n.live++
			}
			c.refs[i] = Ref{flags: refGone}
		}
		c.lo = k
		c.live -= n.live
		n.prev, n.next = c.prev, c
		if c.prev == nil {
			l.head = n
		} else {
			c.prev.next = n
		}
		c.prev = n
		if k == 0 {
			n.lo--
			n.refs[n.lo] = r
			n.live++
			l.live++
			return
		}
		c.lo--
		c.refs[c.lo] = r
	}
	c.live++
	l.live++
}

// lastID is the id of the last ref that is no stray, -1 without one.
func (c *chunk) lastID() int64 {
	for i := c.hi - 1; i >= c.lo; i-- {
		if c.refs[i].flags&(refGone|refStray) == 0 {
			return c.refs[i].Msg.ID()
		}
	}
	return -1
}

// A refRing is a double-ended queue of refs that grows as needed: what a consumer has been given and not acknowledged.
type refRing struct {
	refs []Ref // length is a power of two
	head int
	n    int
}

func (q *refRing) at(i int) *Ref { return &q.refs[(q.head+i)&(len(q.refs)-1)] }

func (q *refRing) push(r Ref) {
	q.grow()
	*q.at(q.n) = r
	q.n++
}

// pushFront puts a ref before all others.
func (q *refRing) pushFront(r Ref) {
	q.grow()
	q.head = (q.head - 1) & (len(q.refs) - 1)
	q.n++
	*q.at(0) = r
}

// grow makes room for one more.
func (q *refRing) grow() {
	if q.n < len(q.refs) {
		return
	}
	grown := make([]Ref, max(16, 2*len(q.refs)))
	for i := range q.n {
		grown[i] = *q.at(i)
	}
	q.refs, q.head = grown, 0
}

func (q *refRing) popFront() Ref {
	p := q.at(0)
	r := *p
	*p = Ref{}
	q.head++
	if q.n--; q.n == 0 {
		q.head = 0
		if len(q.refs) > 4096 {
			q.refs = nil
		}
	}
	return r
}

// remove takes out the ref at i, keeping the order.
func (q *refRing) remove(i int) Ref {
	r := *q.at(i)
	for ; i > 0; i-- {
		*q.at(i) = *q.at(i - 1)
	}
	q.popFront()
	return r
}

// find returns the place of message id, -1 when it is not there.
func (q *refRing) find(id int64) int {
	for i := range q.n {
		if q.at(i).Msg.ID() == id {
			return i
		}
	}
	return -1
}
