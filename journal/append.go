package journal

import (
	"fmt"
	"time"
)

// Mode says how an operation treats a full buffer.
type Mode uint8

const (
	// Wait blocks while the write buffers are full.
	Wait Mode = iota
	// Reserve goes beyond the bound instead of waiting: for operations made by waiters and by BatchEnd, on which
	// the emptying of the buffers depends.
	Reserve
)

// Appender is one operation: a few records that stand next to each other in the journal and count from Commit on. It
// is made by Journal.Begin, holds the append lock, and must be ended by Commit or Abort before anything that may block.
//
// The payload slices it returns point into the write buffer and are to be filled before the next call.
type Appender struct {
	j     *Journal
	err   error
	ops   []op
	added int64 // id of the last Add
	start int   // where the operation begins in the buffer
}

// op is a record of the operation, to be accounted for when it is committed.
type op struct {
	Record
	f        *file
	from, to int // payload in the buffer
}

// Begin starts an operation. It fails when the journal has failed or is closed.
func (j *Journal) Begin(m Mode) (*Appender, error) {
	j.mu.Lock()
	for j.busy || j.quiet && j.err == nil || m == Wait && !j.closing && (j.barrier || j.full()) && j.err == nil {
		j.wait.Wait()
	}
	if j.err != nil || j.closing && m == Wait {
		err := j.err
		j.mu.Unlock()
		if err == nil {
			err = ErrClosed
		}
		return nil, err
	}
	a := &j.app
	a.j, a.err, a.ops, a.start = j, nil, a.ops[:0], len(j.cur.b)
	return a, nil
}

// full tells that an append that may wait has to. Called with mu held.
func (j *Journal) full() bool { return len(j.cur.b) >= j.o.Buffer || j.tap != nil && j.tap.Full() }

// Add appends an ADD of a payload of n bytes.
func (a *Appender) Add(id int64, userType byte, n int) []byte {
	a.added = id
	return a.put(Record{Kind: Add, ID: id, UserType: userType}, n)
}

// Update appends an UPDATE, or returns ErrNotLive.
func (a *Appender) Update(id int64, userType byte, n int) ([]byte, error) {
	if a.err == nil && !a.live(id) {
		return nil, ErrNotLive
	}
	return a.put(Record{Kind: Update, ID: id, UserType: userType}, n), nil
}

// Delete appends a DELETE, or returns ErrNotLive.
func (a *Appender) Delete(id int64) error {
	if a.err == nil && !a.live(id) {
		return ErrNotLive
	}
	a.put(Record{Kind: Delete, ID: id}, 0)
	return nil
}

// AddTx appends an ADD that counts when tx is committed.
func (a *Appender) AddTx(tx, id int64, userType byte, n int) []byte {
	return a.put(Record{Kind: AddTx, Tx: tx, ID: id, UserType: userType}, n)
}

// UpdateTx appends an UPDATE that counts when tx is committed.
func (a *Appender) UpdateTx(tx, id int64, userType byte, n int) []byte {
	return a.put(Record{Kind: UpdateTx, Tx: tx, ID: id, UserType: userType}, n)
}

// DeleteTx appends a DELETE that counts when tx is committed.
func (a *Appender) DeleteTx(tx, id int64) {
	a.put(Record{Kind: DeleteTx, Tx: tx, ID: id}, 0)
}

// Prepare appends a PREPARE with the encoded xid.
func (a *Appender) Prepare(tx int64, xid []byte) {
	copy(a.put(Record{Kind: Prepare, Tx: tx}, len(xid)), xid)
}

// CommitTx appends the COMMIT of a transaction.
func (a *Appender) CommitTx(tx int64) { a.put(Record{Kind: Commit, Tx: tx}, 0) }

// RollbackTx appends the ROLLBACK of a transaction.
func (a *Appender) RollbackTx(tx int64) { a.put(Record{Kind: Rollback, Tx: tx}, 0) }

// Event appends an EVENT, which a load ignores: journal retention.
func (a *Appender) Event(id int64, userType byte, n int) []byte {
	return a.put(Record{Kind: Event, ID: id, UserType: userType}, n)
}

// Err is the error Commit will return.
func (a *Appender) Err() error { return a.err }

// IsLive tells whether id is live, this operation included.
func (a *Appender) IsLive(id int64) bool { return a.live(id) }

func (a *Appender) live(id int64) bool {
	if id == a.added && len(a.ops) > 0 || a.j.live.find(id) != nil {
		return true
	}
	for i := range a.ops {
		if o := &a.ops[i]; o.Kind == Add && o.ID == id {
			return true
		}
	}
	return false
}

// put makes room for a record, encodes it and returns where its payload goes. After an error it returns memory that is
// thrown away, so that callers need not check.
func (a *Appender) put(r Record, payload int) []byte {
	j, size := a.j, r.Kind.Size(payload)
	if a.err == nil && size > j.MaxRecord() {
		a.err = fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, j.MaxRecord())
	}
	if a.err == nil && j.pos+size > int(j.current.size) {
		a.err = j.roll()
	}
	if a.err != nil {
		return make([]byte, payload)
	}
	if r.Kind == Prepare || r.Kind == Commit {
		r.N = a.inFile(r.Tx)
	}
	r.File = recordFileID(j.current.id)
	c := j.cur
	at := len(c.b)
	c.grow(size, j.o.BlockSize)
	p := putRecord(c.b[at:], &r, payload)
	r.Pos, r.End = j.pos, j.pos+size
	j.pos += size
	from := at + size - 4 - payload
	a.ops = append(a.ops, op{r, j.current, from, from + payload})
	return p
}

