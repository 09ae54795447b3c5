package journal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
	"pgregory.net/rapid"
)

// model is what a journal must hold.
type model struct {
	live    map[int64][]string
	order   []int64
	open    map[int64]*modelTx
	nextID  int64
	deleted map[int64]bool
}

type modelTx struct {
	ops      []modelOp
	prepared bool
}

type modelOp struct {
	kind Kind
	id   int64
	text string
}

func newModel() *model {
	return &model{live: map[int64][]string{}, open: map[int64]*modelTx{}, deleted: map[int64]bool{}}
}

func (m *model) id() int64 { m.nextID++; return m.nextID }

func (m *model) liveIDs() []int64 {
	var ids []int64
	for _, id := range m.order {
		if _, ok := m.live[id]; ok {
			ids = append(ids, id)
		}
	}
	m.order = ids
	return slices.Clone(ids)
}

func (m *model) add(id int64, s string) {
	m.live[id] = []string{s}
	m.order = append(m.order, id)
}

func (m *model) delete(id int64) {
	delete(m.live, id)
	m.deleted[id] = true
}

func (m *model) commit(tx int64) {
	for _, o := range m.open[tx].ops {
		switch o.kind {
		case AddTx:
			m.add(o.id, o.text)
		case UpdateTx:
			if _, ok := m.live[o.id]; ok {
				m.live[o.id] = append(m.live[o.id], o.text)
			}
		}
	}
	for _, o := range m.open[tx].ops {
		if o.kind == DeleteTx {
			m.delete(o.id)
		}
	}
	delete(m.open, tx)
}

