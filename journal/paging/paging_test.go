package paging

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// coreRecord is a record 45 of a Core message with an empty body.
func coreRecord(id int64) []byte {
	be := binary.BigEndian
	block := be.AppendUint32(nil, 13)
	block = be.AppendUint64(block, uint64(id))
	block = append(block, 0, 0, 4, 1)               // no address, no user id, type, durable
	block = append(block, make([]byte, 8+8+1+1)...) // expiration, timestamp, priority, no properties
	b := append([]byte{1}, be.AppendUint64(nil, uint64(id))...)
	b = append(b, 0)
	return append(be.AppendUint32(b, uint32(len(block))), block...)
}

// paged is a framed page record.
func paged(tx int64, kind byte, record []byte, queues ...int64) []byte {
	be := binary.BigEndian
	b := append(be.AppendUint64(nil, uint64(tx)), kind)
	if kind == 1 || kind == 0xff {
		b = be.AppendUint32(b, uint32(len(record)))
	}
	b = be.AppendUint32(append(b, record...), uint32(len(queues)))
	for _, q := range queues {
		b = be.AppendUint64(b, uint64(q))
	}
	return append(append(be.AppendUint32([]byte{'{'}, uint32(len(b))), b...), '}')
}

func scan(b []byte) (got []string, usable int, err error) {
	usable, err = Scan(b, 7, func(m *Message) error {
		got = append(got, fmt.Sprint(m.Page, m.Index, m.Tx, m.RecordType, len(m.Record), m.Queues))
		return nil
	})
	return
}

func TestScan(t *testing.T) {
	n := len(coreRecord(1))
	whole := slices.Concat(paged(-1, 0, coreRecord(1), 5), paged(99, 0, coreRecord(2), 5, 6), paged(-1, 1, []byte("headers"), 5), paged(-1, 0xff, []byte("old"), 5))
	want := []string{fmt.Sprint(7, 0, -1, 45, n, []int64{5}), fmt.Sprint(7, 1, 99, 45, n, []int64{5, 6}), fmt.Sprint(7, 2, -1, 30, 7, []int64{5}), fmt.Sprint(7, 3, -1, 30, 3, []int64{5})}
	if got, usable, err := scan(whole); err != nil || usable != len(whole) || !slices.Equal(got, want) {
		t.Errorf("got %v, %d of %d, %v", got, usable, len(whole), err)
	}
	// A torn end stops the reader, and is no error.
	one := paged(-1, 0, coreRecord(1), 5)
	for cut := 1; cut < len(one); cut++ {
		if got, usable, err := scan(append(slices.Clone(one), one[:cut]...)); err != nil || usable != len(one) || len(got) != 1 {
			t.Errorf("cut at %d: %v, %d, %v", cut, got, usable, err)
		}
	}
	for _, bad := range [][]byte{{'{', 0xff, 0xff, 0xff, 0xff, 1, '}'}, {'{', 0x7f, 0xff, 0xff, 0xff, 1, '}'}, {'x', 0, 0, 0, 0, '}'}, append([]byte{'{', 0, 0, 0, 0}, 'x')} {
		if got, usable, err := scan(bad); err != nil || usable != 0 || len(got) != 0 {
			t.Errorf("%v: %v, %d, %v", bad, got, usable, err)
		}
	}
	// A whole frame with something else in it is not a torn end.
	if _, _, err := scan(paged(-1, 0, []byte{77}, 5)); err == nil {
		t.Error("an unknown persister was read")
	}
	stop := errors.New("stop")
	if _, err := Scan(one, 1, func(*Message) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestVisibility(t *testing.T) {
	i64 := func(v ...int64) (b []byte) {
		for _, x := range v {
			b = binary.BigEndian.AppendUint64(b, uint64(x))
		}
		return
	}
	i32 := func(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
	s := NewState()
	for _, r := range []struct {
		userType         byte
		payload          []byte
		update, prepared bool
	}{
		{TypeCursorAck, i32(i64(5, 7), 1), false, false},
		{TypeCursorAck, i32(i64(5, 7), -1), false, false}, // a bookmark acknowledges nothing
		{TypeCursorAck, i32(i64(5, 7), 2), false, true},   // may come back
		{TypePageComplete, i32(i64(6, 7), 3), false, false},
		{TypePageTransaction, i32(i64(100), 3), false, false},
		{TypePageTransaction, i32(i64(100), 1), true, false},
		{TypePageTransaction, i32(i64(101), 1), false, true},
		{45, []byte("a message"), false, false},
	} {
		if err := s.Record(r.userType, r.payload, r.update, r.prepared); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Record(TypeCursorAck, i64(5), false, false); err == nil {
		t.Error("a short record was taken")
	}
	exists := func(q int64) bool { return q == 5 || q == 6 }
	for _, c := range []struct {
		m    Message
		live bool
	}{
		{Message{Page: 7, Index: 0, Tx: -1, Queues: []int64{5}}, true},
		{Message{Page: 7, Index: 1, Tx: -1, Queues: []int64{5}}, false},
		{Message{Page: 7, Index: 2, Tx: -1, Queues: []int64{5}}, true},
		{Message{Page: 7, Index: 0, Tx: -1, Queues: []int64{6}}, false},
		{Message{Page: 8, Index: 0, Tx: -1, Queues: []int64{6}}, true},
		{Message{Page: 7, Index: 1, Tx: -1, Queues: []int64{5, 6}}, false},
		{Message{Page: 7, Index: 0, Tx: -1, Queues: []int64{9}}, false},
		{Message{Page: 7, Index: 0, Tx: 100, Queues: []int64{5}}, true},
		{Message{Page: 7, Index: 0, Tx: 101, Queues: []int64{5}}, true},
		{Message{Page: 7, Index: 0, Tx: 102, Queues: []int64{5}}, false},
	} {
		if got := s.Live(&c.m, exists); got != c.live {
			t.Errorf("%+v: live %v", c.m, got)
		}
	}
}

func TestFolders(t *testing.T) {
	m := fs.NewMem()
	put := func(name, content string) {
		t.Helper()
		f, err := m.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(content), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"/p/one", "/p/two", "/p/empty", "/p/oldreplica.1"} {
		if err := m.MkdirAll(d); err != nil {
			t.Fatal(err)
		}
	}
	put("/p/one/address.txt", "my.address\r\nmore\n")
	for _, n := range []string{"000000010.page", "000000002.page", "3.page", "x.page", "000000002.page.invalidPage"} {
		put("/p/one/"+n, "")
	}
	put("/p/empty/address.txt", "\n")
	put("/p/oldreplica.1/address.txt", "old\n")
	folders, skipped, err := Folders(m, "/p")
	if err != nil || len(folders) != 1 || folders[0].Address != "my.address" || !slices.Equal(folders[0].Pages, []int64{2, 10}) || !slices.Equal(skipped, []string{"/p/empty", "/p/two"}) {
		t.Errorf("%+v, %v, %v", folders, skipped, err)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(slices.Concat(paged(-1, 0, coreRecord(1), 5), paged(99, 1, []byte("h"), 5)))
	f.Fuzz(func(t *testing.T, b []byte) {
		usable, err := Scan(b, 1, func(m *Message) error { return nil })
		if usable < 0 || usable > len(b) || err == nil && usable > 0 && b[usable-1] != '}' {
			t.Errorf("%d of %d, %v", usable, len(b), err)
		}
	})
}
