package crash

import (
	"github.com/saranga-mq/saranga/test/peers"
	"testing"
	"time"
)

// TestKill kills Saranga at random moments under load and compares what it serves afterwards with what it has answered.
func TestKill(t *testing.T) {
	b := newBench(t, peers.UnderTest(t))
	for range *rounds {
		p := b.start(b.saranga)
		b.look(p)
		b.work(p, true, 20*time.Millisecond, 1200*time.Millisecond)
		if b.rnd.IntN(4) == 0 {
			b.printFiles(b.saranga)
		}
	}
	p := b.start(b.saranga)
	b.finish(p)
}
