package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// history is what a client of the journal did and what it was told, against which the state after a crash is judged.
type history struct {
	ops map[int64][]*step // by record
	txs map[int64]*txSteps
	all []int64
}

type step struct {
	kind  Kind
	text  string
	acked bool
	tx    *txSteps
}

type txSteps struct {
	id        int64
	tried     bool // a commit
	acked     bool
	prepared  bool
	mayBePrep bool
}

// run is one life of a journal until its file system fails.
type run struct {
	t     *testing.T
	j     *Journal
	h     *history
	fatal chan struct{}
	r     *rand.Rand
	next  int64
}

type told struct{ c chan struct{} }

func (w told) Stored() { close(w.c) }

// op appends one operation; with wait it returns whether it was acknowledged.
func (r *run) op(wait bool, f func(a *Appender)) (tried, acked bool) {
	a, err := r.j.Begin(Wait)
	if err != nil {
		return false, false
	}
	f(a)
	if !wait {
		_, err = a.Commit(nil, false)
		return err == nil, false
	}
	w := told{make(chan struct{})}
	if _, err := a.Commit(w, true); err != nil {
		return false, false
	}
	select {
	case <-w.c:
		return true, true
	case <-r.fatal:
		return true, false
	}
}

func (r *run) id() int64 { r.next++; return r.next }

func (r *run) add(wait bool) int64 {
	id, s := r.id(), strings.Repeat("m", r.r.IntN(90))
	tried, acked := r.op(wait, func(a *Appender) { addText(a, id, s); updateText(r.t, a, id, "ref") })
	if tried {
		r.h.ops[id] = []*step{{kind: Add, text: s, acked: acked}, {kind: Update, text: "ref", acked: acked}}
		r.h.all = append(r.h.all, id)
	}
	return id
}

func (r *run) update(id int64, wait bool) {
	s := fmt.Sprint("u", r.id())
	var refused error
	tried, acked := r.op(wait, func(a *Appender) {
		var p []byte
		if p, refused = a.Update(id, 33, len(s)); refused == nil {
			copy(p, s)
		}
	})
	if tried && refused == nil {
		r.h.ops[id] = append(r.h.ops[id], &step{kind: Update, text: s, acked: acked})
	}
}

func (r *run) delete(id int64, wait bool) {
	var refused error
	tried, acked := r.op(wait, func(a *Appender) { refused = a.Delete(id) })
	if tried && refused == nil {
		r.h.ops[id] = append(r.h.ops[id], &step{kind: Delete, acked: acked})
	}
}

// tx sends n messages, updates and deletes others, and ends in one of several ways.
func (r *run) tx(n int, update, del []int64, end Kind) {
	x := &txSteps{id: r.id()}
	r.h.txs[x.id] = x
	for range n {
		id, s := r.id(), strings.Repeat("t", r.r.IntN(90))
		if tried, _ := r.op(false, func(a *Appender) { copy(a.AddTx(x.id, id, 45, len(s)), s) }); tried {
			r.h.ops[id] = append(r.h.ops[id], &step{kind: Add, text: s, tx: x})
			r.h.all = append(r.h.all, id)
		}
	}
	for _, id := range update {
		s := fmt.Sprint("a", r.id())
		if tried, _ := r.op(false, func(a *Appender) { copy(a.UpdateTx(x.id, id, 33, len(s)), s) }); tried {
			r.h.ops[id] = append(r.h.ops[id], &step{kind: Update, text: s, tx: x})
		}
	}
	for _, id := range del {
		if tried, _ := r.op(false, func(a *Appender) { a.DeleteTx(x.id, id) }); tried {
			r.h.ops[id] = append(r.h.ops[id], &step{kind: Delete, tx: x})
		}
	}
	switch end {
	case Commit:
		x.tried, x.acked = r.op(true, func(a *Appender) { a.CommitTx(x.id) })
	case Prepare:
		x.mayBePrep, x.prepared = r.op(true, func(a *Appender) { a.Prepare(x.id, []byte("xid")) })
	case Rollback:
		r.op(true, func(a *Appender) { a.RollbackTx(x.id) })
	}
}

// scenario fills several files, empties some, compacts, and leaves transactions open in every state.
func (r *run) scenario() {
	var kept []int64
	for round := range 4 {
		var ids []int64
		for i := range 8 {
			ids = append(ids, r.add(i%3 == 0))
		}
		r.tx(3, ids[:1], ids[1:2], Commit)
		r.update(ids[2], true)
		r.delete(ids[3], false)
		r.delete(ids[4], true)
		r.tx(2, ids[2:3], nil, Rollback)
		r.tx(2, nil, ids[5:6], 0)
		if round == 1 {
			r.tx(2, ids[6:7], nil, Prepare)
		}
		if round == 2 {
			_ = r.j.Compact()
			r.update(ids[6], true)
		}
		kept = append(kept, ids[2], ids[6], ids[7])
		if round > 0 {
			for _, id := range kept[:2] {
				r.delete(id, round%2 == 0)
			}
			kept = kept[2:]
		}
	}
	_ = r.j.Flush()
}

