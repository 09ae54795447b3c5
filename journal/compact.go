package journal

import (
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/journal/fs"
)

// compaction rewrites the live records of all closed files into few new ones while appends go on. See the package comment
// for its steps on disk.
//
// In memory it works like this. It begins by rolling to a new file, so that everything in the inputs is finished but for
// the transactions that are open at that moment; those are remembered. Then it reads the inputs and asks for each
// record whether its id is still live. What it writes is noted in out. Deletes and ends of those transactions
// that come meanwhile go to the newer files as ever and are noted in dead and ended. In the end, shard by shard, each
// live id's charges on inputs are replaced by those on outputs; what has died since it was copied is charged to the
// outputs and taken back by the file that holds its delete. So the account is exact at every moment.
type compaction struct {
	j       *Journal
	inputs  []*file
	isInput []bool // by slot
	limit   int64  // ids of outputs must stay below
	open    map[int64]*txCopy
	dead    liveMap // id → slot of the file with its delete
	out     liveMap
	done    bool // swapped: nothing needs to be noted any more

	held    map[heldKey]*heldUpdate
	order   []heldKey
	pending map[int64]*heldTx
	outputs []*file
	w       *outputWriter
	split   bool
	batch   []Record
	live    []bool // of batch
	txLive  []bool
}

// txCopy is what was written of a transaction that was open at the beginning.
type txCopy struct {
	recs  []txRecord
	files []txFile
	ended bool
	// of the end:
	in        *file
	committed bool
}

// heldTx gathers a finished transaction until its commit.
type heldTx struct {
	recs []Record
	file *file
	n    int32
}

type heldKey struct {
	id       int64
	userType byte
	key      uint64
}

// heldUpdate is the last update of its kind.
type heldUpdate struct {
	payload []byte
	compact uint8
}

var errCompactionFull = errors.New("the live records take more files than there are")

// ended notes that a transaction has ended in h. Called with mu held.
func (c *compaction) ended(tx int64, h *file, committed bool) {
	if t := c.open[tx]; t != nil && !c.done {
		t.ended, t.in, t.committed = true, h, committed
	}
}

// wantsCompaction is the rule of spec section 1.9. Called with mu held.
func (j *Journal) wantsCompaction() bool {
	n := len(j.data)
	if j.o.CompactMinFiles <= 0 || n <= j.o.CompactMinFiles || n <= j.compactAt || j.compaction != nil || j.compactSoon || j.pins > 0 || j.closing {
		return false
	}
	const updateFactor = 10
	var live, size int64
	adds, replaceable := 0, 0
	for _, f := range j.data {
		live += f.live
		size += int64(j.o.FileSize)
		adds += f.adds
		replaceable += f.replaceable
	}
	return live*100 < size*int64(j.o.CompactPercentage) || adds > 0 && replaceable/adds > updateFactor
}

func (j *Journal) compactInBackground() {
	if err := j.compact(); err != nil {
		j.log.Warn("journal compaction given up; it will be tried again when there are more files", "dir", j.o.Dir, "error", err)
	}
}

// Compact rewrites all live records into as few files as they need. When it returns an error that is not ErrFailed, nothing
// has changed.
func (j *Journal) Compact() error {
	j.mu.Lock()
	for j.compaction != nil && j.err == nil {
		j.wait.Wait()
	}
	j.mu.Unlock()
	return j.compact()
}

func (j *Journal) compact() error {
	c, err := j.beginCompaction()
	if c == nil {
		j.mu.Lock()
		j.compactSoon = false
		j.mu.Unlock()
		return err
	}
	err = c.run()
	j.mu.Lock()
	j.compaction, j.compactSoon = nil, false
	j.compactAt = 0
	if err != nil {
		j.compactAt = len(j.data)
	}
	j.wait.Broadcast()
	j.callHands()
	j.mu.Unlock()
	return err
}

func (j *Journal) beginCompaction() (*compaction, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.busy && j.err == nil {
		j.wait.Wait()
	}
	if j.err != nil {
		return nil, j.err
	}
	if j.compaction != nil || j.pins > 0 {
		return nil, nil
	}
	if j.pos == j.o.firstPos() && len(j.data) == 0 {
		return nil, nil
	}
	if j.pos > j.o.firstPos() {
		if err := j.roll(); err != nil {
			return nil, err
		}
	}
	c := &compaction{j: j, limit: j.current.id, open: map[int64]*txCopy{}, isInput: make([]bool, len(j.slots)),
		held: map[heldKey]*heldUpdate{}, pending: map[int64]*heldTx{}}
	c.inputs = append(c.inputs, j.data...)
	for _, f := range c.inputs {
		c.isInput[f.slot] = true
	}
	for tx := range j.txs {
		c.open[tx] = &txCopy{}
	}
	j.compaction = c
	return c, nil
}

