package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// The peer has stopped its appends: the response to the start of a journal leaves before the owner looks at the node id, and the
// files are there by then.
func TestStartAnsweredBeforeNodeID(t *testing.T) {
	mem := fs.NewMem()
	n := start(t, mem, nil)
	var answered []int
	var there bool
	n.check = func() {
		answered = append(answered, n.answers())
		_, err := mem.Stat("/data/journal/activemq-data-7.amq")
		there = err == nil
	}
	n.send(t, startSync(core.SyncJournalMessages, 3, 7))
	if !slices.Equal(answered, []int{1}) || !there {
		t.Errorf("answered %v when the node id was told, file there: %v", answered, there)
	}
	files, err := journal.Files(mem, "/data/journal", "amq")
	if err != nil {
		t.Fatal(err)
	}
	if own := files[2].ID; files[0].ID != 3 || files[1].ID != 7 || own != 8 {
		t.Errorf("files %v, want 3, 7 and an own one from 8 on", files)
	}
}

// An owner that refuses ends the connection, without a response to the finish.
func TestOwnerRefuses(t *testing.T) {
	no := errors.New("not this node")
	n := start(t, fs.NewMem(), nil)
	n.refuse = map[string]error{"node": no}
	if err := n.try(startSync(core.SyncJournalMessages), wireVersion); !errors.Is(err, no) || !errors.Is(n.closed, no) {
		t.Errorf("got %v, closed with %v", err, n.closed)
	}
	n = start(t, fs.NewMem(), nil)
	n.refuse = map[string]error{"up to date": no}
	n.send(t, begin()...)
	if err := n.try(finishSync(0), wireVersion); !errors.Is(err, no) || n.Status().UpToDate {
		t.Errorf("got %v, status %+v", err, n.Status())
	}
	if err := n.out.drain(); err != nil || n.answers() != 3 {
		t.Errorf("%d responses, %v", n.answers(), err)
	}
}

// Transactions that are open when the synchronisation ends are not lost: records before and after it, in files of both nodes, make one.
func TestOpenTransactions(t *testing.T) {
	mem := fs.NewMem()
	n := start(t, mem, nil)
	n.send(t, begin()...)
	n.send(t, inTx(50, add(1, 45, []byte("one"))), inTx(51, add(2, 45, []byte("two"))), prepare(51, "xid"), inTx(52, add(3, 45, []byte("three"))),
		add(9, 45, []byte("nine")), inTx(53, add(4, 45, []byte("four"))), finishSync(-1),
		inTx(50, update(1, 32, []byte("ref"))), deletionTx(50, 9), commit(50, false), commit(51, false), commit(52, true))
	n.drained(t)
	if err := n.Activate(); err != nil {
		t.Fatal(err)
	}
	records, prepared := content(t, n.o.Store.MessagesOptions())
	if want := []string{"1:45:one", "1:32:ref", "2:45:two"}; !slices.Equal(records, want) || len(prepared) > 0 {
		t.Errorf("records %q, prepared %q, want %q", records, prepared, want)
	}
}

