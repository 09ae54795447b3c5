package journal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
)

// Mark is a position in the journal's stream of appends, in bytes of records since it was opened. It only grows.
type Mark uint64

// Waiter is told that what it was appended with is durable. See Journal for the rules.
type Waiter = broker.Waiter

// Journal is an open journal. All methods may be called from any goroutine.
//
// Waiters and Hooks.BatchEnd are called in stream order, never two at a time, on the flusher's goroutine or on the one that
// calls Confirm or Release. They must not block, and may append only with Reserve.
//
// Invariants, with mu held: everything appended up to mark is in cur, in the buffer the flusher is writing, or in a
// file; records of one operation are next to each other; data is sorted by id and every file in it is older than
// current; every live id is charged only to files in data or to current.
type Journal struct {
	o    Options
	log  hclog.Logger
	stop chan struct{} // closed by the end, good or bad
	work sync.WaitGroup

	barring sync.Mutex // held by the one Barrier; before mu

	mu   sync.Mutex
	wait sync.Cond // on mu: anything somebody may be waiting for has changed
	err  error     // why appends are refused
	// closing: no new operations; the flusher writes what is there and ends.
	closing bool
	// busy: an operation in progress has let go of mu to wait for a file. Nobody else may touch cur.
	busy bool
	// barrier: only Reserve operations may begin.
	barrier bool
	quiet   bool // no operations at all

	cur   *buffer // being filled
	spare *buffer // nil while the flusher writes it
	mark  Mark    // end of the stream
	// recorded is mark without what a replica may never confirm: what is no record, and events, which old ones do not know.
	recorded Mark
	pos      int // where the next record goes in current
	app      Appender

	current   *file
	data      []*file // closed files, by id
	next      *file   // opened ahead
	nextErr   error   // why there is none
	nextFail  time.Time
	pool      []*file // free files, by id
	nextID    int64   // id of the next file
	slots     []*file
	idleSlots []uint32

	live        liveMap
	txs         map[int64]*txn
	idleTxs     []*txn
	compaction  *compaction
	compactSoon bool
	compactAt   int // number of data files below which compaction is not tried again after a failure
	pins        int // reclaim and compaction rest
	tap         Tap

	// Flusher.
	sleeping bool
	dormant  bool // sleeping without a timer: an append must wake it
	wake     chan struct{}
	synced   Mark          // written and, unless NoDatasync, synced
	writing  atomic.Int64  // when the batch in hand was taken, ns since the epoch; 0 none
	dirty    bool          // current has written bytes that are not synced; the flusher's own
	hands    chan struct{} // calls the keeper
	flushing stopwatch     // of the batch under way
	rolling  stopwatch     // of an append that waits for the next file

	// Completions.
	cmu       sync.Mutex
	waiting   []waiter // durable up to written, not told yet
	first     int      // of waiting
	written   Mark
	confirmed Mark
	gated     bool
	lost      bool // the tap: what it confirms now comes too late
	dead      bool // tell nobody any more
	calls     []waiter
	telling   atomic.Int32
	tellMu    sync.Mutex // held while telling: Close waits for it
	told      atomic.Uint64
	hooks     atomic.Pointer[Hooks]
	reported  atomic.Bool // the failure, to hooks
}

// Hooks are the journal's calls to its owner beside waiters. Either may be nil.
type Hooks struct {
	// BatchEnd follows each group of waiters.
	BatchEnd func()
	// Fatal is called once, on a goroutine of its own, when a write or sync has failed.
	Fatal func(error)
}

// Start sets the hooks. To be called before the first append with a waiter.
func (j *Journal) Start(h Hooks) {
	j.hooks.Store(&h)
	j.mu.Lock()
	err := j.err
	j.mu.Unlock()
	if errors.Is(err, ErrFailed) {
		j.report(err)
	}
}

// report tells the owner of the failure, once: a journal may fail while it is started.
func (j *Journal) report(err error) {
	if h := j.hooks.Load(); h != nil && h.Fatal != nil && j.reported.CompareAndSwap(false, true) {
		go h.Fatal(err) // it may close the journal, which waits for the goroutine we are on
	}
}

// MaxRecord is the largest record that is taken, in bytes as [Kind.Size] counts them.
func (j *Journal) MaxRecord() int {
	n := j.o.FileSize - j.o.firstPos()
	if j.o.BufferSize > 0 {
		n = min(n, j.o.BufferSize)
	}
	return n
}

// Synced is the mark up to which waiters are told. It is set before they are called, so that whoever appends, puts a
// waiter's work aside and then reads Synced misses nothing.
func (j *Journal) Synced() Mark { return Mark(j.told.Load()) }

// Live is the number of live records.
func (j *Journal) Live() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.live.n
}

// IsLive tells whether a record of that id was added and not deleted.
func (j *Journal) IsLive(id int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.live.find(id) != nil
}

// fail ends the journal: no retry, no further completion, all later appends refused.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	if j.err != nil {
		j.mu.Unlock()
		return
	}
	j.err = fmt.Errorf("%w: %w", ErrFailed, err)
	err = j.err
	close(j.stop)
	j.wait.Broadcast()
	j.mu.Unlock()

	j.cmu.Lock()
	j.dead = true
	j.cmu.Unlock()
	j.log.Error("journal failed, nothing more will be acknowledged", "dir", j.o.Dir, "error", err)
	j.report(err)
}

// Busy tells for how long the flusher has been writing and syncing one batch; 0 when it is not.
func (j *Journal) Busy(now time.Time) time.Duration {
	if since := j.writing.Load(); since != 0 {
		return now.Sub(time.Unix(0, since))
	}
	return 0
}

// Flush returns when everything appended before the call is written and synced.
func (j *Journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flush()
}

func (j *Journal) flush() error {
	m := j.mark
	for j.synced < m {
		if j.err != nil {
			return j.err
		}
		j.cur.asked, j.cur.sync = true, true
		j.wakeFlusher()
		j.wait.Wait()
	}
	return nil
}

// Close writes and syncs everything, tells the waiters and closes the files. After it returns nobody is told anything, and nothing
// is done to files.
func (j *Journal) Close() error {
	j.mu.Lock()
	for j.barrier && j.err == nil {
		j.wait.Wait()
	}
	if errors.Is(j.err, ErrClosed) {
		j.mu.Unlock()
		return nil
	}
	j.closing = true
	j.wait.Broadcast()
	for j.busy {
		j.wait.Wait()
	}
	err := j.flush()
	for err == nil && j.synced < j.mark { // what waiters have appended meanwhile
		err = j.flush()
	}
	if j.err == nil {
		j.err = ErrClosed
		close(j.stop)
	}
	j.wait.Broadcast()
	j.wakeFlusher()
	j.mu.Unlock()
	j.work.Wait()
	j.mu.Lock()
	for j.compaction != nil { // somebody has asked for it; it finds out soon
		j.wait.Wait()
	}
	j.mu.Unlock()

	j.complete()
	j.tellMu.Lock()
	j.cmu.Lock()
	j.dead = true
	j.cmu.Unlock()
	j.tellMu.Unlock()
	for _, f := range append([]*file{j.current, j.next}, j.data...) {
		if f != nil && f.handle != nil {
			err = errors.Join(err, f.handle.Close())
			f.handle = nil
		}
	}
	return err
}
