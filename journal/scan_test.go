package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/internal/golden"
)

func scanAll(s *Scanner) (records []string) {
	var r Record
	for s.Next(&r) {
		records = append(records, fmt.Sprintf("%d-%d %d %d %d %d %d %x", r.Pos, r.End, r.Kind, r.ID, r.Tx, r.N, r.UserType, r.Payload))
	}
	return append(records, fmt.Sprint(s.Last, s.Damaged, s.Err))
}

// bothScans scans a file's bytes as a whole, and through a small window.
func bothScans(t *testing.T, b []byte) {
	t.Helper()
	h, err := ReadHeader(b)
	if err != nil {
		return
	}
	m := newMem(t)
	golden.Write(t, m, "/j/f", b)
	f, err := m.OpenRead("/j/f")
	if err != nil {
		t.Fatal(err)
	}
	whole := scanAll(NewScanner(b, h, false))
	for _, window := range []int{1, 30, 100, 1 << 20} {
		if got := scanAll(scanFile(f, len(b), h, make([]byte, 0, window))); fmt.Sprint(got) != fmt.Sprint(whole) {
			t.Errorf("window of %d:\n got  %v\n want %v", window, got, whole)
		}
	}
}

// A file read in pieces gives the same records as one read whole.
func TestScanWindow(t *testing.T) {
	for _, name := range []string{"torn", "hand512", "handold", "compact"} {
		m := golden.Dir(t, filepath.Join("testdata/golden", name))
		files, err := Files(m, "/data/journal", "amq")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files[:1] {
			b, err := fs.ReadFile(m, "/data/journal/"+f.Name)
			if err != nil {
				t.Fatal(err)
			}
			bothScans(t, b)
		}
	}
}

// A file that cannot be read is an error and not an empty journal.
func TestLoadReadError(t *testing.T) {
	f := fs.NewFaulty(newMem(t))
	o := testOptions(f)
	j := open(t, o)
	do(t, j, func(a *Appender) { addText(a, 1, "x") })
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	f.Add(fs.Rule{Op: fs.OpOpen, Pattern: "activemq-data-1.amq", Nth: 2, Err: syscall.EIO})
	if _, _, err := Open(o, Visitor{}); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
}

func FuzzScan(f *testing.F) {
	file := make([]byte, 300)
	putHeader(file, 1)
	copy(putRecord(file[16:16+Add.Size(5)], &Record{Kind: Add, File: 1, ID: 9, UserType: 45}, 5), "hello")
	putRecord(file[60:60+Commit.Size(0)], &Record{Kind: Commit, File: 1, Tx: 9, N: 2}, 0)
	f.Add(file)
	f.Fuzz(func(t *testing.T, b []byte) { bothScans(t, b) })
}
