package journal

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Visitor takes what a load finds. Its methods may be nil. An error ends the load.
type Visitor struct {
	// Record gets the adds and updates that count, in load order: those of a transaction where its commit stands, and
	// none whose id is deleted anywhere. The payload is valid during the call.
	Record func(r *Record) error
	// Prepared gets, after all records, the transactions that are prepared, in the order they began.
	Prepared func(t *Transaction) error
	// Failed gets, after the prepared ones, the transactions that were left open and are rolled back.
	Failed func(t *Transaction) error
}

// Transaction is a transaction that is neither committed nor rolled back.
type Transaction struct {
	ID      int64
	Xid     []byte   // nil when it is not prepared
	Records []Record // AddTx, UpdateTx and DeleteTx in order
}

// Loaded says what a load found.
type Loaded struct {
	MaxID      int64   // largest record id, -1 without any; transaction ids do not count
	RolledBack []int64 // transactions that were open and not prepared, or whose prepare did not match
	Dropped    []int64 // transactions whose commit did not match their records
	Files      int     // those that hold data
}

// Read loads a journal without changing or keeping anything: as Open would see it, a pending compaction control file and
// interrupted retention renames included. dir must exist.
func Read(o Options, v Visitor) (*Loaded, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	j := &Journal{o: o, log: o.Log, txs: map[int64]*txn{}}
	l := &loader{j: j, v: v}
	if err := l.load(p.files); err != nil {
		return nil, err
	}
	if err := l.unfinished(); err != nil {
		return nil, err
	}
	return &l.result, nil
}

// Open loads a journal and makes it ready for appends. The folder must exist; an empty one is a new journal.
func Open(o Options, v Visitor) (*Journal, *Loaded, error) {
	j, l, err := openFrom(o, v, 1)
	if err != nil {
		return nil, nil, err
	}
	if err := j.rollbackOpen(l.RolledBack); err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	return j, l, nil
}

// openFrom is Open, except that new files get ids from firstID on and that transactions which are open stay so.
func openFrom(o Options, v Visitor, firstID int64) (*Journal, *Loaded, error) {
	if err := o.complete(); err != nil {
		return nil, nil, err
	}
	p, err := o.plan()
	if err != nil {
		return nil, nil, err
	}
	if err := o.apply(p); err != nil {
		return nil, nil, err
	}
	maxID := p.maxID
	if p, err = o.plan(); err != nil {
		return nil, nil, err
	}
	j := &Journal{o: o, log: o.Log, txs: map[int64]*txn{}, stop: make(chan struct{}), wake: make(chan struct{}, 1), hands: make(chan struct{}, 1)}
	j.wait.L = &j.mu
	l := &loader{j: j, v: v}
	if err := l.load(p.files); err != nil {
		return nil, nil, err
	}
	if err := l.unfinished(); err != nil {
		return nil, nil, err
	}
	j.nextID = max(maxID+1, p.maxID+1, firstID)
	if err := j.arrange(l); err != nil {
		return nil, nil, err
	}
	j.cur, j.spare = newBuffer(o.Buffer, o.BlockSize), newBuffer(o.Buffer, o.BlockSize)
	j.cur.begin(j.current, j.pos)
	j.work.Add(2)
	go j.flusher()
	go j.keeper()
	j.callHands()
	return j, &l.result, nil
}

// plan is what a folder holds and what has to be done to it before a load.
type plan struct {
	control *control // of a compaction that had written it
	files   []FileInfo
	short   []string // files without a whole header: to be deleted
	rename  [][2]string
	remove  []string // leftovers
	maxID   int64    // largest file id in a header or a name
}

func (o *Options) plan() (*plan, error) {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("journal: list %s: %w", o.Dir, err)
	}
	p := &plan{}
	there := map[string]bool{}
	for _, n := range names {
		there[n] = true
	}
	as := map[string]string{} // what each name is after recovery; "" gone
	if there[controlFile] {
		if p.control, err = readControl(o.FS, o.path(controlFile)); err != nil {
			return nil, err
		}
		p.remove = append(p.remove, controlFile)
	}
	if c := p.control; c != nil {
		for _, n := range c.inputs {
			as[n] = ""
		}
		for _, n := range c.outputs {
			as[n] = strings.TrimSuffix(n, compacting)
		}
		for _, r := range c.renames {
			as[r[0]] = r[1]
			if _, ok := as[r[1]]; !ok && there[r[0]] {
				as[r[1]] = ""
			}
		}
	}
	suffix := "." + o.Ext
	for _, n := range names {
		to, decided := as[n]
		switch {
		case decided && to == "":
			p.remove = append(p.remove, n)
			continue
		case decided:
			p.rename = append(p.rename, [2]string{n, to})
		case strings.HasSuffix(n, suffix+compacting), strings.HasSuffix(n, suffix+creating):
			p.remove = append(p.remove, n)
			continue
		case strings.HasSuffix(n, suffix+retaining) && !there[strings.TrimSuffix(n, retaining)]:
			to = strings.TrimSuffix(n, retaining)
			p.rename = append(p.rename, [2]string{n, to})
		case strings.HasSuffix(n, suffix):
			to = n
		default:
			continue
		}
		before := len(p.files)
		if p.files, err = appendInfo(p.files, o.FS, o.Dir, n, to); err != nil {
			return nil, err
		}
		if len(p.files) == before {
			p.short = append(p.short, n)
		} else {
			p.maxID = max(p.maxID, p.files[before].ID)
		}
		p.maxID = max(p.maxID, o.number(n))
	}
	sortFiles(p.files)
	return p, nil
}

