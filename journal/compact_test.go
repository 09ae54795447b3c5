package journal

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/internal/golden"
)

// compactable is a journal with live and dead records, and transactions in every state, spread over several files.
func compactable(t *testing.T, f *fs.Faulty) (*Journal, Options, *model) {
	t.Helper()
	o := testOptions(f)
	o.FileSize = 1024
	j, m := open(t, o), newModel()
	for range 30 {
		id := m.id()
		do(t, j, func(a *Appender) { addText(a, id, strings.Repeat("b", 50)); updateText(t, a, id, "ref") })
		m.add(id, strings.Repeat("b", 50))
		m.live[id] = append(m.live[id], "ref")
		if id%3 != 0 {
			do(t, j, func(a *Appender) { _ = a.Delete(id) })
			m.delete(id)
		}
	}
	ids := m.liveIDs()
	for i := range 6 { // open ones: 0 and 1 will be committed, 2 and 3 rolled back, 4 stays open, 5 is prepared
		tx, sent := int64(1000+i), int64(2000+i)
		do(t, j, func(a *Appender) {
			copy(a.AddTx(tx, sent, 45, 4), "sent")
			copy(a.UpdateTx(tx, ids[i], 33, 3), "ack")
			a.DeleteTx(tx, ids[i+3])
		})
		m.open[tx] = &modelTx{ops: []modelOp{{AddTx, sent, "sent"}, {UpdateTx, ids[i], "ack"}, {DeleteTx, ids[i+3], ""}}}
		if i == 5 {
			do(t, j, func(a *Appender) { a.Prepare(tx, []byte("xid")) })
			m.open[tx].prepared = true
		}
	}
	return j, o, m
}

// At each step of a compaction other things happen: what is live dies, what is open ends.
func TestCompactionWhileRunning(t *testing.T) {
	steps := map[string]struct {
		op     fs.Op
		suffix string
	}{
		"first output":      {fs.OpCreate, compacting},
		"output written":    {fs.OpWrite, compacting},
		"output synced":     {fs.OpSync, compacting},
		"control file":      {fs.OpCreate, controlFile},
		"control file sync": {fs.OpSync, controlFile},
		"input freed":       {fs.OpSync, ".amq"},
		"output renamed":    {fs.OpRename, compacting},
		"control removed":   {fs.OpRemove, controlFile},
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			f := fs.NewFaulty(newMem(t))
			j, o, m := compactable(t, f)
			fired := false
			f.SetHook(func(op fs.Op, name string) {
				j.mu.Lock()
				running := j.compaction != nil
				j.mu.Unlock()
				// Only the compaction's own goroutine may wait here for the flusher.
				if fired || !running || op != step.op || !strings.HasSuffix(name, step.suffix) || step.suffix == ".amq" && !strings.Contains(name, "data-2.") {
					return
				}
				fired = true
				meanwhile(t, j, m)
			})
			if err := j.Compact(); err != nil {
				t.Fatal(err)
			}
			f.SetHook(nil)
			if !fired {
				t.Fatal("the step never came")
			}
			j.mu.Lock()
			err := checkAccount(j)
			j.mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			check := func() {
				t.Helper()
				got, prepared := contentsAndPrepared(t, o)
				if !equalContents(got, m.live) {
					t.Errorf("got  %v\nwant %v", got, m.live)
				}
				if len(prepared) != 1 || prepared[0].ID != 1005 || len(prepared[0].Records) != 3 || string(prepared[0].Xid) != "xid" {
					t.Errorf("prepared %+v", prepared)
				}
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			check()
			// The transaction still ends well after another life and another compaction.
			j = open(t, o)
			if err := j.Compact(); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			check()
			j = open(t, o)
			do(t, j, func(a *Appender) { a.CommitTx(1005) })
			m.commit(1005)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if got := contents(t, o); !equalContents(got, m.live) {
				t.Errorf("after the commit: got %v, want %v", got, m.live)
			}
		})
	}
}

func meanwhile(t *testing.T, j *Journal, m *model) {
	now := func(f func(a *Appender)) {
		a, err := j.Begin(Reserve)
		if err != nil {
			t.Error(err)
			return
		}
		f(a)
		if _, err := a.Commit(nil, false); err != nil {
			t.Error(err)
		}
	}
	for _, tx := range []int64{1000, 1001} {
		now(func(a *Appender) { a.CommitTx(tx) })
		m.commit(tx)
	}
	for _, tx := range []int64{1002, 1003} {
		now(func(a *Appender) { a.RollbackTx(tx) })
		delete(m.open, tx)
	}
	now(func(a *Appender) { // and what was committed just now is updated and deleted
		updateText(t, a, 2000, "late")
		_ = a.Delete(2001)
	})
	m.live[2000] = append(m.live[2000], "late")
	m.delete(2001)
	ids := m.liveIDs()
	now(func(a *Appender) { _ = a.Delete(ids[0]); updateText(t, a, ids[6], "new") })
	m.delete(ids[0])
	m.live[ids[6]] = append(m.live[ids[6]], "new")
	for range 20 { // also files change
		id := m.id() + 5000
		now(func(a *Appender) { addText(a, id, strings.Repeat("n", 60)) })
		m.add(id, strings.Repeat("n", 60))
	}
}

