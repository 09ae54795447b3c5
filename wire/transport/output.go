package transport

import (
	"sync"
	"time"
)

const (
	// RefSize is the length from which bytes are better appended by reference (Output.AppendRef) than copied: below
	// it a scattered write costs more than the copy.
	RefSize = 16 << 10

	// OutputBound is how many bytes an output holds before it is full.
	OutputBound = 1 << 20

	// OutputBoundRefs is how many by-reference segments an output may hold even if they exceed OutputBound.
	OutputBoundRefs = 16

	// outputBoundShort is the bound that replaces OutputBound while all outputs together are over theirs.
	outputBoundShort = 64 << 10

	// inPlaceRounds is how often a flush in place goes on with what Drained appended before the connection's own
	// writer takes over: nobody else's goroutine shall become this connection's engine.
	inPlaceRounds = 2
)

// An Output is what waits to be written to a connection. Use:
//
//	out.Lock()
//	if out.Full() { … mark the consumer, Handler.Drained will tell }
//	else { encode(out.Reserve(n)); out.AppendRef(body, handle) }
//	out.Unlock()
//	…
//	out.Flush() // once, at the end of the batch of work, no lock held
//
// Appending never blocks and never fails: on a connection that is ending it drops (and releases) what it is given. Whoever
// appends makes sure that a Flush follows; several appenders may share one.
//
// The output's lock is the innermost of the broker's lock order: nothing else is locked while it is held.
//
// # No lost bytes, no lost wake-up
//
// busy is true exactly while one goroutine writes: the flusher in place, or the writer goroutine it handed over to.
// Appended bytes are in pending, guarded by mu. Flush finds either busy false, sets it and writes itself, or busy true:
// then the one who set it looks at pending under mu before it sets busy to false under the same hold of mu, so it has
// taken the appended bytes or will take them. The same look covers Drained (notify is set under mu by Full, and the
// owner of busy tests it after every write) and CloseAfterFlush.
//
// # Every segment is released once
//
// A segment is in pending (owner: whoever holds mu) or in current (owner: whoever set busy). The owner of busy releases
// what it has written; abort releases pending, and current only if nobody is busy, else the busy one releases it when
// it sees closed. Appending to an ended output releases at once.
type Output struct {
	mu   sync.Mutex
	conn *Conn

	pending *batch // nil when nothing is pending
	open    *chunk // the chunk that copies go to; its bytes from start on are not in pending yet
	start   int

	size     int   // bytes appended and not yet written
	refBytes int   // those of them in by-reference segments with a Releaser
	refs     int   // and the number of these segments
	hint     int   // chunk size that fitted the last batches
	charged  int64 // what the account of all outputs knows of size

	busy    bool
	closed  bool // what is appended is dropped, nothing more is written
	closing bool // what is appended is dropped, what was appended before is written
	ended   bool // with closing: and it has been
	notify  bool // Full said true: tell Drained

	current *batch // owned by whoever set busy

	writers sync.WaitGroup // the writer goroutine
}

// Lock takes the output for appending.
func (o *Output) Lock() { o.mu.Lock() }

// Unlock ends appending. It writes nothing: Flush does.
func (o *Output) Unlock() { o.mu.Unlock() }

// Reserve appends n bytes and returns them for the caller to fill before Unlock. The lock is held. The content is
// undefined before it is filled. What must not be written after all is given back by Trim.
func (o *Output) Reserve(n int) []byte {
	if o.closed || o.closing {
		return o.scrap(n)
	}
	if o.open == nil || cap(o.open.buf)-len(o.open.buf) < n {
		o.nextChunk(n)
	}
	at := len(o.open.buf)
	o.open.buf = o.open.buf[:at+n]
	o.size += n
	return o.open.buf[at : at+n : at+n]
}

// Trim takes back the last n bytes of the last Reserve. The lock is held, as it was since that Reserve.
func (o *Output) Trim(n int) {
	if o.closed || o.closing {
		return
	}
	o.open.buf = o.open.buf[:len(o.open.buf)-n]
	o.size -= n
}