// apply does what a plan says. Done half, it can be done again: the control file goes last.
func (o *Options) apply(p *plan) error {
	for _, n := range append(p.remove, p.short...) {
		if n == controlFile {
			continue
		}
		if err := o.FS.Remove(o.path(n)); err != nil {
			return fmt.Errorf("journal: remove %s: %w", o.path(n), err)
		}
	}
	for _, r := range p.rename {
		if err := o.FS.Rename(o.path(r[0]), o.path(r[1])); err != nil {
			return fmt.Errorf("journal: rename %s to %s: %w", o.path(r[0]), r[1], err)
		}
	}
	if len(p.remove)+len(p.short)+len(p.rename) == 0 {
		return nil
	}
	if err := o.FS.SyncDir(o.Dir); err != nil {
		return fmt.Errorf("journal: sync %s: %w", o.Dir, err)
	}
	for _, n := range p.remove {
		if n == controlFile {
			return o.remove(n)
		}
	}
	return nil
}

// loader reads the files twice: the first pass finds which transactions and which deletes count and builds the account,
// the second hands out what is left. So memory is needed for what is live and not for what was written.
type loader struct {
	j      *Journal
	v      Visitor
	result Loaded

	files    []*loadedFile
	deleted  idSet
	verdicts []bool // of each commit of a known transaction, in order
	began    []int64
	pass2    map[int64]*Transaction
	window   []byte // lent to one scanner after the other
}

type loadedFile struct {
	file
	has  bool // holds data
	last int  // end of its last record
}

