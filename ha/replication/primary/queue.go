package primary

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/wire/core"
)

// maxUnanswered bounds the packets that wait for their response.
const maxUnanswered = 1 << 20

// maxPiece bounds the bytes of a body in one packet.
const maxPiece = 128 << 10

// errAnswers: the replica has answered more than it was sent.
var errAnswers = errors.New("the replica answered a packet that it was not sent")

// errFinish: a response that was to acknowledge the end of the synchronisation did not, or another one did.
var errFinish = errors.New("the replica did not acknowledge the end of the synchronisation in its place")

// A queue holds the frames that wait to be sent, and remembers what the response to each frame confirms.
//
// Invariants, with mu held: pushed - answered == awaited.n; the last unsent entries of awaited belong to the frames in
// frames; full is what isFull says.
type queue struct {
	version core.Version
	bound   int // bytes of frames at which the queue is full

	full atomic.Bool

	mu      sync.Mutex
	changed sync.Cond // on mu: room, answers, the end
	closed  bool
	frames  []byte    // not sent
	unsent  int       // packets in them
	spare   []byte    // nil while the link has it
	sending bool      // the link has a batch
	since   time.Time // when it got it
	alive   time.Time // when the replica answered last, or was sent the first packet that it has not answered
	awaited awaited

	pushed, answered uint64 // packets since the beginning
	finish           uint64 // pushed after the finish packet; 0 before
	finished         bool   // and it was acknowledged

	copying  bool    // bodies are not to be deleted at the replica yet
	deferred []int64 // those deleted meanwhile

	// Packets to encode records from, so that an append allocates nothing.
	record core.ReplicationAppend
	remove core.ReplicationDelete
	end    core.ReplicationCommitRollback
	xid    core.ReplicationPrepare
	body   core.ReplicationLargeWrite
}

func (q *queue) init(v core.Version, bound int) {
	q.version, q.bound = v, bound
	q.changed.L = &q.mu
}

// push appends a packet. Called with mu held.
func (q *queue) push(p core.Packet, confirms confirmation) {
	if q.closed {
		return
	}
	q.frames = core.Append(q.frames, core.ChannelReplication, p, q.version)
	q.unsent++
	q.pushed++
	q.awaited.push(confirms)
	if !q.full.Load() && q.isFull() {
		q.full.Store(true)
	}
}

func (q *queue) isFull() bool { return len(q.frames) >= q.bound || q.awaited.n >= maxUnanswered }

// send appends packets that confirm nothing.
func (q *queue) send(packets ...core.Packet) {
	q.mu.Lock()
	for _, p := range packets {
		q.push(p, 0)
	}
	q.mu.Unlock()
}

// append appends a record of a journal.
func (q *queue) append(id journal.JournalID, m journal.Mark, r *journal.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	confirms := confirm(id, m)
	switch r.Kind {
	case journal.Add, journal.Update, journal.Event, journal.AddTx, journal.UpdateTx:
		op := core.RecordAdd
		switch r.Kind {
		case journal.Update, journal.UpdateTx:
			op = core.RecordUpdate
		case journal.Event:
			if q.version.BeforeTwoEighteen() {
				return // it knows none, and a load ignores them
			}
			op = core.RecordEvent
		}
		q.record = core.ReplicationAppend{InTx: r.Kind.InTx(), Journal: int8(id), Operation: op, TxID: r.Tx, ID: r.ID, RecordType: int8(r.UserType), Record: r.Payload}
		q.push(&q.record, confirms)
		q.record.Record = nil
	case journal.Delete, journal.DeleteTx:
		q.remove = core.ReplicationDelete{InTx: r.Kind.InTx(), Journal: int8(id), TxID: r.Tx, ID: r.ID, Record: r.Payload}
		q.push(&q.remove, confirms)
		q.remove.Record = nil
	case journal.Prepare:
		q.xid = core.ReplicationPrepare{Journal: int8(id), TxID: r.Tx, ExtraData: r.Payload}
		q.push(&q.xid, confirms)
		q.xid.ExtraData = nil
	case journal.Commit, journal.Rollback:
		q.end = core.ReplicationCommitRollback{Journal: int8(id), Rollback: r.Kind == journal.Rollback, TxID: r.Tx}
		q.push(&q.end, confirms)
	}
}

// bodyPiece appends bytes of a body once there is room.
func (q *queue) bodyPiece(id int64, p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.isFull() && !q.closed {
		q.changed.Wait()
	}
	q.body = core.ReplicationLargeWrite{MessageID: id, Body: p}
	q.push(&q.body, 0)
	q.body.Body = nil
}

// filePiece appends a piece of a file once less than bound bytes wait, so that files never fill the queue. It tells
// whether the queue is still open.
func (q *queue) filePiece(p core.Packet, bound int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.frames) >= bound && !q.closed || q.awaited.n >= maxUnanswered/2 && !q.closed {
		q.changed.Wait()
	}
	q.push(p, 0)
	return !q.closed
}

