package journal

import (
	"fmt"
	"runtime"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
)

// buffer gathers records until the flusher takes it. There are two: one is filled while the other is written.
type buffer struct {
	b       []byte
	segs    []segment
	waiters []waiter
	end     Mark
	asked   bool // write soon: somebody waits
	sync    bool // and wants it synced
	tap     Tap  // when it was taken
}

// segment is the part of a buffer that goes to one file. The last segment's end is set when the buffer is taken.
type segment struct {
	f        *file
	off      int // in the file
	from, to int // in the buffer
}

type waiter struct {
	w    Waiter
	mark Mark
}

// lazyFlush is how old unsynced records nobody waits for get before they are written, in units of the flusher's
// timer: between one and two of it.
const lazyFlush = 5 * time.Millisecond

func newBuffer(size, align int) *buffer {
	return &buffer{b: fs.Aligned(size+size/16, align)[:0]}
}

func (c *buffer) begin(f *file, pos int) {
	clear(c.waiters)
	*c = buffer{b: c.b[:0], segs: append(c.segs[:0], segment{f: f, off: pos}), waiters: c.waiters[:0]}
}

// grow makes the buffer n bytes longer.
func (c *buffer) grow(n, align int) {
	if len(c.b)+n > cap(c.b) {
		b := fs.Aligned(max(2*cap(c.b), len(c.b)+n), align)
		c.b = b[:copy(b, c.b)]
	}
	c.b = c.b[:len(c.b)+n]
}

// pad fills up to the alignment with zeros, which a scan skips.
func (c *buffer) pad(align int) {
	if n := roundUp(len(c.b), align) - len(c.b); n > 0 {
		at := len(c.b)
		c.grow(n, align)
		clear(c.b[at:])
	}
}

// wakeFlusher is called with mu held.
func (j *Journal) wakeFlusher() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// flusher writes what gathers: at once when somebody waits for it, else within 10 ms. While it writes and syncs, the
// next batch gathers in the other buffer; there is no timer that delays anybody.
func (j *Journal) flusher() {
	defer j.work.Done()
	timer := time.NewTimer(lazyFlush)
	for {
		b := j.take(timer)
		if b == nil {
			return
		}
		j.flushing.start()
		j.writing.Store(time.Now().UnixNano())
		if b.tap != nil {
			b.tap.Flush()
		}
		hard, err := j.write(b)
		j.writing.Store(0)
		if err != nil {
			j.flushing.stop()
			j.fail(err)
			return
		}
		j.give(b, hard)
		j.complete()
		j.flushing.stop()
	}
}

// take waits for a batch. It returns nil at the end.
func (j *Journal) take(timer *time.Timer) *buffer {
	j.mu.Lock()
	defer j.mu.Unlock()
	timer.Reset(lazyFlush)
	armed := j.mark
	for {
		if j.err != nil {
			return nil
		}
		if c := j.cur; c.asked || len(c.b) >= j.o.Buffer {
			break
		}
		j.sleeping = true
		dormant := j.dormant
		j.mu.Unlock()
		late := false
		if dormant {
			select {
			case <-j.wake:
			case <-j.stop:
			}
		} else {
			select {
			case <-j.wake:
			case <-j.stop:
			case <-timer.C:
				late = true
			}
		}
		j.mu.Lock()
		j.sleeping = false
		if dormant {
			j.dormant = false
			timer.Reset(lazyFlush)
			armed = j.mark
		}
		if late {
			if j.synced < armed {
				j.cur.sync = true
				break
			}
			// Nothing that was there when the timer was set: what came since waits for another round.
			j.dormant = j.synced == j.mark
			timer.Reset(lazyFlush)
			armed = j.mark
		}
	}
	// Those whom the last batch has woken get the chance to join this one.
	j.mu.Unlock()
	runtime.Gosched()
	j.mu.Lock()
	for j.busy {
		j.wait.Wait()
	}
	if j.err != nil {
		return nil
	}
	b := j.cur
	b.end, b.tap = j.mark, j.tap
	b.segs[len(b.segs)-1].to = len(b.b)
	j.pos = roundUp(j.pos, j.o.BlockSize)
	j.cur, j.spare = j.spare, nil
	j.cur.begin(j.current, j.pos)
	j.wait.Broadcast()
	return b
}

