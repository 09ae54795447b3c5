package journal

// The account of what is live and what keeps which file. Load and append call the same functions in stream order, and
// all of them run under Journal.mu. See Artemis' Reclaimer and JournalTransaction, spec section 1.8.

// txn is a transaction that is neither committed nor rolled back.
type txn struct {
	recs  []txRecord
	files []txFile // in the order of their first record
	xid   []byte   // of its prepare
	state txState
}

type txState uint8

const (
	txOpen txState = iota
	txPrepared
	txInvalid // its prepare does not match its records: rolled back by a load
)

type txRecord struct {
	id   int64
	slot uint32
	size uint32
	kind Kind
}

// txFile: the file in slot holds n records of the transaction's body; 0 when it only holds the prepare.
type txFile struct {
	slot uint32
	n    int32
}

// inFile is the number of body records in the file in slot: what a PREPARE or COMMIT written there carries.
func (t *txn) inFile(slot uint32) int32 {
	if t == nil {
		return 0
	}
	for i := len(t.files) - 1; i >= 0; i-- {
		if t.files[i].slot == slot {
			return t.files[i].n
		}
	}
	return 0
}

// takeBack lets file h take back n needs of the file in slot.
func (j *Journal) takeBack(h *file, slot uint32, n int) {
	h.neg[slot] += n
	if h.sealed {
		j.slots[slot].left -= n
	}
}

// seal makes what f takes back count.
func (j *Journal) seal(f *file) {
	f.sealed = true
	for slot, n := range f.neg {
		j.slots[slot].left -= n
	}
}

func (j *Journal) addLive(f *file, id int64, size int) {
	j.live.add(id, f.slot, uint32(size))
	f.left++
	f.live += int64(size)
}

// updateLive charges an update; one of an id that is not live is nobody's need.
func (j *Journal) updateLive(f *file, id int64, size int) {
	if e := j.live.find(id); e != nil {
		j.live.charge(e, charge{f.slot, 1, uint32(size)})
		f.left++
		f.live += int64(size)
	}
}

// deleteLive is a delete written into h.
func (j *Journal) deleteLive(h *file, id int64) {
	removed := j.live.remove(id, func(c charge) {
		j.takeBack(h, c.slot, int(c.n))
		j.slots[c.slot].live -= int64(c.size)
	})
	if removed && j.compaction != nil {
		j.compaction.dead.add(id, h.slot, 1)
	}
}

// txAt returns the transaction, with f among its files.
func (j *Journal) txAt(id int64, f *file) *txn {
	t := j.txs[id]
	if t == nil {
		if n := len(j.idleTxs); n > 0 {
			t = j.idleTxs[n-1]
			j.idleTxs = j.idleTxs[:n-1]
		} else {
			t = new(txn)
		}
		j.txs[id] = t
	}
	if n := len(t.files); n == 0 || t.files[n-1].slot != f.slot {
		t.files = append(t.files, txFile{slot: f.slot})
		f.left++
	}
	return t
}

func (j *Journal) txRecord(f *file, tx int64, r txRecord) {
	t := j.txAt(tx, f)
	r.slot = f.slot
	t.recs = append(t.recs, r)
	t.files[len(t.files)-1].n++
}

func (j *Journal) prepareTx(f *file, tx int64, xid []byte) {
	t := j.txAt(tx, f)
	t.state = txPrepared
	t.xid = append(t.xid[:0], xid...)
}

// commitTx is a commit written into h.
func (j *Journal) commitTx(h *file, tx int64) {
	t := j.txs[tx]
	if t == nil {
		return
	}
	for _, r := range t.recs {
		switch f := j.slots[r.slot]; r.kind {
		case AddTx:
			j.addLive(f, r.id, int(r.size))
		case UpdateTx:
			j.updateLive(f, r.id, int(r.size))
		}
	}
	for _, r := range t.recs {
		if r.kind == DeleteTx {
			j.deleteLive(j.slots[r.slot], r.id)
		}
	}
	j.endTx(h, tx, t, true)
}

// rollbackTx is a rollback written into h.
func (j *Journal) rollbackTx(h *file, tx int64) {
	if t := j.txs[tx]; t != nil {
		j.endTx(h, tx, t, false)
	}
}

func (j *Journal) endTx(h *file, tx int64, t *txn, committed bool) {
	for _, x := range t.files {
		j.takeBack(h, x.slot, 1)
	}
	if j.compaction != nil {
		j.compaction.ended(tx, h, committed)
	}
	j.forgetTx(tx, t)
}

// dropTx forgets a transaction whose commit does not match its records.
func (j *Journal) dropTx(tx int64) {
	t := j.txs[tx]
	for _, x := range t.files {
		j.slots[x.slot].left--
	}
	j.forgetTx(tx, t)
}

func (j *Journal) forgetTx(tx int64, t *txn) {
	delete(j.txs, tx)
	if cap(t.recs) <= 1024 && len(j.idleTxs) < 64 {
		*t = txn{recs: t.recs[:0], files: t.files[:0], xid: t.xid[:0]}
		j.idleTxs = append(j.idleTxs, t)
	}
}

// enter gives a file a slot.
func (j *Journal) enter(f *file) {
	if n := len(j.idleSlots); n > 0 {
		f.slot = j.idleSlots[n-1]
		j.idleSlots = j.idleSlots[:n-1]
		j.slots[f.slot] = f
	} else {
		f.slot = uint32(len(j.slots))
		j.slots = append(j.slots, f)
	}
	*f = file{name: f.name, id: f.id, version: f.version, size: f.size, slot: f.slot, handle: f.handle, direct: f.direct,
		neg: map[uint32]int{}}
}

// leave takes a file that nobody needs out of the account.
func (j *Journal) leave(f *file) {
	for _, x := range j.data {
		delete(x.neg, f.slot)
	}
	if j.current != nil {
		delete(j.current.neg, f.slot)
	}
	j.slots[f.slot] = nil
	j.idleSlots = append(j.idleSlots, f.slot)
}

// reclaimable returns the oldest data file that may go, or nil.
func (j *Journal) reclaimable() *file {
	if j.compaction != nil || j.pins > 0 {
		return nil
	}
	for _, f := range j.data {
		if !f.sealed {
			return nil // files are sealed in order
		}
		if f.left > 0 {
			continue
		}
		if !j.holdsDeletes(f) {
			return f
		}
	}
	return nil
}

// holdsDeletes tells whether f deletes records of older files that are still there: without f they would be back after the
// next load.
func (j *Journal) holdsDeletes(f *file) bool {
	for slot := range f.neg {
		if x := j.slots[slot]; x.id < f.id {
			return true
		}
	}
	return false
}