var errCrash = errors.New("crashed")

// TestCrash stops the file system at every changing operation of the scenario, loses what was not synced (all of it, or
// random sectors and names of it), and judges what a load finds.
func TestCrash(t *testing.T) {
	for _, direct := range []bool{false, true} {
		total := life(t, direct, -1, nil)
		t.Logf("direct=%v: %d write points", direct, total)
		for n := 0; n <= total; n++ {
			life(t, direct, n, nil)
			life(t, direct, n, rand.New(rand.NewPCG(uint64(n), 1)))
			if t.Failed() {
				t.Fatalf("direct=%v: after a crash at write point %d", direct, n)
			}
		}
	}
}

func life(t *testing.T, direct bool, stop int, torn *rand.Rand) int {
	t.Helper()
	mem := newMem(t)
	faulty := fs.NewFaulty(mem)
	o := testOptions(faulty)
	o.FileSize, o.CompactMinFiles, o.PoolFiles = 1024, 4, 6
	if direct {
		o.Direct, o.BlockSize, o.FileSize = true, 512, 2048
	}
	if stop >= 0 {
		faulty.StopAfter(stop, errCrash)
	}
	r := &run{t: t, h: &history{ops: map[int64][]*step{}, txs: map[int64]*txSteps{}}, fatal: make(chan struct{}),
		r: rand.New(rand.NewPCG(uint64(stop), 2))}
	var err error
	if r.j, _, err = Open(o, Visitor{}); err == nil {
		r.j.Start(Hooks{Fatal: func(error) { close(r.fatal) }})
		r.scenario()
		err = r.j.Close()
	}
	if stop < 0 {
		if err != nil {
			t.Fatal(err)
		}
		return faulty.Count()
	}
	mem.Crash(torn)
	o.FS = mem
	judge(t, o, r.h)
	// A second life: what was recovered stays, and new records are kept.
	j, _, err := Open(o, Visitor{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, o)
	j = open(t, o)
	id := r.next + 1
	do(t, j, func(a *Appender) { addText(a, id, "new") })
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before[id] = []string{"new"}
	if got := contents(t, o); !equalContents(got, before) {
		t.Errorf("second load: got %v, want %v", got, before)
	}
	judge(t, o, r.h)
	return 0
}

func judge(t *testing.T, o Options, h *history) {
	t.Helper()
	got, prepared := contentsAndPrepared(t, o)
	for _, id := range h.all {
		if err := h.judge(id, got[id]); err != nil {
			t.Errorf("record %d: %v", id, err)
		}
	}
	// All or nothing.
	for _, x := range h.txs {
		if !x.tried {
			continue
		}
		present, absent := 0, 0
		for id, steps := range h.ops {
			for _, s := range steps {
				if s.tx == x && s.kind == Update && got[id] != nil {
					if slices.Contains(got[id], s.text) {
						present++
					} else {
						absent++
					}
				}
				if s.tx == x && s.kind == Add && !deleteTried(steps) {
					if got[id] != nil {
						present++
					} else {
						absent++
					}
				}
			}
		}
		if present > 0 && absent > 0 || x.acked && absent > 0 {
			t.Errorf("transaction %d (acknowledged: %v): %d of its records are there, %d are not", x.id, x.acked, present, absent)
		}
	}
	for _, x := range h.txs {
		found := slices.ContainsFunc(prepared, func(p *Transaction) bool { return p.ID == x.id })
		if x.prepared && !found || found && !x.mayBePrep {
			t.Errorf("transaction %d: prepared %v, found %v", x.id, x.prepared, found)
		}
	}
}

func deleteTried(steps []*step) bool {
	return slices.ContainsFunc(steps, func(s *step) bool { return s.kind == Delete })
}

// counts: whether a step is there for certain, or perhaps.
func (s *step) counts() (surely, maybe bool) {
	if s.tx != nil {
		return s.tx.acked, s.tx.tried
	}
	return s.acked, true
}

func (h *history) judge(id int64, got []string) error {
	var must, may []string
	gone, mayBeGone, mustBe := false, false, false
	for _, s := range h.ops[id] {
		surely, maybe := s.counts()
		switch {
		case s.kind == Delete:
			gone = gone || surely
			mayBeGone = mayBeGone || maybe
		case maybe:
			may = append(may, s.text)
			if surely {
				must = append(must, s.text)
			}
			if s.kind == Add {
				mustBe = surely
			}
		}
	}
	switch {
	case got == nil && mustBe && !mayBeGone:
		return errors.New("acknowledged, but lost")
	case got != nil && gone:
		return fmt.Errorf("deleted and acknowledged, but back: %v", got)
	case got == nil:
		return nil
	case !subsequence(must, got) || !subsequence(got, may):
		return fmt.Errorf("got %v, acknowledged %v, written %v", got, must, may)
	}
	return nil
}

func subsequence(a, b []string) bool {
	for _, s := range b {
		if len(a) > 0 && a[0] == s {
			a = a[1:]
		}
	}
	return len(a) == 0
}