// Append appends a copy of p. The lock is held.
func (o *Output) Append(p []byte) {
	copy(o.Reserve(len(p)), p)
}

// AppendRef appends p without copying it; r.Release is called once when p is not needed any more, be it written or
// not. r may be nil if p is never changed. For RefSize and more; shorter ones cost more than a copy but are allowed.
// The lock is held.
func (o *Output) AppendRef(p []byte, r Releaser) {
	if o.closed || o.closing {
		if r != nil {
			r.Release()
		}
		return
	}
	b := o.pendingBatch()
	if o.open != nil && len(o.open.buf) > o.start {
		b.segs = append(b.segs, segment{p: o.open.buf[o.start:]})
		o.start = len(o.open.buf)
	}
	b.segs = append(b.segs, segment{p: p, ref: r})
	o.size += len(p)
	if r != nil {
		o.refs++
		o.refBytes += len(p)
	}
}

// Size tells the bytes that are appended and not yet written. The lock is held.
func (o *Output) Size() int { return o.size }

// Full reports whether no more messages should be appended: the output is over its bound (1 MiB, unless fewer than 16
// by-reference segments make that up), all outputs together are over theirs and this one holds 64 KiB, or the connection is ending. Except in the last case Handler.Drained will be called once after that.
// Control frames (answers, pings, credits) are appended regardless: each is the answer to a frame that was read.
// The lock is held.
func (o *Output) Full() bool {
	if o.closed || o.closing {
		return true
	}
	full := o.size >= OutputBound && (o.size-o.refBytes >= OutputBound || o.refs >= OutputBoundRefs)
	if !full && o.short() {
		full = o.size >= outputBoundShort
	}
	if full {
		o.notify = true
	}
	return full
}

// short reports whether all outputs together hold too much.
func (o *Output) short() bool {
	return o.conn.outputs != nil && o.conn.outputs.over()
}

// low reports whether a full output has drained far enough to tell; it is never true when Full is.
func (o *Output) low() bool {
	if o.short() {
		return o.size < outputBoundShort/2
	}
	return o.size < OutputBound/2 || (o.size-o.refBytes < OutputBound/2 && o.refs <= OutputBoundRefs/2)
}

func (o *Output) pendingBatch() *batch {
	if o.pending == nil {
		o.pending = getBatch()
	}
	return o.pending
}

// nextChunk puts the open chunk into pending and opens one with room for n bytes.
func (o *Output) nextChunk(n int) {
	want := max(n, o.hint)
	if o.open != nil {
		want = max(n, min(4*cap(o.open.buf), readSize))
		o.sealChunk()
	}
	o.open, o.start = getChunk(want), 0
}

// sealChunk moves the open chunk into pending, even if none of its bytes is new: the last segment carries it.
func (o *Output) sealChunk() {
	b := o.pendingBatch()
	b.segs = append(b.segs, segment{p: o.open.buf[o.start:], chunk: o.open})
	o.open = nil
}

// scrap is memory for what is appended to an ended output.
func (o *Output) scrap(n int) []byte {
	if o.open == nil || cap(o.open.buf) < n {
		o.open = getChunk(n)
	}
	return o.open.buf[:n]
}

// Flush writes what is appended, as far as the socket takes it at once, and leaves the rest to the connection's
// writer. It never waits for the peer. If another goroutine is writing, that one takes the appended bytes too and Flush
// returns at once. No lock may be held: Drained may be called from within.
func (o *Output) Flush() {
	o.mu.Lock()
	if o.busy || o.closed || (o.size == 0 && (!o.closing || o.ended)) {
		o.charge()
		o.mu.Unlock()
		return
	}
	o.busy = true
	if o.conn.sock.writeParks() {
		o.handOver()
		return
	}
	o.write(false)
}

