package replica

import (
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
)

// BenchmarkLive is the live path on a real disk: sends of 1 KiB with an ack each, as an active node replicates them, in read batches of
// 64 packets. Each packet is a record of the journal.
func BenchmarkLive(b *testing.B) {
	dir := b.TempDir()
	n, err := tryStart(fs.OS{}, func(o *Options) {
		o.Store.FileSize, o.Store.PoolFiles = 10<<20, 10
		o.Store.Bindings, o.Store.Journal = dir+"/bindings", dir+"/journal"
		o.Store.Paging, o.Store.Large = dir+"/paging", dir+"/large"
	})
	if err != nil {
		b.Fatal(err)
	}
	defer n.end()
	n.send(b, append(begin(), finishSync(-1))...)
	n.drained(b)
	payload := make([]byte, 1024)
	const batch = 64
	var frames []byte
	id := int64(0)
	b.ReportAllocs()
	b.ResetTimer()
	records := 0
	for records < b.N {
		b.StopTimer()
		frames = frames[:0]
		for range batch / 4 {
			id++
			for _, p := range []core.Packet{add(id, 45, payload), update(id, 32, payload[:8]), update(id, 33, payload[:8]), deletion(id)} {
				frames = core.Append(frames, core.ChannelReplication, p, wireVersion)
			}
		}
		n.mu.Lock()
		n.sent = n.sent[:0]
		n.mu.Unlock()
		b.StartTimer()
		for rest := frames; len(rest) > 0; records++ {
			f, after, _, err := core.Split(rest, 1<<20)
			if err != nil {
				b.Fatal(err)
			}
			if err := n.Handle(f); err != nil {
				b.Fatal(err)
			}
			rest = after
		}
		n.EndOfBatch()
	}
	n.drained(b)
	b.StopTimer()
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}
