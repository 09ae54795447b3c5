package tree

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

// TestDamagedSnapshots cuts and flips a snapshot everywhere: each is refused, with the error that says which.
func TestDamagedSnapshots(t *testing.T) {
	s := goldenState(t)
	whole := dump(t, s.Snapshot())
	refuse := func(what string, b []byte, want error) {
		t.Helper()
		before := s.View
		err := s.Restore(bytes.NewReader(b))
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v, want %v", what, err, want)
		}
		if s.View != before {
			t.Fatalf("%s: the state changed", what)
		}
	}
	positions := []int{}
	for i := range whole {
		if i < 2000 || i > len(whole)-2000 || i%997 == 0 || i > blockSize-20 && i < blockSize+60 {
			positions = append(positions, i)
		}
	}
	for _, i := range positions {
		want := ErrCorrupt
		if i < 8 {
			want = ErrForeign
		}
		refuse(fmt.Sprintf("cut at %d", i), whole[:i], want)
		b := slices.Clone(whole)
		b[i] ^= 0x10
		refuse(fmt.Sprintf("flipped at %d", i), b, want)
	}
	refuse("another file", []byte("PK\x03\x04 this is something else entirely"), ErrForeign)
	later := append([]byte(nil), whole...)
	later[9] = 2
	refuse("a later version, damaged", later, ErrCorrupt)
	be.PutUint32(later[12:], crcOf(later[:12]))
	refuse("a later version", later, ErrSnapshotVersion)

	// What follows the last block is not read.
	r := bytes.NewReader(append(slices.Clone(whole), "tail"...))
	if err := s.Restore(iotest.OneByteReader(r)); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "tail" {
		t.Errorf("left is %q", rest)
	}
	// Errors of the reader and of the writer come through.
	broken := errors.New("broken")
	if err := s.Restore(io.MultiReader(bytes.NewReader(whole[:100]), iotest.ErrReader(broken))); !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	for _, n := range []int{0, 16, 17, 70000} {
		if _, err := s.Snapshot().WriteTo(&failingWriter{n, broken}); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

type failingWriter struct {
	n   int
	err error
}

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.n -= len(b); w.n < 0 {
		return 0, w.err
	}
	return len(b), nil
}

// framed puts records that are joined to a payload into blocks with right checks.
func framed(t testing.TB, records ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := newBlockWriter(&b)
	for _, r := range records {
		if err := w.record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// records takes a snapshot apart.
func records(t testing.TB, s *Snapshot) (out [][]byte) {
	t.Helper()
	r := &blockReader{r: bytes.NewReader(dump(t, s))}
	if err := r.header(); err != nil {
		t.Fatal(err)
	}
	for {
		body, err := r.record()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, slices.Clone(body))
		if body[0] == tagEnd {
			return out
		}
	}
}

// TestUnsoundSnapshots has snapshots whose checks are right but whose records make no state.
func TestUnsoundSnapshots(t *testing.T) {
	s := New()
	for i, c := range []Command{
		{Session: 7, Owner: 1, Op: &NewSession{Timeout: 1}},
		{Session: 8, Owner: 1, Op: &NewSession{Timeout: 1}},
		{Session: 7, Owner: 1, Request: 1, Caller: Caller{Chroot: ClientRoot}, Op: &Create{"/e", nil, OpenACL(), Ephemeral}},
		{Session: 8, Owner: 1, Caller: Caller{Chroot: ClientRoot}, Op: &Create{"/f", nil, OpenACL(), Persistent}},
	} {
		if r := s.ApplyCommand(uint64(i+1), 1, &c); r.Failed() != OK {
			t.Fatal(r.Failed())
		}
	}
	// 0 head, 1-2 sessions 7 and 8, 3 root, 4 /clients, 5 e, 6 f, 7-9 zookeeper, 10 /saranga, 11 end
	good := records(t, s.Snapshot())
	if len(good) != 12 {
		t.Fatalf("%d records", len(good))
	}
	if _, err := Read(bytes.NewReader(framed(t, good...))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(r [][]byte) [][]byte
		says   string
	}{
		{"no head", func(r [][]byte) [][]byte { return r[1:] }, "tag 2 after tag 0"},
		{"two heads", func(r [][]byte) [][]byte { return slices.Insert(r, 1, r[0]) }, "tag 1 after tag 1"},
		{"no nodes", func(r [][]byte) [][]byte { return append(r[:3], r[11]) }, "tag 4 after tag 2"},
		{"unknown tag", func(r [][]byte) [][]byte { return slices.Insert(r, 3, []byte{9}) }, "tag 9 after tag 2"},
		{"a session is missing", func(r [][]byte) [][]byte { return slices.Delete(r, 2, 3) }, "1 sessions and 0 nodes are missing"},
		{"a session twice", func(r [][]byte) [][]byte { return slices.Insert(r, 1, r[1]) }, "session 0x7 after 0x7"},
		{"sessions out of order", func(r [][]byte) [][]byte { r[1], r[2] = r[2], r[1]; return r }, "session 0x7 after 0x8"},
		{"owner without a session", func(r [][]byte) [][]byte {
			r[0][96]-- // number of sessions
			return slices.Delete(r, 1, 2)
		}, `node "e" at depth 2: of session 0x7, which does not exist`},
		{"a node is missing", func(r [][]byte) [][]byte { return slices.Delete(r, 6, 7) }, "0 sessions and 1 nodes are missing"},
		{"a node too many", func(r [][]byte) [][]byte { return slices.Insert(r, 7, r[6]) }, `node "f" at depth 2: after "f"`},
		{"a seed is missing", func(r [][]byte) [][]byte { r[0][104]--; return slices.Delete(r, 10, 11) }, "/saranga is missing"},
		{"siblings out of order", func(r [][]byte) [][]byte { r[5], r[6] = r[6], r[5]; return r }, `node "e" at depth 2: after "f"`},
		{"no root", func(r [][]byte) [][]byte { return slices.Delete(r, 3, 4) }, `node "clients" at depth 1: without a parent`},
		{"two roots", func(r [][]byte) [][]byte { return slices.Insert(r, 4, r[3]) }, `node "" at depth 0: without a parent`},
		{"too deep", func(r [][]byte) [][]byte { r[5][1] = 3; return r }, `node "e" at depth 3: without a parent`},
		{"below an ephemeral node", func(r [][]byte) [][]byte { r[6][1] = 3; return r }, `node "f" at depth 3: below an ephemeral node`},
		{"bad name", func(r [][]byte) [][]byte { r[6][3] = '/'; return r }, `node "/" at depth 2: bad name`},
		{"kind and owner", func(r [][]byte) [][]byte { r[6][4] = 1; return r }, "its kind and its owner do not fit"},
		{"kind 3", func(r [][]byte) [][]byte { r[6][4] = 3; return r }, "its kind and its owner do not fit"},
		{"later than the snapshot", func(r [][]byte) [][]byte { r[0][8] = 3; return r }, `node "clients" at depth 1: later than the snapshot`},
		{"unsound limits", func(r [][]byte) [][]byte { clear(r[0][9:17]); return r }, "unsound limits"},
		{"a byte too many in a record", func(r [][]byte) [][]byte { r[11] = append(r[11], 0); return r }, "more than a record"},
		{"a record after the end", func(r [][]byte) [][]byte { return append(r, r[11]) }, "5 bytes after the last record"},
		{"no end", func(r [][]byte) [][]byte { return r[:11] }, "it ends early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var copies [][]byte
			for _, r := range good {
				copies = append(copies, slices.Clone(r))
			}
			_, err := Read(bytes.NewReader(framed(t, c.change(copies)...)))
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %s", err, c.says)
			}
		})
	}
}