// write brings a batch to its files. It tells whether everything written so far is synced.
func (j *Journal) write(b *buffer) (hard bool, err error) {
	for i := range b.segs {
		s := &b.segs[i]
		last := i == len(b.segs)-1
		if p := b.b[s.from:s.to]; len(p) > 0 {
			if n := roundUp(len(p), j.o.BlockSize); n > len(p) {
				// Only the last segment can need it: the others were padded when they ended.
				p = b.b[s.from : s.from+n : cap(b.b)]
				clear(p[s.to-s.from:])
			}
			if _, err := s.f.handle.WriteAt(p, int64(s.off)); err != nil {
				return false, fmt.Errorf("write %d bytes to %s at %d: %w", len(p), j.o.path(s.f.name), s.off, err)
			}
			j.dirty = j.dirty || !s.f.direct
		}
		if j.dirty && (b.sync || !last) && !j.o.NoDatasync {
			if err := s.f.handle.Datasync(); err != nil {
				return false, fmt.Errorf("sync %s: %w", j.o.path(s.f.name), err)
			}
			j.dirty = false
		}
		if !last {
			if err := s.f.handle.Close(); err != nil {
				return false, fmt.Errorf("close %s: %w", j.o.path(s.f.name), err)
			}
			s.f.handle = nil
			j.dirty = false
		}
	}
	return !j.dirty || j.o.NoDatasync, nil
}

// give returns a written batch's buffer and hands its waiters to the completion.
func (j *Journal) give(b *buffer, hard bool) {
	j.cmu.Lock()
	j.waiting = append(j.waiting, b.waiters...)
	j.written = b.end
	j.cmu.Unlock()

	j.mu.Lock()
	defer j.mu.Unlock()
	if hard {
		j.synced = b.end
	}
	for i := range b.segs[:len(b.segs)-1] {
		j.seal(b.segs[i].f)
	}
	if len(b.segs) > 1 {
		j.callHands()
	}
	if cap(b.b) > 4*j.o.Buffer { // one operation was huge
		*b = *newBuffer(j.o.Buffer, j.o.BlockSize)
	}
	j.spare = b
	j.wait.Broadcast()
}

// complete tells the waiters that may be told. Only one goroutine does it at a time; one that finds it being done leaves a
// note and the other looks again.
func (j *Journal) complete() {
	if j.telling.Add(1) > 1 {
		return
	}
	j.tellMu.Lock()
	defer j.tellMu.Unlock()
	for {
		seen := j.telling.Load()
		j.cmu.Lock()
		limit := j.written
		if j.gated {
			limit = min(limit, j.confirmed)
		}
		calls := j.calls[:0]
		if !j.dead {
			for j.first < len(j.waiting) && j.waiting[j.first].mark <= limit {
				calls = append(calls, j.waiting[j.first])
				j.waiting[j.first] = waiter{}
				j.first++
			}
			if j.first == len(j.waiting) {
				j.waiting, j.first = j.waiting[:0], 0
			} else if j.first > len(j.waiting)/2 {
				n := copy(j.waiting, j.waiting[j.first:])
				clear(j.waiting[n:])
				j.waiting, j.first = j.waiting[:n], 0
			}
			if uint64(limit) > j.told.Load() {
				j.told.Store(uint64(limit))
			}
		}
		j.calls = calls
		j.cmu.Unlock()
		for i := range calls {
			calls[i].w.Stored()
			calls[i] = waiter{}
		}
		if h := j.hooks.Load(); len(calls) > 0 && h != nil && h.BatchEnd != nil {
			h.BatchEnd()
		}
		if j.telling.CompareAndSwap(seen, 0) {
			return
		}
	}
}