// The copy of a body and what is added to it meanwhile.
func TestBodies(t *testing.T) {
	mem := fs.NewMem()
	n := start(t, mem, nil)
	piece := func(id int64, size int32, text string) *core.ReplicationSyncFile {
		return &core.ReplicationSyncFile{FileID: id, FileType: core.FileLarge, DataSize: size, Data: []byte(text)}
	}
	write := func(id int64, text string) core.Packet {
		return &core.ReplicationLargeWrite{MessageID: id, Body: []byte(text)}
	}
	n.send(t, startSync(core.SyncJournalMessages), startSync(core.SyncJournalBindings))
	n.send(t, startSync(core.SyncLargeMessages, 5, 6, 7, 8))
	n.send(t, write(5, " and"), piece(5, 3, "one"), write(5, " more"), // written to while copied
		piece(6, 4, "four"), piece(6, -1, ""), // ends before its size
		write(7, "gone"), &core.ReplicationLargeEnd{MessageID: 7, PendingRecordID: -1, IsDelete: true}, piece(7, 3, "too"), // deleted
		&core.ReplicationLargeBegin{MessageID: 20}, write(20, "new"), &core.ReplicationLargeEnd{MessageID: 20, PendingRecordID: 1},
		&core.ReplicationLargeBegin{MessageID: 21}, write(21, "halfway"),
		write(22, "without begin"))
	n.drained(t)
	if b, err := fs.ReadFile(mem, "/data/large-messages/5.sync"); err != nil || string(b) != " and more" {
		t.Errorf("5.sync holds %q, %v", b, err)
	}
	n.send(t, finishSync(-1), write(21, " there"), write(5, "!"),
		&core.ReplicationLargeEnd{MessageID: 22, IsDelete: true}, &core.ReplicationLargeEnd{MessageID: 99, IsDelete: true})
	n.drained(t)
	if err := n.Activate(); err != nil {
		t.Fatal(err)
	}
	mem.Crash(nil)
	want := map[string]string{"5.msg": "one and more!", "6.msg": "four", "8.msg": "", "20.msg": "new", "21.msg": "halfway there"}
	names, err := mem.List("/data/large-messages")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(mem, "/data/large-messages/"+name)
		if w, ok := want[name]; !ok || err != nil || string(b) != w {
			t.Errorf("%s holds %q, %v, want %q", name, b, err, w)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
}

// More bodies at once than files are kept open.
func TestManyBodies(t *testing.T) {
	mem := fs.NewMem()
	n := start(t, mem, nil)
	n.send(t, begin()...)
	for _, text := range []string{"a", "b"} {
		for id := range int64(3 * maxOpen) {
			n.send(t, &core.ReplicationLargeWrite{MessageID: id, Body: []byte(text)})
		}
	}
	if got := len(n.files.open); got != maxOpen {
		t.Errorf("%d files are open", got)
	}
	for id := range int64(3 * maxOpen) {
		if b, err := fs.ReadFile(mem, fmt.Sprintf("/data/large-messages/%d.msg", id)); err != nil || string(b) != "ab" {
			t.Fatalf("%d.msg holds %q, %v", id, b, err)
		}
	}
}

// pagedMessage is a Core message in a page: tx -1, kind 0, persister 1, id, address, block; one queue.
func pagedMessage(address string) []byte {
	b := buf.AppendInt64(nil, -1)
	b = append(b, 0, 1)
	b = buf.AppendInt64(b, 104)
	b = buf.AppendNSS(b, buf.Of(address))
	b = buf.AppendBlock(b, []byte("message"))
	return buf.AppendInt64(buf.AppendInt32(b, 1), 19)
}

// Peers before version 133 name no address beside a page's message, and peers before 131 a bool for the operation and a finish without
// data type.
func TestOldVersions(t *testing.T) {
	for _, v := range []core.Version{130, 131, 132, 133} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			mem := fs.NewMem()
			n := start(t, mem, func(o *Options) { o.Version = v })
			n.send(t, begin()...)
			finish := finishSync(-1)
			if v < 131 {
				finish.DataType.Valid = false
			}
			n.send(t, finish, add(1, 45, []byte("one")), update(1, 32, []byte("ref")), add(2, 45, nil), deletion(2))
			n.send(t, &core.ReplicationPageWrite{Page: 7, Message: pagedMessage("pg.b"), Address: buf.Of("pg.b")},
				&core.ReplicationPageEvent{StoreName: "pg.b", Page: 7})
			n.drained(t)
			if s := n.Status(); !s.UpToDate || s.Sequence != -1 || !slices.Equal(s.Paging, []string{"pg.b"}) {
				t.Errorf("status %+v", s)
			}
			if records, _ := content(t, n.o.Store.MessagesOptions()); !slices.Equal(records, []string{"1:45:one", "1:32:ref"}) {
				t.Errorf("records %q", records)
			}
			names, err := mem.List("/data/paging")
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			m := pagedMessage("pg.b")
			want := append(append([]byte{'{'}, buf.AppendBlock(nil, m)...), '}')
			if b, err := fs.ReadFile(mem, "/data/paging/"+names[0]+"/000000007.page"); err != nil || !bytes.Equal(b, want) {
				t.Errorf("page holds %q, %v", b, err)
			}
		})
	}
}

