package replica

import (
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
)

// FuzzEndpoint feeds sequences of frames: the endpoint takes or refuses each, and answers one for each that it took.
func FuzzEndpoint(f *testing.F) {
	requests, _ := capture(f)
	var live []byte
	for _, b := range requests[86:] {
		live = append(live, b...)
	}
	f.Add(live[:4096], true)
	f.Add(live[len(live)/2:], true)
	var synced []byte
	for _, p := range begin() {
		synced = core.Append(synced, core.ChannelReplication, p, wireVersion)
	}
	f.Add(synced, false)
	f.Add(core.Append(synced, core.ChannelReplication, finishSync(1), wireVersion), false)
	f.Add(requests[4], false)
	f.Fuzz(func(t *testing.T, b []byte, synced bool) {
		mem := fs.NewMem()
		n, err := tryStart(mem, func(o *Options) { o.Store.FileSize = 4096 })
		if err != nil {
			t.Fatal(err)
		}
		taken := 0
		if synced {
			n.send(t, append(begin(), finishSync(-1))...)
			taken = 4
		}
		for {
			frame, rest, need, err := core.Split(b, 1<<20)
			if err != nil || need > 0 {
				break
			}
			if err := n.Handle(frame); err != nil {
				break
			}
			taken++
			b = rest
		}
		n.EndOfBatch()
		if err := n.out.drain(); err == nil && n.answers() != taken && n.Status().Broken == nil {
			t.Fatalf("%d packets have %d responses", taken, n.answers())
		}
		up := n.Status()
		if err := n.Activate(); err == nil && (!up.UpToDate || up.Broken != nil) {
			t.Fatal("activated without being in sync")
		}
	})
}
