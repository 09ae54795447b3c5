package crash

import (
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// TestKill kills Saranga at random moments under load and compares what it serves afterwards with what it has answered.
func TestKill(t *testing.T) {
	b := newBench(t, peers.UnderTest(t))
	if *soak {
		b.artemis = peers.RealArtemis(t)
	}
	for range *rounds {
		p := b.start(b.saranga)
		b.look(p)
		b.work(p, true, 20*time.Millisecond, 1200*time.Millisecond)
		if b.rnd.IntN(4) == 0 {
			b.printFiles(b.saranga)
		}
		if *soak && b.round%40 == 0 {
			b.printFiles(b.artemis)
		}
	}
	b.finish(b.start(b.saranga))
}

// TestKillJMS is TestKill with Artemis' JMS client beside ours, in fewer rounds: it takes its time to connect.
func TestKillJMS(t *testing.T) {
	b := newBench(t, peers.UnderTest(t))
	b.withJava()
	for range max(*rounds/5, 3) {
		p := b.start(b.saranga)
		b.look(p)
		b.work(p, true, 500*time.Millisecond, 3*time.Second)
	}
	b.finish(b.start(b.saranga))
}
