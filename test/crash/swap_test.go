package crash

import (
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// TestSwap lets Saranga and real Artemis serve one instance in turn, under load. Each is ended by kill -9 or in good
// order, and the other goes on from its files; nothing is lost, doubled or changed.
func TestSwap(t *testing.T) {
	b := newBench(t, peers.UnderTest(t))
	b.artemis = peers.RealArtemis(t)
	var broker peers.Broker = b.saranga
	for i := range *swaps + 1 {
		p := b.start(broker)
		b.look(p)
		least := 300 * time.Millisecond
		if broker.Name() == b.artemis.Name() {
			least = 2 * time.Second // a JVM needs some time before it does much
		}
		kill, compact := i < 2, i == 2
		if *swaps > 2 {
			kill, compact = b.rnd.IntN(2) == 0, b.rnd.IntN(2) == 0
		}
		compact = compact && broker.Name() == b.saranga.Name()
		b.work(p, kill, least, 2*least)
		t.Logf("%s, %d units, killed: %v, compacted: %v", broker.Name(), len(b.last.Units), kill, compact)
		if compact {
			b.compactFiles()
		}
		if broker.Name() == b.saranga.Name() {
			broker = b.artemis
		} else {
			broker = b.saranga
		}
		b.printFiles(broker) // by the one that is going to read them
	}
	p := b.start(broker)
	b.finish(p)
}