// deleteBody appends the deletion of a body, or keeps it for the end of the copying.
func (q *queue) deleteBody(id int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.copying {
		q.deferred = append(q.deferred, id)
		return
	}
	q.pushDeletion(id)
}

func (q *queue) pushDeletion(id int64) {
	q.push(&core.ReplicationLargeEnd{MessageID: id, PendingRecordID: -id, IsDelete: true}, 0)
}

// pushFinish appends the finish packet and the deletions that waited for it.
func (q *queue) pushFinish(p core.Packet) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(p, 0)
	q.finish = q.pushed
	q.copying = false
	for _, id := range q.deferred {
		q.pushDeletion(id)
	}
	q.deferred = nil
}

// take returns the frames to send next; nil if there are none, if the link still has a batch, or if there are more than
// limit bytes, which tooMuch tells. freed tells that the queue is not full any more.
func (q *queue) take(limit int, now time.Time) (frames []byte, tooMuch, freed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sending || q.closed || len(q.frames) == 0 {
		return nil, false, false
	}
	if limit > 0 && len(q.frames) > limit {
		return nil, true, false
	}
	frames = q.frames
	q.frames, q.spare = q.spare[:0], nil
	if q.awaited.n == q.unsent {
		q.alive = now
	}
	q.unsent = 0
	q.sending, q.since = true, now
	return frames, false, q.freed()
}

// stalled returns ErrSlow when the replica has taken, or answered, nothing for the time given. The answer to the finish packet
// has a timeout of its own.
func (q *queue) stalled(now time.Time, limit time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sending && now.Sub(q.since) > limit {
		return fmt.Errorf("%w: it took nothing for %s", ErrSlow, limit)
	}
	finishing := q.finish != 0 && !q.finished
	if q.awaited.n > q.unsent && !finishing && now.Sub(q.alive) > limit {
		return fmt.Errorf("%w: it answered nothing for %s", ErrSlow, limit)
	}
	return nil
}

// freed notes room. Called with mu held.
func (q *queue) freed() bool {
	q.changed.Broadcast()
	if q.full.Load() && !q.isFull() {
		q.full.Store(false)
		return true
	}
	return false
}

// sent takes the memory of a batch back. It tells whether there is more to send.
func (q *queue) sent(frames []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sending = false
	if cap(frames) <= 4*q.bound { // else one operation was huge
		q.spare = frames
	}
	return len(q.frames) > 0
}

// size is how many bytes wait to be sent.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames)
}

// answer counts n responses, of which the last acknowledges the end of the synchronisation if acknowledged is set. It returns
// up to where they confirm each journal, 0 for nothing new, and whether the queue is not full any more.
func (q *queue) answer(n int, acknowledged bool, now time.Time) (marks [2]journal.Mark, freed bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n > q.awaited.n-q.unsent {
		return marks, false, errAnswers
	}
	after := q.answered + uint64(n)
	passes := q.finish > q.answered && q.finish <= after
	if passes != acknowledged || acknowledged && q.finish != after {
		return marks, false, errFinish
	}
	q.answered = after
	q.finished = q.finished || acknowledged
	q.alive = now
	for range n {
		if c := q.awaited.pop(); c != 0 {
			id, m := c.of()
			marks[id] = m
		}
	}
	return marks, q.freed(), nil
}

// await waits until everything that has been pushed is answered. It returns at once with false when the queue is closed.
func (q *queue) await() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	until := q.pushed
	for q.answered < until && !q.closed {
		q.changed.Wait()
	}
	return q.answered >= until
}

// close drops what is not sent, and what comes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.frames, q.deferred = nil, nil
	q.full.Store(false)
	q.changed.Broadcast()
}

// A confirmation is what the response to a packet confirms: a mark of a journal, or 0 for nothing.
type confirmation uint64

func confirm(id journal.JournalID, m journal.Mark) confirmation {
	return confirmation(m)<<1 | confirmation(id)
}

func (c confirmation) of() (journal.JournalID, journal.Mark) {
	return journal.JournalID(c & 1), journal.Mark(c >> 1)
}

// awaited is a FIFO of the packets that are not answered.
type awaited struct {
	ring  []confirmation // its length is a power of two
	first int
	n     int
}

func (a *awaited) push(c confirmation) {
	if a.n == len(a.ring) {
		ring := make([]confirmation, max(1<<10, 2*len(a.ring)))
		for i := range a.n {
			ring[i] = a.ring[(a.first+i)&(len(a.ring)-1)]
		}
		a.ring, a.first = ring, 0
	}
	a.ring[(a.first+a.n)&(len(a.ring)-1)] = c
	a.n++
}

func (a *awaited) pop() confirmation {
	c := a.ring[a.first]
	a.first = (a.first + 1) & (len(a.ring) - 1)
	a.n--
	return c
}
