package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
)

// The garbage collector runs seldom while the heap is small (GOGC=400 costs at most 256 MiB then), and more often the
// larger the backlog of messages gets, so that what it leaves uncollected stays below about 256 MiB and a fifth of the
// heap. The bytes of messages lie outside of the heap; what a message costs there is messageHeap.
const (
	tunePeriod  = time.Second
	smallHeap   = 64 << 20
	headroom    = 256 << 20
	maxPercent  = 400
	minPercent  = 20
	messageHeap = 300 // bytes of a message and its reference

	// A broker that has come to rest collects once what it allocated before, logins for the most part, and gives back what
	// it does not use: nothing else would until it is busy again.
	restRate = 64 << 10 // bytes allocated in a period
	restSize = 2 << 20  // bytes since the last collection, or unused
)

// gcPercent is the GOGC for a heap in which live bytes are in use.
func gcPercent(live int64) int {
	if live <= smallHeap {
		return maxPercent
	}
	return int(min(max(100*headroom/live+20, minPercent), maxPercent))
}

// memoryLimit is the soft limit of the Go runtime in a container of that many bytes, of which others in this process, the
// messages, take some. It stays well above what is live: a limit below that would only keep the collector busy.
func memoryLimit(container, others, live int64) int64 {
	return max(container/10*9-others, live+live/4+smallHeap)
}

// A tuner sets the garbage collector.
type tuner struct {
	messages  func() int64 // in memory
	others    func() int64 // bytes outside of the heap
	container int64        // bytes; 0: no limit
	percent   int
	limit     int64
	sample    []metrics.Sample

	allocated  uint64 // ever, at the last look
	setPercent func(int) int
	collect    func()
	setLimit   func(int64) int64
}

// newTuner returns nil when the operator has set GOGC: everything is left to him then. GOMEMLIMIT alone leaves the limit
// to him.
func newTuner(n *node, log hclog.Logger) *tuner {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	t := &tuner{messages: n.broker.Total().Messages, others: n.broker.Pool().Bytes, setPercent: debug.SetGCPercent, setLimit: debug.SetMemoryLimit,
		collect: debug.FreeOSMemory,
		sample: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
			{Name: "/memory/classes/heap/free:bytes"}}}
	if os.Getenv("GOMEMLIMIT") == "" {
		t.container = int64(config.MemoryLimit())
	}
	if most := n.broker.Options().GlobalMaxBytes; t.container > 0 && most > t.container/10*6 {
		log.Warn("global-max-size is more than 60 % of the memory that this container may use: messages may fill it until the system ends the process",
			"global-max-size", readable(most), "container", readable(t.container))
	}
	return t
}

// tune follows the backlog.
func (t *tuner) tune() {
	metrics.Read(t.sample)
	live := int64(t.sample[0].Value.Uint64())
	t.rest(live, int64(t.sample[2].Value.Uint64())-live, int64(t.sample[3].Value.Uint64()), t.sample[1].Value.Uint64())
	t.adjust(max(live, t.messages()*messageHeap))
}

// rest collects when nothing happens any more: garbage bytes at most are not alive, free ones are used for nothing.
func (t *tuner) rest(live, garbage, free int64, allocated uint64) {
	resting := allocated-t.allocated < restRate
	t.allocated = allocated
	if resting && max(garbage, free) > restSize && live < smallHeap {
		t.collect()
	}
}

// adjust sets what has changed by more than a tenth.
func (t *tuner) adjust(live int64) {
	if p := gcPercent(live); changed(int64(t.percent), int64(p)) {
		t.percent = p
		t.setPercent(p)
	}
	if t.container == 0 {
		return
	}
	if l := memoryLimit(t.container, t.others(), live); changed(t.limit, l) {
		t.limit = l
		t.setLimit(l)
	}
}

func changed(old, new int64) bool { return 10*max(new-old, old-new) > old }