func (c *compaction) run() error {
	j := c.j
	if err := c.sealed(); err != nil {
		return err
	}
	err := c.copyAll()
	if err == nil {
		err = c.verify()
	}
	if err == nil {
		// What was left out because it is dead must be dead after a crash, too.
		err = j.Flush()
	}
	var ctl *control
	if err == nil {
		ctl = c.control()
		err = j.o.writeControl(ctl)
	}
	if err != nil {
		c.abandon(err)
		return fmt.Errorf("journal: compact %s: %w", j.o.Dir, err)
	}
	// From here on the compaction has happened; a crash finishes it at the next load.
	c.swap()
	if err := c.finish(); err != nil {
		j.fail(fmt.Errorf("compact: %w", err))
		return fmt.Errorf("journal: compact %s: %w", j.o.Dir, err)
	}
	j.log.Info("journal compacted", "dir", j.o.Dir, "files", len(c.inputs), "into", len(c.outputs))
	return nil
}

// sealed waits until the inputs are whole on disk.
func (c *compaction) sealed() error {
	j := c.j
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(c.inputs) > 0 && !c.inputs[len(c.inputs)-1].sealed {
		if j.err != nil {
			return j.err
		}
		j.cur.asked, j.cur.sync = true, true
		j.wakeFlusher()
		j.wait.Wait()
	}
	return nil
}

// errCompactionInput: an input could not be read, or holds less than the account says. The inputs stay.
var errCompactionInput = errors.New("input is damaged")