// TestSnapshotWhileApplying writes snapshots out while commands are applied: each shows the state of its zxid, in full.
func TestSnapshotWhileApplying(t *testing.T) {
	s := New()
	apply := func(index int) {
		c := Command{Caller: Caller{Admin: true, Chroot: ClientRoot}, Op: &Create{fmt.Sprintf("/n%d", index%50), nil, OpenACL(), Persistent}}
		switch index % 3 {
		case 1:
			c.Op = &SetData{fmt.Sprintf("/n%d", index%50), []byte(fmt.Sprint(index)), -1}
		case 2:
			c.Op = &Delete{fmt.Sprintf("/n%d", (index*7)%50), -1}
		}
		s.ApplyCommand(uint64(index), 1, &c)
	}
	var wg sync.WaitGroup
	got := make([][]byte, 40)
	want := make([][]byte, 40)
	index := 0
	for i := range got {
		for range 25 {
			index++
			apply(index)
		}
		snapshot := s.Snapshot()
		want[i] = dump(t, snapshot)
		wg.Go(func() {
			var b bytes.Buffer
			if _, err := snapshot.WriteTo(&b); err == nil {
				got[i] = b.Bytes()
			}
		})
	}
	for range 500 {
		index++
		apply(index)
	}
	wg.Wait()
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("snapshot %d differs", i)
		}
	}
	check(t, s)
}

func FuzzSnapshot(f *testing.F) {
	f.Add(dump(f, New().Snapshot()))
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		s, err := Read(r)
		if err != nil {
			return
		}
		check(t, s)
		if read := b[:len(b)-r.Len()]; !bytes.Equal(dump(t, s.Snapshot()), read) {
			t.Fatal("written again it differs")
		}
	})
}

// FuzzRecords gets past the checks of the blocks: the input is records, each with a length of two bytes.
func FuzzRecords(f *testing.F) {
	s := New()
	c := Command{Session: 7, Owner: 1, Op: &NewSession{Timeout: 1}}
	s.ApplyCommand(1, 1, &c)
	c = Command{Session: 7, Owner: 1, Request: 1, Caller: Caller{Chroot: ClientRoot}, Op: &Multi{[]Op{&Create{"/e", []byte("d"), OpenACL(), Ephemeral}, &Check{"/", 0}}}}
	s.ApplyCommand(2, 1, &c)
	var seed []byte
	for _, r := range records(f, s.Snapshot()) {
		seed = append(be.AppendUint16(seed, uint16(len(r))), r...)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		var list [][]byte
		for len(b) >= 2 {
			n := min(int(be.Uint16(b)), len(b)-2)
			list = append(list, b[2:2+n])
			b = b[2+n:]
		}
		if len(list) == 0 {
			return
		}
		whole := framed(t, list...)
		s, err := Read(bytes.NewReader(whole))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		check(t, s)
		if !bytes.Equal(dump(t, s.Snapshot()), whole) {
			t.Fatal("written again it differs")
		}
	})
}
