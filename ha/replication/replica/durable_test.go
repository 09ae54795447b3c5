package replica

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
)

// syncs counts the syncs of files, by base name.
type syncs struct {
	mu    sync.Mutex
	count map[string]int
	after chan string // gets each name
}

func countSyncs(f *fs.Faulty) *syncs {
	s := &syncs{count: map[string]int{}, after: make(chan string, 1000)}
	f.SetHook(func(op fs.Op, name string) {
		if op != fs.OpSync {
			return
		}
		s.mu.Lock()
		s.count[path.Ext(name)]++
		s.mu.Unlock()
		select {
		case s.after <- path.Base(name):
		default:
		}
	})
	return s
}

func (s *syncs) of(ext string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[ext]
}

// Under a load that leaves no rest, a batch is answered without a sync, but for one in each second.
func TestSyncedEachSecond(t *testing.T) {
	faulty := fs.NewFaulty(fs.NewMem())
	n := start(t, faulty, func(o *Options) { o.Store.FileSize = 10 << 20 })
	var now time.Time
	n.now = func() time.Time { return now }
	n.send(t, append(begin(), finishSync(-1))...)
	n.drained(t)
	now = now.Add(time.Hour)
	n.send(t, add(1, 45, []byte("first")))
	n.drained(t)
	s := countSyncs(faulty)
	id := int64(1)
	// The journal syncs by itself when nothing comes for some milliseconds, which a slow machine may see in between.
	batches := func(count int) int {
		before := s.of(".amq")
		for range count {
			id++
			n.send(t, add(id, 45, []byte("more")))
			n.drained(t)
		}
		return s.of(".amq") - before
	}
	for try := 0; ; try++ {
		if got := batches(200); got == 0 {
			break
		} else if try == 50 {
			t.Fatalf("200 batches in no time were synced %d times", got)
		}
	}
	now = now.Add(syncEvery)
	if got := batches(1); got == 0 {
		t.Error("not synced after a second")
	}
}

// A body is on the disk soon after its end, without anybody waiting for it.
func TestBodySyncedAfterItsEnd(t *testing.T) {
	mem := fs.NewMem()
	faulty := fs.NewFaulty(mem)
	n := start(t, faulty, nil)
	n.send(t, append(begin(), finishSync(-1))...)
	n.drained(t)
	s := countSyncs(faulty)
	n.send(t, &core.ReplicationLargeWrite{MessageID: 5, Body: []byte("body")})
	n.drained(t)
	if got := s.of(".msg"); got != 0 {
		t.Errorf("an open body was synced %d times", got)
	}
	n.send(t, &core.ReplicationLargeEnd{MessageID: 5, PendingRecordID: 1})
	timeout := time.After(20 * time.Second)
	for {
		select {
		case name := <-s.after:
			if name == "5.msg" {
				return
			}
			if strings.HasSuffix(name, ".msg") {
				t.Errorf("%s was synced", name)
			}
		case <-timeout:
			t.Fatal("the body was not synced")
		}
	}
}

// However many bodies come, a node that takes over has few to sync.
func TestUnsyncedBounded(t *testing.T) {
	faulty := fs.NewFaulty(fs.NewMem())
	n := start(t, faulty, nil)
	n.send(t, append(begin(), finishSync(-1))...)
	for id := range int64(20 * maxUnsynced) {
		n.send(t, &core.ReplicationLargeWrite{MessageID: id, Body: []byte("b")})
		n.files.mu.Lock()
		unsynced := len(n.files.unsynced)
		n.files.mu.Unlock()
		if unsynced > maxUnsynced+1 { // and the folder
			t.Fatalf("%d files wait for a sync", unsynced)
		}
	}
}

// A body that cannot be synced ends the replica: its message may have been answered, but this node does not take over.
func TestBodySyncFails(t *testing.T) {
	faulty := fs.NewFaulty(fs.NewMem())
	n := start(t, faulty, nil)
	n.send(t, append(begin(), finishSync(-1))...)
	n.drained(t)
	faulty.Add(fs.Rule{Op: fs.OpSync, Pattern: "*.msg", Err: syscall.EIO})
	n.send(t, &core.ReplicationLargeWrite{MessageID: 5, Body: []byte("body")}, &core.ReplicationLargeEnd{MessageID: 5, PendingRecordID: 1})
	select {
	case <-n.over:
	case <-time.After(20 * time.Second):
		t.Fatal("the link was not ended")
	}
	if err := n.try(add(1, 45, nil), wireVersion); !errors.Is(err, syscall.EIO) {
		t.Errorf("another packet: %v", err)
	}
	if err := n.Activate(); !errors.Is(err, syscall.EIO) {
		t.Errorf("activate: %v", err)
	}
}

// Until the finish the folders do not pass for whole; then they do, whatever ends the process.
func TestWholeAfterFinish(t *testing.T) {
	mem := fs.NewMem()
	n := start(t, mem, nil)
	o := storeOptions(mem)
	var told []string
	check := func() { told = append(told, fmt.Sprint(errors.Is(Whole(o), ErrIncomplete))) }
	n.check = check
	n.send(t, begin()...)
	if err := n.end(); err != nil {
		t.Fatal(err)
	}
	if err := Whole(o); !errors.Is(err, ErrIncomplete) {
		t.Errorf("closed before the finish: %v", err)
	}
	n = start(t, mem, nil)
	n.check = check
	n.send(t, append(begin(), finishSync(-1))...)
	n.drained(t)
	// The two journals, twice, and the finish.
	if want := []string{"true", "true", "true", "true", "false"}; !slices.Equal(told, want) {
		t.Errorf("incomplete when the owner was told: %v, want %v", told, want)
	}
}