func (m *model) txs() []int64 {
	var ids []int64
	for id := range m.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (m *model) restart() {
	for id, t := range m.open {
		if !t.prepared {
			delete(m.open, id)
		}
	}
}

// checkAccount recomputes what every file is needed for. With mu held.
func checkAccount(j *Journal) error {
	need := map[*file]int{}
	live := map[*file]int64{}
	for s := range j.live.shards {
		for i := range j.live.shards[s].slots {
			e := &j.live.shards[s].slots[i]
			if e.n == 0 {
				continue
			}
			var err error
			j.live.each(e, func(c charge) {
				f := j.slots[c.slot]
				if f == nil {
					err = fmt.Errorf("record %d is charged to a file that is gone", e.id)
				}
				need[f] += int(c.n)
				live[f] += int64(c.size)
			})
			if err != nil {
				return err
			}
		}
	}
	for _, t := range j.txs {
		for _, x := range t.files {
			need[j.slots[x.slot]]++
		}
	}
	files := append(slices.Clone(j.data), j.current)
	for _, f := range files {
		if !f.sealed {
			for slot, n := range f.neg {
				need[j.slots[slot]] += n
			}
		}
	}
	for i, f := range files {
		if f.left != need[f] {
			return fmt.Errorf("%s (id %d): account says %d needs, there are %d", f.name, f.id, f.left, need[f])
		}
		if f.live != live[f] {
			return fmt.Errorf("%s: account says %d live bytes, there are %d", f.name, f.live, live[f])
		}
		if i > 0 && files[i-1].id >= f.id {
			return fmt.Errorf("files are not in order: %d before %d", files[i-1].id, f.id)
		}
	}
	return nil
}

// TestModel does random things and compares with the model, after restarts, reclaims and compactions at any moment.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := fs.NewMem()
		_ = mem.MkdirAll("/j")
		o := testOptions(mem)
		o.FileSize = rapid.SampledFrom([]int{512, 1024, 4096}).Draw(rt, "file size")
		o.PoolFiles = rapid.SampledFrom([]int{-1, 3, 10}).Draw(rt, "pool")
		o.CompactMinFiles = rapid.SampledFrom([]int{0, 3}).Draw(rt, "compact")
		if rapid.Bool().Draw(rt, "direct") {
			o.Direct, o.BlockSize = true, 512
			o.FileSize *= 4
		}
		j, _, err := Open(o, Visitor{})
		if err != nil {
			rt.Fatal(err)
		}
		m := newModel()
		text := func() string { return rapid.StringMatching("[a-z]{0,60}").Draw(rt, "text") }
		commit := func(f func(a *Appender)) {
			a, err := j.Begin(Wait)
			if err != nil {
				rt.Fatal(err)
			}
			f(a)
			if _, err := a.Commit(nil, false); err != nil {
				rt.Fatal(err)
			}
		}
		tx := func() int64 {
			ids := m.txs()
			if len(ids) == 0 || rapid.Bool().Draw(rt, "new tx") {
				id := m.id()
				m.open[id] = &modelTx{}
				return id
			}
			return rapid.SampledFrom(ids).Draw(rt, "tx")
		}
		check := func() {
			got, prepared := contentsAndPrepared(rt, o)
			if !equalContents(got, m.live) {
				rt.Fatalf("got  %v\nwant %v", got, m.live)
			}
			n := 0
			for _, t := range m.open {
				if t.prepared {
					n++
				}
			}
			if len(prepared) != n {
				rt.Fatalf("%d prepared, want %d", len(prepared), n)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				id, s := m.id(), text()
				commit(func(a *Appender) {
					addText(a, id, s)
					m.add(id, s)
					for range rapid.IntRange(0, 2).Draw(rt, "refs") {
						updateText(t, a, id, "ref")
						m.live[id] = append(m.live[id], "ref")
					}
				})
			},
			"update": func(*rapid.T) {
				if ids := m.liveIDs(); len(ids) > 0 {
					id, s := rapid.SampledFrom(ids).Draw(rt, "id"), text()
					commit(func(a *Appender) { updateText(t, a, id, s) })
					m.live[id] = append(m.live[id], s)
				}
			},
			"delete": func(*rapid.T) {
				ids := m.liveIDs()
				for range min(len(ids), rapid.IntRange(0, 4).Draw(rt, "n")) {
					id := rapid.SampledFrom(ids).Draw(rt, "id")
					commit(func(a *Appender) {
						if err := a.Delete(id); (err == nil) != (m.live[id] != nil) {
							rt.Fatalf("delete of %d: %v", id, err)
						}
					})
					m.delete(id)
				}
			},
			"unknown": func(*rapid.T) {
				commit(func(a *Appender) {
					if _, err := a.Update(1<<40, 32, 1); err != ErrNotLive {
						rt.Fatal(err)
					}
				})
			},
			"tx": func(*rapid.T) {
				id := tx()
				x := m.open[id]
				if x.prepared {
					return
				}
				switch ids := m.liveIDs(); {
				case len(ids) == 0 || rapid.Bool().Draw(rt, "send"):
					n, s := m.id(), text()
					commit(func(a *Appender) { copy(a.AddTx(id, n, 45, len(s)), s); copy(a.UpdateTx(id, n, 32, 3), "ref") })
					x.ops = append(x.ops, modelOp{AddTx, n, s}, modelOp{UpdateTx, n, "ref"})
				case rapid.Bool().Draw(rt, "ack"):
					n := rapid.SampledFrom(ids).Draw(rt, "id")
					commit(func(a *Appender) { copy(a.UpdateTx(id, n, 33, 3), "ack") })
					x.ops = append(x.ops, modelOp{UpdateTx, n, "ack"})
				default:
					n := rapid.SampledFrom(ids).Draw(rt, "id")
					commit(func(a *Appender) { a.DeleteTx(id, n) })
					x.ops = append(x.ops, modelOp{DeleteTx, n, ""})
				}
			},
			"prepare": func(*rapid.T) {
				id := tx()
				if !m.open[id].prepared {
					commit(func(a *Appender) { a.Prepare(id, []byte("xid")) })
					m.open[id].prepared = true
				}
			},
			"end tx": func(*rapid.T) {
				id := tx()
				if rapid.Bool().Draw(rt, "commit") {
					commit(func(a *Appender) { a.CommitTx(id) })
					m.commit(id)
				} else {
					commit(func(a *Appender) { a.RollbackTx(id) })
					delete(m.open, id)
				}
			},
			"abort": func(*rapid.T) {
				a, err := j.Begin(Wait)
				if err != nil {
					rt.Fatal(err)
				}
				for range rapid.IntRange(0, 8).Draw(rt, "records") {
					addText(a, 1<<41, "never")
				}
				a.Abort()
			},
			"flush": func(*rapid.T) {
				if err := j.Flush(); err != nil {
					rt.Fatal(err)
				}
			},
			"compact": func(*rapid.T) {
				if err := j.Compact(); err != nil {
					t.Log(err)
				}
			},
			"restart": func(*rapid.T) {
				if err := j.Close(); err != nil {
					rt.Fatal(err)
				}
				check()
				if j, _, err = Open(o, Visitor{}); err != nil {
					rt.Fatal(err)
				}
				m.restart()
				check()
			},
			"": func(*rapid.T) {
				j.mu.Lock()
				defer j.mu.Unlock()
				if j.compaction == nil {
					if err := checkAccount(j); err != nil {
						rt.Fatal(err)
					}
				}
			},
		})
		if err := j.Close(); err != nil {
			rt.Fatal(err)
		}
		check()
	})
}