// abandon cleans up when there will be no control file.
func (c *compaction) abandon(err error) {
	j := c.j
	switch {
	case errors.Is(err, ErrClosed):
	case fs.NoSpace(err) && !errors.Is(err, ErrFailed), errors.Is(err, errCompactionFull), errors.Is(err, errCompactionInput):
	default:
		j.fail(fmt.Errorf("compact: %w", err))
		return
	}
	if c.w != nil && c.w.f != nil {
		_ = c.w.f.Close()
	}
	for _, f := range c.outputs {
		_ = j.o.FS.Remove(j.o.path(f.name + compacting)) // else the next load does it
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range c.outputs {
		j.leave(f)
	}
}

// copyAll writes the outputs.
func (c *compaction) copyAll() error {
	for _, f := range c.inputs {
		b, err := fs.ReadFile(c.j.o.FS, c.j.o.path(f.name))
		if err != nil {
			return fmt.Errorf("%w: read %s: %w", errCompactionInput, f.name, err)
		}
		h, err := ReadHeader(b)
		if err != nil || h.ID != f.id {
			return fmt.Errorf("%w: %s: header %+v: %w", errCompactionInput, f.name, h, err)
		}
		s := NewScanner(b, h, false)
		for more := true; more; {
			c.batch = c.batch[:0]
			for len(c.batch) < 256 && more {
				var r Record
				if more = s.Next(&r); more {
					c.batch = append(c.batch, r)
				}
			}
			if c.live, err = c.look(c.batch, c.live); err != nil {
				return err
			}
			for i := range c.batch {
				if err := c.record(f, &c.batch[i], c.live[i]); err != nil {
					return err
				}
			}
		}
		for _, t := range c.pending { // b goes
			for i := range t.recs {
				if r := &t.recs[i]; !r.own {
					r.Payload, r.own = append([]byte(nil), r.Payload...), true
				}
			}
		}
	}
	for _, k := range c.order {
		u := c.held[k]
		c.batch = append(c.batch[:0], Record{Kind: Update, ID: k.id, UserType: k.userType, Compact: u.compact, Payload: u.payload})
		live, err := c.look(c.batch, c.live)
		if err == nil && live[0] {
			err = c.write(&c.batch[0])
		}
		if err != nil {
			return err
		}
		c.live = live
	}
	if c.w != nil {
		if err := c.w.close(); err != nil {
			return err
		}
	}
	return c.j.o.FS.SyncDir(c.j.o.Dir)
}

// look finds out which records are of live ids. It fails when the journal has ended.
func (c *compaction) look(recs []Record, live []bool) ([]bool, error) {
	live = live[:0]
	c.j.mu.Lock()
	defer c.j.mu.Unlock()
	if c.j.err != nil {
		return nil, c.j.err
	}
	for i := range recs {
		live = append(live, c.j.live.find(recs[i].ID) != nil)
	}
	return live, nil
}

func (c *compaction) record(f *file, r *Record, live bool) error {
	if t := c.open[r.Tx]; t != nil && r.Kind != Add && r.Kind != Update && r.Kind != Delete && r.Kind != Event {
		switch r.Kind {
		case AddTx, UpdateTx, DeleteTx, Prepare:
			return c.writeTx(t, r)
		}
		return nil // the end of an earlier transaction of that id cannot be here: ids are not reused
	}
	switch r.Kind {
	case Add, Update:
		if live {
			return c.keep(r)
		}
	case AddTx, UpdateTx, DeleteTx:
		t := c.pending[r.Tx]
		if t == nil {
			t = &heldTx{}
			c.pending[r.Tx] = t
		}
		if t.file != f {
			t.file, t.n = f, 0
		}
		t.n++
		if r.Kind != DeleteTx {
			t.recs = append(t.recs, *r)
		}
	case Commit:
		t := c.pending[r.Tx]
		if t == nil {
			return nil
		}
		delete(c.pending, r.Tx)
		if t.file != f {
			t.n = 0
		}
		if t.n != r.N {
			return nil // the load has dropped it
		}
		var err error
		if c.txLive, err = c.look(t.recs, c.txLive); err != nil {
			return err
		}
		for i := range t.recs {
			rec := &t.recs[i]
			if !c.txLive[i] {
				continue
			}
			// It is committed for good: a plain record says so without a commit beside it.
			rec.Kind -= AddTx - Add
			if err := c.keep(rec); err != nil {
				return err
			}
		}
	case Rollback:
		delete(c.pending, r.Tx)
	}
	return nil
}

// keep writes the record of a live id, or holds it back if a later one may replace it.
func (c *compaction) keep(r *Record) error {
	if r.Kind == Update && c.j.o.Replaceable != nil {
		if key, ok := c.j.o.Replaceable(r.UserType, r.Payload); ok {
			k := heldKey{r.ID, r.UserType, key}
			u := c.held[k]
			if u == nil {
				u = &heldUpdate{}
				c.held[k] = u
				c.order = append(c.order, k)
			}
			u.payload, u.compact = append(u.payload[:0], r.Payload...), r.Compact
			return nil
		}
	}
	return c.write(r)
}

func (c *compaction) write(r *Record) error {
	f, err := c.put(r)
	if err != nil {
		return err
	}
	c.out.add(r.ID, f.slot, uint32(r.Kind.Size(len(r.Payload))))
	return nil
}

func (c *compaction) writeTx(t *txCopy, r *Record) error {
	size := r.Kind.Size(len(r.Payload))
	if err := c.room(r, size); err != nil {
		return err
	}
	f := c.outputs[len(c.outputs)-1]
	if n := len(t.files); n == 0 || t.files[n-1].slot != f.slot {
		t.files = append(t.files, txFile{slot: f.slot})
	}
	x := &t.files[len(t.files)-1]
	if r.Kind == Prepare {
		r.N = x.n
	} else {
		x.n++
		t.recs = append(t.recs, txRecord{id: r.ID, slot: f.slot, size: uint32(size), kind: r.Kind})
	}
	_, err := c.put(r)
	return err
}

// room makes sure that the current output takes a record.
func (c *compaction) room(r *Record, size int) error {
	o := &c.j.o
	young := r.Kind <= UpdateTx && r.Compact < 2
	begin := c.w == nil || c.w.pos+size > o.FileSize
	if young && !c.split {
		c.split = true
		begin = begin || c.w.pos > o.firstPos() && c.inputs[0].id+int64(len(c.outputs)) < c.limit
	}
	if !begin {
		return nil
	}
	if o.firstPos()+size > o.FileSize {
		return fmt.Errorf("%w: a record of %d bytes does not fit", errCompactionFull, size)
	}
	id := c.inputs[0].id + int64(len(c.outputs))
	if id >= c.limit {
		return errCompactionFull
	}
	if c.w != nil {
		if err := c.w.close(); err != nil {
			return err
		}
	}
	c.j.mu.Lock()
	f := c.j.newFile()
	f.id, f.version = id, formatVersion
	c.j.enter(f)
	c.j.mu.Unlock()
	c.outputs = append(c.outputs, f)
	var err error
	c.w, err = newOutputWriter(o, f, c.w)
	return err
}

// put encodes a record into the current output.
func (c *compaction) put(r *Record) (*file, error) {
	size := r.Kind.Size(len(r.Payload))
	if err := c.room(r, size); err != nil {
		return nil, err
	}
	f := c.outputs[len(c.outputs)-1]
	w := *r
	w.File, w.Compact = recordFileID(f.id), 0
	if r.Kind <= UpdateTx {
		w.Compact = min(r.Compact+1, 127)
	}
	switch r.Kind {
	case Add, AddTx:
		f.adds++
	case Update, UpdateTx:
		c.j.countReplaceable(f, r.UserType, r.Payload)
	}
	copy(putRecord(c.w.b[c.w.pos:c.w.pos+size], &w, len(r.Payload)), r.Payload)
	c.w.pos += size
	return f, nil
}

// outputWriter gathers an output file, which is written whole.
type outputWriter struct {
	o   *Options
	f   fs.File
	b   []byte
	pos int
}

func newOutputWriter(o *Options, f *file, last *outputWriter) (*outputWriter, error) {
	w := &outputWriter{o: o, pos: o.firstPos()}
	if last != nil {
		w.b = last.b
		clear(w.b[:last.pos])
	} else {
		w.b = make([]byte, o.FileSize)
	}
	putHeader(w.b, f.id)
	var err error
	w.f, err = o.FS.Create(o.path(f.name + compacting))
	return w, err
}

func (w *outputWriter) close() error {
	_, err := w.f.WriteAt(w.b, 0)
	if err == nil {
		err = w.f.Datasync()
	}
	return errors.Join(err, w.f.Close())
}

// verify makes sure that nothing live stays behind in the inputs.
func (c *compaction) verify() error {
	j := c.j
	var inTx idSet
	for _, t := range c.open {
		for _, r := range t.recs {
			inTx.add(r.id)
		}
	}
	for s := range j.live.shards {
		if err := c.verifyShard(s, &inTx); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for tx, t := range c.open {
		if o := j.txs[tx]; o != nil && !t.ended {
			n := 0
			for _, r := range o.recs {
				if c.input(r.slot) {
					n++
				}
			}
			if n != len(t.recs) {
				return fmt.Errorf("%w: transaction %d has %d records, %d were found", errCompactionInput, tx, n, len(t.recs))
			}
		}
	}
	return nil
}

func (c *compaction) verifyShard(s int, inTx *idSet) error {
	j := c.j
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.live.shards[s].slots {
		e := &j.live.shards[s].slots[i]
		if e.n == 0 {
			continue
		}
		on := false
		j.live.each(e, func(x charge) { on = on || c.input(x.slot) })
		if on && c.out.find(e.id) == nil && !inTx.has(e.id) {
			return fmt.Errorf("%w: record %d was not found", errCompactionInput, e.id)
		}
	}
	return nil
}

func (c *compaction) input(slot uint32) bool { return int(slot) < len(c.isInput) && c.isInput[slot] }

func (c *compaction) control() *control {
	ctl := &control{}
	for _, f := range c.inputs {
		ctl.inputs = append(ctl.inputs, f.name)
	}
	for _, f := range c.outputs {
		ctl.outputs = append(ctl.outputs, f.name+compacting)
	}
	return ctl
}

// writeControl makes a compaction final. After an error there is no control file.
func (o *Options) writeControl(ctl *control) error {
	name := o.path(controlFile)
	f, err := o.FS.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(ctl.encode(), 0)
	if err == nil {
		err = f.Datasync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = o.FS.SyncDir(o.Dir)
	}
	if err != nil {
		if gone := o.remove(controlFile); gone != nil {
			// It may be on disk or not, and so the compaction may have happened or not.
			return fmt.Errorf("%w: write %s: %v; remove it: %v", ErrFailed, name, err, gone)
		}
	}
	return err
}

// swap moves the account from the inputs to the outputs.
func (c *compaction) swap() {
	j := c.j
	deletes := map[int64]uint32{} // id → output that holds the DELETE_TX of a transaction committed meanwhile
	j.mu.Lock()
	for tx, t := range c.open {
		c.swapTx(tx, t, deletes)
	}
	j.mu.Unlock()
	var rest []charge
	for s := range c.out.shards {
		j.mu.Lock()
		for i := range c.out.shards[s].slots {
			if e := &c.out.shards[s].slots[i]; e.n != 0 {
				rest = c.swapID(e, deletes, rest)
			}
		}
		j.mu.Unlock()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	c.done = true
	j.data = append(append([]*file(nil), c.outputs...), j.data[len(c.inputs):]...)
	for _, f := range c.outputs {
		j.seal(f)
	}
	for _, f := range c.inputs {
		j.leave(f)
	}
}

// swapTx gives a transaction that was open at the beginning its new files.
func (c *compaction) swapTx(tx int64, t *txCopy, deletes map[int64]uint32) {
	j := c.j
	for _, x := range t.files {
		j.slots[x.slot].left++
	}
	if !t.ended {
		o := j.txs[tx]
		n := 0
		for i := range o.recs {
			if c.input(o.recs[i].slot) {
				o.recs[i] = t.recs[n]
				n++
			}
		}
		files := append([]txFile(nil), t.files...)
		for _, x := range o.files {
			if !c.input(x.slot) {
				files = append(files, x)
			}
		}
		o.files = files
		return
	}
	for _, x := range t.files {
		j.takeBack(t.in, x.slot, 1)
	}
	if !t.committed {
		return
	}
	for _, r := range t.recs {
		if r.kind == DeleteTx {
			deletes[r.id] = r.slot
		} else {
			c.out.add(r.id, r.slot, r.size)
		}
	}
}

// swapID gives an id that was copied its new charges.
func (c *compaction) swapID(out *liveEntry, deletes map[int64]uint32, rest []charge) []charge {
	j := c.j
	e := j.live.find(out.id)
	if e == nil {
		d := c.dead.find(out.id)
		if d == nil {
			return rest // an update of what was not live when its transaction was committed
		}
		slot := d.slot
		if c.input(slot) {
			slot = deletes[out.id]
		}
		h := j.slots[slot]
		c.out.each(out, func(x charge) {
			j.slots[x.slot].left += int(x.n)
			j.takeBack(h, x.slot, int(x.n))
		})
		return rest
	}
	rest = rest[:0]
	j.live.each(e, func(x charge) {
		if !c.input(x.slot) {
			rest = append(rest, x)
		}
	})
	for i := e.more; i != 0; {
		next := j.live.nodes.at(i).next
		j.live.nodes.put(i)
		i = next
	}
	e.charge, e.more = charge{}, 0
	c.out.each(out, func(x charge) {
		j.slots[x.slot].left += int(x.n)
		j.slots[x.slot].live += int64(x.size)
		rest = append(rest, x)
	})
	e.charge = rest[0]
	for _, x := range rest[1:] {
		j.live.charge(e, x)
	}
	return rest
}

// finish does on disk what the control file promises. The inputs join the pool only when it is gone: until then a crash
// would delete them.
func (c *compaction) finish() error {
	j := c.j
	var kept []*file
	for _, f := range c.inputs {
		j.mu.Lock()
		ok, err := j.retire(f, len(kept))
		j.mu.Unlock()
		if err != nil {
			return err
		}
		if ok {
			kept = append(kept, f)
		}
	}
	for _, f := range c.outputs {
		if err := j.o.FS.Rename(j.o.path(f.name+compacting), j.o.path(f.name)); err != nil {
			return fmt.Errorf("rename %s: %w", j.o.path(f.name+compacting), err)
		}
	}
	if err := j.o.FS.SyncDir(j.o.Dir); err != nil {
		return err
	}
	if err := j.o.remove(controlFile); err != nil {
		return fmt.Errorf("remove %s: %w", controlFile, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pool = append(j.pool, kept...)
	j.nextErr = nil
	return nil
}

// CompactFiles compacts the journal of a stopped broker.
func CompactFiles(o Options) error {
	j, _, err := Open(o, Visitor{})
	if err != nil {
		return err
	}
	return errors.Join(j.Compact(), j.Close())
}