// Only the last delivery count of a message in a queue is kept.
func TestCompactionKeepsTheLastOfAKind(t *testing.T) {
	mem := newMem(t)
	o := testOptions(mem)
	j := open(t, o)
	queue := func(n byte) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, n} }
	count := func(a *Appender, q, n byte) {
		p, err := a.Update(1, 34, 12)
		if err != nil {
			t.Fatal(err)
		}
		copy(p, append(queue(q), 0, 0, 0, n))
	}
	do(t, j, func(a *Appender) { addText(a, 1, "m") })
	for n := range byte(5) {
		do(t, j, func(a *Appender) { count(a, 1, n); count(a, 2, 10+n) })
	}
	if err := j.Compact(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"m", string(append(queue(1), 0, 0, 0, 4)), string(append(queue(2), 0, 0, 0, 14))}
	if got := contents(t, o)[1]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A compaction that finds no space, or cannot read, gives up and changes nothing.
func TestCompactionGivesUp(t *testing.T) {
	for name, rule := range map[string]fs.Rule{
		"no space for an output":     {Op: fs.OpWrite, Pattern: "*.cmp", Err: syscall.ENOSPC},
		"no space for the control":   {Op: fs.OpWrite, Pattern: controlFile, Err: syscall.ENOSPC, Short: 20},
		"no space to create":         {Op: fs.OpCreate, Pattern: "*.cmp", Err: syscall.ENOSPC},
		"an input cannot be read":    {Op: fs.OpOpen, Pattern: "activemq-data-1.amq", Err: syscall.EIO},
		"no space to sync an output": {Op: fs.OpSync, Pattern: "*.cmp", Err: syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			f := fs.NewFaulty(newMem(t))
			j, o, m := compactable(t, f)
			until(t, "next file is there", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return j.next != nil })
			j.Start(Hooks{Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
			f.Add(rule)
			if err := j.Compact(); !errors.Is(err, rule.Err) {
				t.Errorf("got %v", err)
			}
			f.Clear()
			if err := j.Compact(); err != nil {
				t.Errorf("second try: %v", err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			m.restart()
			if got := contents(t, o); !equalContents(got, m.live) {
				t.Errorf("got %v, want %v", got, m.live)
			}
			names, _ := f.List("/j")
			for _, n := range names {
				if strings.HasSuffix(n, compacting) || n == controlFile {
					t.Errorf("%s is left", n)
				}
			}
		})
	}
}

// A control file written by Artemis names what we name, and is padded.
func TestControlFile(t *testing.T) {
	g := loadGolden(t, "cc2")
	c, err := readControl(g.fs, "/data/journal/"+controlFile)
	if err != nil || c == nil || len(c.inputs) == 0 || len(c.outputs) == 0 || !strings.HasSuffix(c.outputs[0], ".amq"+compacting) {
		t.Fatalf("%+v, %v", c, err)
	}
	again := newMem(t)
	golden.Write(t, again, "/j/"+controlFile, c.encode())
	back, err := readControl(again, "/j/"+controlFile)
	if err != nil || fmt.Sprint(back) != fmt.Sprint(c) {
		t.Errorf("%+v, %v; want %+v", back, err, c)
	}
	for _, bad := range []string{"../x", "a/b", ""} {
		c := &control{inputs: []string{bad}}
		golden.Write(t, again, "/j/"+controlFile, c.encode())
		if _, err := readControl(again, "/j/"+controlFile); !errors.Is(err, errControl) {
			t.Errorf("input %q: %v", bad, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	c := control{inputs: []string{"activemq-data-1.amq"}, outputs: []string{"activemq-data-3.amq.cmp"}, renames: [][2]string{{"a", "b"}}}
	file := make([]byte, 300)
	putHeader(file, 1)
	copy(putRecord(file[16:16+Add.Size(5)], &Record{Kind: Add, File: 1, ID: 9, UserType: 45}, 5), "hello")
	putRecord(file[60:60+Commit.Size(0)], &Record{Kind: Commit, File: 1, Tx: 9, N: 2}, 0)
	f.Add(file, c.encode())
	f.Fuzz(func(t *testing.T, file, control []byte) {
		m := fs.NewMem()
		_ = m.MkdirAll("/j")
		golden.Write(t, m, "/j/activemq-data-1.amq", file)
		if len(file) > 20 {
			golden.Write(t, m, "/j/activemq-data-2.amq", file[len(file)/2:])
		}
		golden.Write(t, m, "/j/"+controlFile, control)
		o := testOptions(m)
		o.FileSize, o.Buffer = 512, 512
		read, err1 := Read(o, Visitor{Record: func(*Record) error { return nil }, Prepared: func(*Transaction) error { return nil }})
		j, loaded, err2 := Open(o, Visitor{Record: func(*Record) error { return nil }, Prepared: func(*Transaction) error { return nil }})
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("read: %v, open: %v", err1, err2)
		}
		if err2 != nil {
			return
		}
		if fmt.Sprint(*read) != fmt.Sprint(*loaded) {
			t.Errorf("read found %+v, open %+v", *read, *loaded)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