// The address of a paged message, for every persister.
func TestAddressOf(t *testing.T) {
	head := func(kind byte, rest ...byte) []byte { return append(append(buf.AppendInt64(nil, -1), kind), rest...) }
	address := buf.AppendNSS(nil, buf.Of("pg.c"))
	large := buf.AppendInt64(nil, 9) // id, address, user id, type, durable, expiration, timestamp, priority, no properties
	large = append(append(large, address...), 0, 0, 1)
	large = append(buf.AppendInt64(buf.AppendInt64(large, 0), 0), 4, 0)
	for name, b := range map[string][]byte{
		"core":       pagedMessage("pg.c"),
		"core large": append(head(1), buf.AppendBlock(nil, large)...),
		"amqp":       append(append(head(0, 2), make([]byte, 16)...), address...),
		"amqp v3":    append(append(head(0, 5), make([]byte, 16)...), address...),
		"amqp large": append(append(head(2, 4), make([]byte, 17)...), address...),
	} {
		if got, err := addressOf(b); err != nil || got != "pg.c" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A stopping active node is answered before the owner is told.
func TestScheduledFailOver(t *testing.T) {
	n := start(t, fs.NewMem(), nil)
	n.send(t, append(begin(), finishSync(3))...)
	var answered []int
	n.check = func() { answered = append(answered, n.answers()) }
	n.send(t, &core.ReplicationScheduledFailover{Stopping: core.StopCalled}, add(1, 45, []byte("last")), &core.ReplicationScheduledFailover{Stopping: 9})
	if !slices.Equal(answered, []int{5, 7}) {
		t.Errorf("answered %v when told", answered)
	}
	if want := []string{"up to date " + nodeID + " 3", "stop called", "fail over"}; !slices.Equal(n.told[2:], want) {
		t.Errorf("told %q, want %q", n.told, want)
	}
	if err := n.Activate(); err != nil {
		t.Error(err)
	}
}

// When the connection ends, what was applied stays and the node may take over; a failure of our own disk forbids it.
func TestLinkEnds(t *testing.T) {
	mem := fs.NewMem()
	n := start(t, mem, nil)
	n.send(t, append(begin(), finishSync(-1), add(1, 45, []byte("one")))...)
	n.drained(t)
	n.mu.Lock()
	n.down = errors.New("reset by peer")
	n.mu.Unlock()
	n.send(t, add(2, 45, []byte("two")))
	if err := n.out.drain(); !errors.Is(err, ErrLinkEnded) {
		t.Errorf("drain: %v", err)
	}
	if err := n.try(add(3, 45, nil), wireVersion); !errors.Is(err, ErrLinkEnded) {
		t.Errorf("handle: %v", err)
	}
	if err := n.Activate(); err != nil {
		t.Error(err)
	}
	mem.Crash(nil)
	if records, _ := content(t, n.o.Store.MessagesOptions()); len(records) < 2 || records[0] != "1:45:one" || records[1] != "2:45:two" {
		t.Errorf("records %q", records)
	}
	if err := n.try(add(4, 45, nil), wireVersion); err == nil {
		t.Error("a packet was taken after Close")
	}
}

// A disk that fails, or is full, ends the connection, and what was not written is not answered.
func TestDiskFails(t *testing.T) {
	for _, r := range []fs.Rule{
		{Op: fs.OpWrite, Pattern: "*.amq", Err: syscall.EIO},
		{Op: fs.OpCreate, Pattern: "*.amq.tmp", Err: syscall.ENOSPC},
		{Op: fs.OpWrite, Pattern: "*.msg", Err: syscall.ENOSPC},
		{Op: fs.OpWrite, Pattern: "*.page", Err: syscall.ENOSPC},
		{Op: fs.OpCreate, Pattern: "address.txt", Err: syscall.ENOSPC},
	} {
		t.Run(fmt.Sprint(r.Op, r.Pattern), func(t *testing.T) {
			faulty := fs.NewFaulty(fs.NewMem())
			n := start(t, faulty, func(o *Options) { o.Store.FileSize = 4096 })
			n.send(t, append(begin(), finishSync(-1))...)
			n.drained(t)
			faulty.Add(r)
			var err error
			for i := int64(1); err == nil && i < 1000; i++ {
				for _, p := range []core.Packet{add(i, 45, make([]byte, 1000)), &core.ReplicationLargeWrite{MessageID: i, Body: []byte("body")},
					&core.ReplicationPageWrite{Page: 1, Message: pagedMessage("pg"), Address: buf.Of("pg")}} {
					if err == nil {
						err = n.try(p, wireVersion)
						n.EndOfBatch()
					}
				}
			}
			if err == nil { // what was written last fails later
				err = n.out.drain()
			}
			if err == nil {
				t.Fatal("no error")
			}
			<-n.over
			n.mu.Lock()
			closed := n.closed
			n.mu.Unlock()
			if !errors.Is(closed, r.Err) {
				t.Errorf("closed with %v, want %v", closed, r.Err)
			}
			if err := n.Activate(); err == nil {
				t.Error("activated after a failure")
			}
		})
	}
}

// Whatever a peer sends, it is refused, with its place in the error, and nothing is written outside the folders.
func TestHostilePeers(t *testing.T) {
	many := make([]int64, 1<<18+1)
	for i := range many {
		many[i] = int64(i + 1)
	}
	header := func(id int64) []byte {
		b := make([]byte, 16)
		binary.BigEndian.PutUint32(b, 2)
		binary.BigEndian.PutUint64(b[8:], uint64(id))
		return b
	}
	file := func(id int64, b []byte) *core.ReplicationSyncFile {
		return &core.ReplicationSyncFile{FileID: id, FileType: core.FileJournal, Journal: core.JournalMessages, DataSize: int32(len(b)), Data: b}
	}
	page := func(address string, page int64) core.Packet {
		return &core.ReplicationPageWrite{Page: page, Message: pagedMessage("a"), Address: buf.Of(address)}
	}
	cases := map[string][]core.Packet{
		"before the start":         {add(1, 45, nil)},
		"negative file id":         {startSync(core.SyncJournalMessages, -5)},
		"huge file id":             {startSync(core.SyncJournalMessages, math.MaxInt64)},
		"file id twice":            {startSync(core.SyncJournalMessages, 5, 5)},
		"too many files":           {startSync(core.SyncJournalMessages, many...)},
		"journal begins twice":     {startSync(core.SyncJournalMessages), startSync(core.SyncJournalMessages)},
		"another node":             {startSync(core.SyncJournalMessages), &core.ReplicationStartFinishSync{NodeID: "x", DataType: buf.Of(core.SyncJournalBindings)}},
		"no node id":               {&core.ReplicationStartFinishSync{DataType: buf.Of(core.SyncJournalBindings)}},
		"start of a sequence":      {startSync(core.SyncActivationSequence, 1)},
		"start without type":       {&core.ReplicationStartFinishSync{NodeID: nodeID}},
		"finish of nothing":        {finishSync(1)},
		"finish without bindings":  {startSync(core.SyncJournalMessages), finishSync(1)},
		"finish without the files": {startSync(core.SyncJournalMessages, 1), startSync(core.SyncJournalBindings), finishSync(1)},
		"finish with many ids":     append(begin(), &core.ReplicationStartFinishSync{Finished: true, NodeID: nodeID, DataType: buf.Of(core.SyncActivationSequence), IDs: []int64{1, 2}}),
		"two finishes":             append(begin(), finishSync(1), finishSync(1)),
		"two lists":                append(begin(), startSync(core.SyncLargeMessages)),
		"list after finish":        append(begin(), finishSync(1), startSync(core.SyncLargeMessages)),
		"finish without the list":  append(begin()[:2:2], finishSync(1)),
		"empty journal file":       {startSync(core.SyncJournalMessages, 4), &core.ReplicationSyncFile{FileID: 4, FileType: core.FileJournal, Journal: core.JournalMessages, DataSize: -1}},
		"negative body":            append(begin()[:2:2], startSync(core.SyncLargeMessages, -1)),
		"body not listed":          append(begin(), &core.ReplicationSyncFile{FileID: 4, FileType: core.FileLarge, DataSize: 1, Data: []byte("x")}),
		"negative live body":       append(begin(), &core.ReplicationLargeWrite{MessageID: -2, Body: []byte("x")}),
		"negative deleted body":    append(begin(), &core.ReplicationLargeEnd{MessageID: -2, IsDelete: true}),
		"file not listed":          append(begin(), file(4, header(4))),
		"file after finish":        append(begin(), finishSync(1), file(4, header(4))),
		"file with another id":     {startSync(core.SyncJournalMessages, 4), file(4, header(5))},
		"file without header":      {startSync(core.SyncJournalMessages, 4), file(4, []byte("ab"))},
		"file of another format":   {startSync(core.SyncJournalMessages, 4), file(4, make([]byte, 100))},
		"file goes on":             {startSync(core.SyncJournalMessages, 4), file(4, header(4)), file(4, nil), file(4, header(4))},
		"unknown journal":          append(begin(), &core.ReplicationDelete{Journal: 2, ID: 1}),
		"negative journal":         append(begin(), &core.ReplicationDelete{Journal: -1, ID: 1}),
		"unknown operation":        append(begin(), &core.ReplicationAppend{Journal: 1, Operation: 7, ID: 1}),
		"event in a transaction":   append(begin(), inTx(3, &core.ReplicationAppend{Journal: 1, Operation: core.RecordEvent, ID: 1})),
		"record too large":         append(begin(), add(1, 45, make([]byte, 200_000))),
		"page without address":     append(begin(), page("", 1), &core.ReplicationPageWrite{Page: 1, Message: pagedMessage(""), Address: buf.Of("")}),
		"address of two lines":     append(begin(), page("a\nb", 1)),
		"huge address":             append(begin(), page(strings.Repeat("a", maxAddress+1), 1)),
		"negative page":            append(begin(), page("a", -1)),
		"huge page":                append(begin(), page("a", math.MaxInt32+1)),
		"negative page deleted":    append(begin(), &core.ReplicationPageEvent{StoreName: "a", Page: -1, IsDelete: true}),
		"not a request":            append(begin(), &core.ReplicationResponse{}),
		"another channel's":        append(begin(), &core.Ping{TTL: 1}),
	}
	for name, packets := range cases {
		t.Run(name, func(t *testing.T) {
			mem := fs.NewMem()
			n := start(t, mem, nil)
			var err error
			for i, p := range packets {
				if err = n.try(p, wireVersion); err != nil && i < len(packets)-1 && name != "page without address" {
					t.Fatalf("packet %d was refused: %v", i, err)
				}
				if err != nil {
					break
				}
			}
			if err == nil || n.closed == nil || n.Status().Broken == nil {
				t.Fatalf("error %v, closed with %v, status %+v", err, n.closed, n.Status())
			}
			if err := n.Activate(); err == nil {
				t.Error("activated")
			}
		})
	}
	// Tricks with paths end in our own folder.
	mem := fs.NewMem()
	n := start(t, mem, nil)
	n.send(t, append(begin(), page("../../../etc/passwd", 1))...)
	names, err := mem.List("/data/paging")
	if err != nil || len(names) != 1 || len(names[0]) != 36 {
		t.Errorf("paging holds %v, %v", names, err)
	}
	if names, err := mem.List("/"); err != nil || !slices.Equal(names, []string{"data"}) {
		t.Errorf("the root holds %v, %v", names, err)
	}
	if err := n.Handle(core.Frame{Type: core.TypeReplicationAppend, Channel: 2, Payload: []byte{1, 2, 3}}); err == nil {
		t.Error("a packet cut short was taken")
	}
}

// The replica crashes at any write of the synchronisation and after it. Then it begins anew, and has what it should.
func TestCrashAndSyncAgain(t *testing.T) {
	requests, _ := capture(t)
	play := func(fsys fs.FS) (*node, error) {
		n, err := tryStart(fsys, nil)
		if err != nil {
			return nil, err
		}
		for _, b := range requests {
			if err = n.Handle(frameOf(b)); err != nil {
				break
			}
			n.EndOfBatch()
		}
		if err == nil {
			err = n.out.drain()
		}
		return n, err
	}
	count := fs.NewFaulty(fs.NewMem())
	n, err := play(count)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.end(); err != nil {
		t.Fatal(err)
	}
	total := count.Count()
	if total < 150 {
		t.Fatalf("only %d writes", total)
	}
	step := 3
	if testing.Short() {
		step = 29
	}
	failed, whole := 0, 0
	for at := 0; at < total; at += step {
		mem := fs.NewMem()
		faulty := fs.NewFaulty(mem)
		faulty.StopAfter(at, syscall.EIO)
		n, err := play(faulty)
		if err != nil {
			failed++
		}
		if n != nil {
			_ = n.end()
		}
		mem.Crash(rand.New(rand.NewPCG(uint64(at), 1)))
		if Whole(storeOptions(mem)) == nil && n != nil && n.Status().NodeID != "" {
			o := storeOptions(mem)
			messages, _ := content(t, o.MessagesOptions())
			bindings, _ := content(t, o.BindingsOptions())
			if len(messages) < 10 || len(bindings) < 10 {
				t.Fatalf("crash at write %d: passes for whole with %d messages and %d bindings", at, len(messages), len(bindings))
			}
			whole++
		}
		if n, err = play(mem); err != nil {
			t.Fatalf("crash at write %d: again: %v", at, err)
		}
		if err := n.Activate(); err != nil {
			t.Fatalf("crash at write %d: %v", at, err)
		}
		mem.Crash(nil)
		if l := load(t, mem); l.queues["q1"] != 6 {
			t.Fatalf("crash at write %d: queues %v", at, l.queues)
		}
	}
	if failed == 0 || whole == 0 {
		t.Errorf("%d crashes were noticed, %d after the finish", failed, whole)
	}
}