func (l *loader) load(files []FileInfo) error {
	l.result.MaxID = -1
	for _, f := range files {
		lf := &loadedFile{file: file{name: f.as, id: f.ID, version: f.Version, size: f.Size}}
		l.files = append(l.files, lf)
		l.j.enter(&lf.file)
		if err := l.scan(&f, int(f.Size), func(s *Scanner) error { l.account(lf, s); return nil }); err != nil {
			return err
		}
	}
	for _, lf := range l.files {
		if lf.has {
			l.result.Files++
		}
	}
	for id, t := range l.j.txs {
		if t.state != txPrepared {
			l.result.RolledBack = append(l.result.RolledBack, id)
		}
	}
	sort.Slice(l.result.RolledBack, func(i, k int) bool { return l.result.RolledBack[i] < l.result.RolledBack[k] })
	if l.v.Record == nil && l.v.Prepared == nil && l.v.Failed == nil {
		return nil
	}
	l.pass2 = map[int64]*Transaction{}
	for i, lf := range l.files {
		if lf.has && lf.last > 0 {
			if err := l.scan(&files[i], lf.last, l.deliver); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan lets f read the records in the first size bytes of a file.
func (l *loader) scan(info *FileInfo, size int, f func(*Scanner) error) error {
	file, err := l.j.o.FS.OpenRead(l.j.o.path(info.Name))
	if err != nil {
		return fmt.Errorf("journal: open %s: %w", info.Name, err)
	}
	s := scanFile(file, size, info.Header, l.window)
	err = f(s)
	if err == nil {
		err = s.Err
	}
	l.window = s.b
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("journal: load %s: %w", info.Name, err)
	}
	return nil
}

// account is the first pass over a file.
func (l *loader) account(lf *loadedFile, s *Scanner) {
	j, f := l.j, &lf.file
	var r Record
	for s.Next(&r) {
		switch r.Kind {
		case Add, AddTx:
			f.adds++
			l.result.MaxID = max(l.result.MaxID, r.ID)
		case Update, UpdateTx:
			j.countReplaceable(f, r.UserType, r.Payload)
			l.result.MaxID = max(l.result.MaxID, r.ID)
		}
		switch r.Kind {
		case Event:
			continue
		case Add:
			if !l.deleted.has(r.ID) {
				j.addLive(f, r.ID, r.Size())
			}
		case Update:
			j.updateLive(f, r.ID, r.Size())
		case Delete:
			l.deleted.add(r.ID)
			j.deleteLive(f, r.ID)
		case AddTx, UpdateTx, DeleteTx:
			if j.txs[r.Tx] == nil {
				l.began = append(l.began, r.Tx)
			}
			j.txRecord(f, r.Tx, txRecord{id: r.ID, size: uint32(r.Size()), kind: r.Kind})
		case Prepare:
			if j.txs[r.Tx] == nil {
				l.began = append(l.began, r.Tx)
			}
			n := j.txs[r.Tx].inFile(f.slot)
			j.prepareTx(f, r.Tx, r.Payload)
			if n != r.N {
				j.txs[r.Tx].state = txInvalid
				j.log.Warn("AMQ142014: prepared transaction has lost records and is rolled back", "tx", r.Tx, "file", lf.name, "records", n, "want", r.N)
			}
		case Commit:
			t := j.txs[r.Tx]
			if t == nil {
				continue // its body was reclaimed
			}
			n := t.inFile(f.slot)
			l.verdicts = append(l.verdicts, n == r.N)
			if n != r.N {
				j.log.Warn("AMQ142014: committed transaction has lost records and is ignored", "tx", r.Tx, "file", lf.name, "records", n, "want", r.N)
				l.result.Dropped = append(l.result.Dropped, r.Tx)
				j.dropTx(r.Tx)
				break
			}
			for i := range t.recs {
				if rec := &t.recs[i]; rec.kind == DeleteTx {
					l.deleted.add(rec.id)
				} else if rec.kind == AddTx && l.deleted.has(rec.id) {
					rec.kind = UpdateTx // of nothing: not charged
				}
			}
			j.commitTx(f, r.Tx)
		case Rollback:
			if j.txs[r.Tx] == nil {
				continue
			}
			j.rollbackTx(f, r.Tx)
		}
		lf.has = true
	}
	lf.last = s.Last
	lf.has = lf.has || s.Damaged
}

// deliver is the second pass over a file.
func (l *loader) deliver(s *Scanner) error {
	var r Record
	for s.Next(&r) {
		t := l.pass2[r.Tx]
		switch r.Kind {
		case Add, Update:
			if err := l.record(&r); err != nil {
				return err
			}
		case AddTx, UpdateTx, DeleteTx, Prepare:
			if t == nil {
				t = &Transaction{ID: r.Tx}
				l.pass2[r.Tx] = t
			}
			if r.Kind == Prepare {
				t.Xid = append([]byte(nil), r.Payload...)
				break
			}
			r.Payload = append([]byte(nil), r.Payload...)
			t.Records = append(t.Records, r)
		case Commit:
			if t == nil {
				break
			}
			delete(l.pass2, r.Tx)
			ok := l.verdicts[0]
			l.verdicts = l.verdicts[1:]
			for i := range t.Records {
				if rec := &t.Records[i]; ok && rec.Kind != DeleteTx {
					if err := l.record(rec); err != nil {
						return err
					}
				}
			}
		case Rollback:
			delete(l.pass2, r.Tx)
		}
	}
	return nil
}

func (l *loader) record(r *Record) error {
	if l.v.Record == nil || l.deleted.has(r.ID) {
		return nil
	}
	if err := l.v.Record(r); err != nil {
		return fmt.Errorf("record %d of type %d at %d: %w", r.ID, r.UserType, r.Pos, err)
	}
	return nil
}

// unfinished hands out the transactions that are left.
func (l *loader) unfinished() error {
	visit := func(f func(*Transaction) error, prepared bool) error {
		for _, id := range l.began {
			t, p := l.j.txs[id], l.pass2[id]
			if f == nil || t == nil || p == nil || (t.state == txPrepared) != prepared {
				continue
			}
			delete(l.pass2, id) // an id that began twice is handed out once
			if err := f(p); err != nil {
				return fmt.Errorf("journal: load transaction %d: %w", id, err)
			}
		}
		return nil
	}
	if err := visit(l.v.Prepared, true); err != nil {
		return err
	}
	return visit(l.v.Failed, false)
}

// arrange sorts the files into data, current and free ones, and makes the first file of a new journal.
func (j *Journal) arrange(l *loader) error {
	o := &j.o
	last := -1
	var free []*file
	for i, lf := range l.files {
		if lf.has {
			last = i
		}
	}
	for i, lf := range l.files {
		switch {
		case !lf.has:
			j.slots[lf.slot] = nil
			j.idleSlots = append(j.idleSlots, lf.slot)
			free = append(free, &lf.file)
		case i == last && lf.version == formatVersion:
			j.current = &lf.file
			j.pos = roundUp(max(lf.last, headerSize), o.BlockSize)
		default:
			j.data = append(j.data, &lf.file)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range j.data {
		j.seal(f)
	}
	for _, f := range free {
		kept, err := j.retire(f, 0)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if kept {
			j.pool = append(j.pool, f)
		}
	}
	if j.current == nil { // empty, or only old files that must not be written to
		if len(j.pool) > 0 {
			j.current, j.pool = j.pool[0], j.pool[1:]
		} else {
			j.current = j.newFile()
		}
		j.pos = o.firstPos()
		if err := j.openForAppend(j.current); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		j.enter(j.current)
		return nil
	}
	if j.pos > int(j.current.size) {
		j.pos = int(j.current.size) &^ (o.BlockSize - 1)
	}
	if err := j.openForAppend(j.current); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// rollbackOpen ends the transactions that a crash has left open.
func (j *Journal) rollbackOpen(txs []int64) error {
	if len(txs) == 0 {
		return nil
	}
	for _, tx := range txs {
		a, err := j.Begin(Wait)
		if err != nil {
			return err
		}
		a.RollbackTx(tx)
		if _, err := a.Commit(nil, false); err != nil {
			return fmt.Errorf("journal: roll back transaction %d: %w", tx, err)
		}
	}
	return j.Flush()
}
