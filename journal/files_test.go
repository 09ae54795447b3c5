package journal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/internal/golden"
)

// settled waits until the keeper has nothing left to do.
func settled(t *testing.T, j *Journal) {
	t.Helper()
	until(t, "the files are settled", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.next != nil && j.compaction == nil && j.reclaimable() == nil && len(j.pool)+len(j.data)+2 >= j.o.MinFiles
	})
}

func fileIDs(t *testing.T, o Options) []string {
	t.Helper()
	files, err := Files(o.FS, o.Dir, o.Ext)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprint(strings.TrimPrefix(f.Name, "activemq-data-"), " ", f.ID, " ", f.Size))
	}
	return out
}

// A new journal is min-files files of full size, whose ids are their numbers (spec §1.2, §1.7).
func TestNewJournal(t *testing.T) {
	for minFiles, want := range map[int][]string{
		0: {"1.amq 1 4096", "2.amq 2 4096"},
		4: {"1.amq 1 4096", "2.amq 2 4096", "3.amq 3 4096", "4.amq 4 4096"},
	} {
		o := testOptions(newMem(t))
		o.MinFiles = minFiles
		j := open(t, o)
		settled(t, j)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got := fileIDs(t, o); !slices.Equal(got, want) {
			t.Errorf("min-files %d: %v, want %v", minFiles, got, want)
		}
		// Opening an empty journal makes no more files.
		j = open(t, o)
		settled(t, j)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got := fileIDs(t, o); len(got) != len(want) {
			t.Errorf("min-files %d: after another start %v", minFiles, got)
		}
	}
}