// inFile is how many records of a transaction stand in the current file, those of this operation included.
func (a *Appender) inFile(tx int64) int32 {
	n := a.j.txs[tx].inFile(a.j.current.slot)
	for i := range a.ops {
		if o := &a.ops[i]; o.Tx == tx && o.f == a.j.current && o.Kind.InTx() {
			n++
		}
	}
	return n
}

// Abort ends the operation without a trace.
func (a *Appender) Abort() {
	a.undo()
	a.j.mu.Unlock()
}

// undo cuts the operation's bytes off again. A file that was begun for it stays the current one.
func (a *Appender) undo() {
	j, c := a.j, a.j.cur
	c.b = c.b[:a.start]
	for i := range c.segs {
		s := &c.segs[i]
		if s.from > a.start { // begun by this operation
			c.pad(j.o.BlockSize)
			s.from, s.to = len(c.b), len(c.b)
		}
		s.to = min(s.to, a.start)
		j.pos = s.off + len(c.b) - s.from
	}
	a.ops = a.ops[:0]
}

// Commit ends the operation: its records count now, in the order of the stream. With a waiter they are written soon and
// the waiter is told when they are, and, if sync is set, synced. Without one they ride along with others, within 10 ms.
// On an error nothing of the operation was appended.
func (a *Appender) Commit(w Waiter, sync bool) (Mark, error) { return a.commit(w, sync, false) }

// CommitLazy is Commit with a waiter for whom nothing is hurried: he is told when the records are synced, with the next that
// are written.
func (a *Appender) CommitLazy(w Waiter) (Mark, error) { return a.commit(w, true, true) }

func (a *Appender) commit(w Waiter, sync, lazy bool) (Mark, error) {
	j := a.j
	if a.err != nil {
		err := a.err
		a.Abort()
		return 0, err
	}
	for i := range a.ops {
		a.account(&a.ops[i])
	}
	c := j.cur
	if w != nil {
		if lazy && len(a.ops) == 0 {
			j.mark++ // so that there is something to be written
		}
		c.waiters = append(c.waiters, waiter{w, j.recorded})
		c.asked = c.asked || !lazy
		c.sync = c.sync || sync
	}
	if j.sleeping && (c.asked || j.dormant || len(c.b) >= j.o.Buffer) {
		j.wakeFlusher()
	}
	m := j.recorded
	j.mu.Unlock()
	return m, nil
}

func (a *Appender) account(o *op) {
	j, size := a.j, o.Size()
	j.mark += Mark(size)
	if o.Kind != Event {
		j.recorded = j.mark
	}
	switch o.Kind {
	case Add:
		o.f.adds++
		j.addLive(o.f, o.ID, size)
	case Update:
		j.countReplaceable(o.f, o.UserType, j.cur.b[o.from:o.to])
		j.updateLive(o.f, o.ID, size)
	case Delete:
		j.deleteLive(o.f, o.ID)
	case AddTx:
		o.f.adds++
		j.txRecord(o.f, o.Tx, txRecord{id: o.ID, size: uint32(size), kind: o.Kind})
	case UpdateTx:
		j.countReplaceable(o.f, o.UserType, j.cur.b[o.from:o.to])
		j.txRecord(o.f, o.Tx, txRecord{id: o.ID, size: uint32(size), kind: o.Kind})
	case DeleteTx:
		j.txRecord(o.f, o.Tx, txRecord{id: o.ID, size: uint32(size), kind: o.Kind})
	case Prepare:
		j.prepareTx(o.f, o.Tx, j.cur.b[o.from:o.to])
	case Commit:
		j.commitTx(o.f, o.Tx)
	case Rollback:
		j.rollbackTx(o.f, o.Tx)
	}
	if j.tap != nil {
		o.Payload = j.cur.b[o.from:o.to:o.to]
		j.tap.Appended(j.mark, &o.Record)
		o.Payload = nil
	}
}

func (j *Journal) countReplaceable(f *file, userType byte, payload []byte) {
	if j.o.Replaceable != nil {
		if _, ok := j.o.Replaceable(userType, payload); ok {
			f.replaceable++
		}
	}
}

// roll makes the file that was opened ahead the current one. It waits for it, with mu released and busy set, if it is not
// ready yet. Called with mu held.
func (j *Journal) roll() error {
	if j.next == nil && time.Since(j.nextFail) > 100*time.Millisecond {
		j.nextErr = nil // a full disk is tried again, but not for each append
	}
	if j.next == nil {
		j.rolling.start()
		defer j.rolling.stop()
	}
	for j.next == nil {
		if j.err != nil {
			return j.err
		}
		if j.nextErr != nil {
			return fmt.Errorf("%w: %w", ErrNoSpace, j.nextErr)
		}
		j.callHands()
		j.busy = true
		j.wait.Wait()
		j.busy = false
		j.wait.Broadcast() // those who saw busy, however this ends
	}
	c := j.cur
	c.segs[len(c.segs)-1].to = len(c.b)
	c.pad(j.o.BlockSize)
	j.data = append(j.data, j.current)
	j.current, j.next = j.next, nil
	j.enter(j.current)
	j.pos = j.o.firstPos()
	c.segs = append(c.segs, segment{f: j.current, off: j.pos, from: len(c.b)})
	j.callHands()
	return nil
}
