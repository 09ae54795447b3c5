package primary

import (
	"testing"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
)

// FuzzHandleFrame gives a sender whatever a peer may send on the channel. It confirms no more than was sent, and ends when something
// is wrong.
func FuzzHandleFrame(f *testing.F) {
	n := newNode(f, fs.NewMem(), nil)
	f.Cleanup(func() { n.close() })
	add := func(packets ...core.Packet) {
		var b []byte
		for _, p := range packets {
			b = core.Append(b, core.ChannelReplication, p, wireVersion)
		}
		f.Add(b)
	}
	normal := &core.ReplicationResponse{Form: core.TypeReplicationResponse}
	add(normal, normal, &core.ReplicationResponse{SynchronizationIsFinishedAcknowledgement: true}, normal)
	add(normal, normal, normal, normal, normal)
	add(&core.Exception{Code: 1})
	add(&core.ReplicationResponse{}, &core.Ping{})
	f.Fuzz(func(t *testing.T, b []byte) {
		link := newPeer(wireVersion)
		s := newSender(n.p, link, wireVersion, false)
		for i := range 4 {
			if i == 2 {
				s.q.pushFinish(s.finishPacket(1))
				continue
			}
			s.q.append(journal.MessagesJournal, journal.Mark(i+1), &journal.Record{Kind: journal.Delete, ID: 1})
		}
		s.send(0)
		failed := false
		for len(b) > 0 && !failed {
			x, rest, need, err := core.Split(b, 1<<20)
			if err != nil || need > 0 {
				break
			}
			failed = s.HandleFrame(x) != nil
			b = rest
		}
		s.EndOfBatch()
		if s.q.answered > 4 || s.q.awaited.n != 4-int(s.q.answered) {
			t.Errorf("%d packets are answered, %d are not", s.q.answered, s.q.awaited.n)
		}
		if failed && !s.lost() {
			t.Error("it goes on after an error")
		}
		if s.q.answered > 2 && !s.q.finished && !s.lost() {
			t.Error("the end of the synchronisation was passed over")
		}
	})
}