// write writes until nothing is left. It is entered and left with busy set by the caller and mu held, and gives up
// both, except that a flush in place may pass busy on to the writer goroutine.
func (o *Output) write(ownWriter bool) {
	for rounds := 0; ; {
		if o.closed {
			break
		}
		if o.notify && o.low() {
			o.notify = false
			o.charge()
			o.mu.Unlock()
			o.conn.handler.Drained(o.conn)
			o.mu.Lock()
			rounds++
			continue
		}
		if o.current == nil && !o.take() {
			break
		}
		if rounds >= inPlaceRounds && !ownWriter {
			o.handOver()
			return
		}
		o.mu.Unlock()
		n, err := o.conn.sock.write(o.current, ownWriter)
		refs, refBytes := o.current.advance(n)
		o.mu.Lock()
		if !o.closed {
			o.size -= n
			o.refs -= refs
			o.refBytes -= refBytes
		}
		if o.current.done() {
			o.current.put()
			o.current = nil
		}
		if err == errAgain {
			o.handOver()
			return
		}
		if err != nil {
			o.mu.Unlock()
			o.conn.Close(err)
			o.mu.Lock()
			o.drop()
		}
	}

	finish := o.closing && !o.closed && !o.ended
	o.ended = o.closing
	if ownWriter {
		o.conn.sock.endWait()
	}
	if o.closed {
		o.dropCurrent()
	}
	o.busy = false
	o.charge()
	o.mu.Unlock()
	if finish {
		o.conn.finishClose()
	}
}

// handOver passes busy to a writer goroutine. mu is held on entry, not on return.
func (o *Output) handOver() {
	if o.closed {
		o.dropCurrent()
		o.busy = false
		o.charge()
		o.mu.Unlock()
		return
	}
	o.charge()
	o.writers.Add(1)
	o.mu.Unlock()
	go o.writeOut()
}

// writeOut is the connection's writer goroutine: started when a flush in place could not write everything, it ends
// when nothing is left.
func (o *Output) writeOut() {
	defer o.writers.Done()
	o.mu.Lock()
	o.write(true)
}

// take makes everything pending current. mu is held, busy is set.
func (o *Output) take() bool {
	if o.open != nil && !o.closing {
		o.sealChunk()
	}
	if o.pending == nil {
		return false
	}
	o.hint = min(max(o.size, o.hint/2), readSize)
	o.current, o.pending = o.pending, nil
	return true
}

// charge brings the bytes that stay behind to the account of all outputs. mu is held.
func (o *Output) charge() {
	a := o.conn.outputs
	if a == nil {
		return
	}
	want := int64(o.size)
	if !o.busy || o.closed {
		want = 0 // nothing stays behind, or it is about to be flushed
	}
	if want != o.charged {
		a.used.Add(want - o.charged)
		o.charged = want
	}
}

// abort drops everything and makes the output discard from now on. It does not wait for a goroutine that is writing.
func (o *Output) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop()
	if !o.busy {
		o.dropCurrent()
	}
	o.charge()
}

func (o *Output) drop() {
	o.closed = true
	if o.pending != nil {
		o.pending.put()
		o.pending = nil
	}
	if o.open != nil {
		o.open.put()
		o.open = nil
	}
	o.size, o.refs, o.refBytes = 0, 0, 0
}

func (o *Output) dropCurrent() {
	if o.current != nil {
		o.current.put()
		o.current = nil
	}
}

// closeWhenEmpty ends the connection once everything appended so far has been written.
func (o *Output) closeWhenEmpty() {
	o.mu.Lock()
	if o.open != nil {
		o.sealChunk()
	}
	o.closing = true
	o.mu.Unlock()
	o.Flush()
}

// DefaultStallTimeout is how long a write may make no progress before the connection is closed: Artemis' default
// connection TTL. A session sets the negotiated TTL by Conn.SetStallTimeout.
const DefaultStallTimeout = 60 * time.Second