// A file whose records are all deleted is used again under its name with a new id, or removed when there are enough.
func TestReclaim(t *testing.T) {
	for pool, want := range map[int]int{-1: 12, 10: 10, 3: 3} {
		o := testOptions(newMem(t))
		o.FileSize, o.PoolFiles = 1024, pool
		j := open(t, o)
		text := strings.Repeat("r", 200)
		fill := func(from int64) {
			for id := from; id < from+40; id++ { // ten files
				do(t, j, func(a *Appender) { addText(a, id, text) })
			}
		}
		fill(1)
		for id := int64(1); id <= 40; id++ {
			do(t, j, func(a *Appender) {
				if err := a.Delete(id); err != nil {
					t.Error(err)
				}
			})
		}
		do(t, j, func(a *Appender) { addText(a, 1000, strings.Repeat("x", 1024-headerSize-Add.Size(0))) }) // closes the file with the deletes
		settled(t, j)
		j.mu.Lock()
		data, free := len(j.data), len(j.pool)
		err := checkAccount(j)
		j.mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		if data > 1 || pool < 0 && free < 8 {
			t.Errorf("pool-files %d: %d data files, %d free", pool, data, free)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		files := fileIDs(t, o)
		if len(files) > want+1 || pool < 0 && len(files) < want {
			t.Errorf("pool-files %d: %d files: %v", pool, len(files), files)
		}
		renamed := 0
		for _, f := range files {
			var n, id int
			if _, err := fmt.Sscanf(f, "%d.amq %d", &n, &id); err != nil {
				t.Fatal(err)
			}
			if id > n {
				renamed++
			}
		}
		if pool != 3 && renamed == 0 {
			t.Errorf("pool-files %d: no file was reused: %v", pool, files)
		}
		if got := contents(t, o); len(got) != 1 || got[1000] == nil {
			t.Errorf("contents %v", got)
		}
	}
}

// A file that deletes records of an older file which stays must stay, too (spec §1.8 (a)).
func TestReclaimKeepsDeletes(t *testing.T) {
	o := testOptions(newMem(t))
	o.FileSize = 512
	j := open(t, o)
	do(t, j, func(a *Appender) { addText(a, 1, "stays"); addText(a, 2, "goes") })
	fill := func(id int64) {
		do(t, j, func(a *Appender) { addText(a, id, strings.Repeat("x", 450)) })
	}
	fill(3)
	do(t, j, func(a *Appender) { _ = a.Delete(2); _ = a.Delete(3) }) // in a file of its own
	fill(4)
	fill(5)
	do(t, j, func(a *Appender) { _ = a.Delete(4) })
	fill(6)
	settled(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got := contents(t, o)
	if got[2] != nil || got[1] == nil || got[5] == nil || got[6] == nil || len(got) != 3 {
		t.Errorf("contents %v", got)
	}
}

// A file of another size is read as it is, and goes to the attic when nothing in it is needed (spec §1.6).
func TestAttic(t *testing.T) {
	for attic, want := range map[int][]string{10: {"activemq-data-1.amq", "activemq-data-2.amq"}, 0: nil} {
		o := testOptions(newMem(t))
		j := open(t, o)
		settled(t, j)
		do(t, j, func(a *Appender) { addText(a, 1, "one") })
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		o.FileSize, o.MaxAttic = 1024, attic
		j = open(t, o) // the empty file goes at once
		do(t, j, func(a *Appender) { _ = a.Delete(1) })
		for id := int64(2); id < 12; id++ {
			do(t, j, func(a *Appender) { addText(a, id, strings.Repeat("x", 900)) })
			if id > 2 {
				do(t, j, func(a *Appender) { _ = a.Delete(id - 1) })
			}
		}
		settled(t, j)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		names, _ := o.FS.List("/j/attic")
		if !slices.Equal(names, want) {
			t.Errorf("max-attic %d: attic holds %v, want %v", attic, names, want)
		}
		for _, f := range fileIDs(t, o) {
			if !strings.HasSuffix(f, " 1024") {
				t.Errorf("max-attic %d: %s is still there", attic, f)
			}
		}
		if got := contents(t, o); len(got) != 1 || got[11] == nil {
			t.Errorf("contents %v", got)
		}
	}
}

// Files that retention has renamed when the broker was killed, and files that are too short, do not get in the way.
func TestInterruptedFiles(t *testing.T) {
	g := loadGolden(t, "tx")
	want := mustContents(t, g)
	if err := g.fs.Rename("/data/journal/activemq-data-1.amq", "/data/journal/activemq-data-1.amq.bkp"); err != nil {
		t.Fatal(err)
	}
	golden.Write(t, g.fs, "/data/journal/activemq-data-77.amq", []byte("short"))
	golden.Write(t, g.fs, "/data/journal/activemq-data-78.amq.tmp", make([]byte, 100))
	s, r := mustLoad(t, g)
	if got := fmt.Sprint(r.byQueue()); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	s.messages.mu.Lock()
	next := s.messages.nextID
	s.messages.mu.Unlock()
	if next <= 77 {
		t.Errorf("next file id %d: a number that was in use could be used again", next)
	}
	mustClose(t, s)
	names, _ := g.fs.List("/data/journal")
	for _, n := range names {
		if strings.Contains(n, ".bkp") || strings.Contains(n, "-77.") || strings.Contains(n, ".tmp") {
			t.Errorf("%s is still there", n)
		}
	}
}

// A crash while a load finishes what an earlier crash has interrupted.
func TestCrashDuringRecovery(t *testing.T) {
	for _, name := range []string{"cc1", "cc2", "cc3", "cc4", "cc5", "tx"} {
		want := mustContents(t, loadGolden(t, name))
		for n, done := 0, false; !done; n++ {
			g := loadGolden(t, name)
			f := fs.NewFaulty(g.fs)
			f.StopAfter(n, errCrash)
			s := NewStore(goldenOptions(f))
			err := s.Load(&message.Pool{}, newRecovered())
			if err == nil {
				s.Start(noHooks{})
				err = s.Close()
			}
			done = err == nil
			g.fs.Crash(nil)
			s, r := mustLoad(t, g)
			if got := fmt.Sprint(r.byQueue()); got != want {
				t.Fatalf("%s, crash at write point %d: got %v, want %v", name, n, got, want)
			}
			mustClose(t, s)
			if n > 300 {
				t.Fatal("it never ends")
			}
		}
	}
}
