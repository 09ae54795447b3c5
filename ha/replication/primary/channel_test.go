package primary

import (
	"crypto/x509"
	"errors"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// connection is a peer as the Core server shows it.
type connection struct {
	*peer
	outlives bool
}

func (c *connection) Send(int64, core.Packet)               {}
func (c *connection) Version() core.Version                 { return c.version }
func (c *connection) PeerCertificates() []*x509.Certificate { return nil }
func (c *connection) AcceptorParam(string) string           { return "" }
func (c *connection) Admit(int)                             {}
func (c *connection) Outlive()                              { c.outlives = true }

// Responses reach the sender of their connection; others have no business on the channel.
func TestChannel(t *testing.T) {
	n := newNode(t, fs.NewMem(), func(o *Options) { o.AllowFailBack = true })
	ch := NewChannel(n.p)
	c, other := &connection{peer: newPeer(wireVersion)}, &connection{peer: newPeer(wireVersion)}
	s, err := ch.Register(c, true)
	if err != nil || !c.outlives {
		t.Fatalf("outlives %v, %v", c.outlives, err)
	}
	if _, err := ch.Register(other, false); !errors.Is(err, ErrAlreadyReplicating) || other.outlives {
		t.Errorf("a second one: %v, outlives %v", err, other.outlives)
	}
	respond := func(p server.Peer, x core.Packet) error {
		f, _, _, err := core.Split(core.Append(nil, core.ChannelReplication, x, wireVersion), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return ch.HandleFrame(p, f)
	}
	ended := make(chan bool)
	go func() { ended <- <-n.sync == s }()
	answered := 0
	for synced := false; !synced; {
		c.mu.Lock()
		for answered == len(c.packets) {
			c.changed.Wait()
		}
		x := c.packets[answered]
		answered++
		c.mu.Unlock()
		if start, ok := x.(*core.ReplicationStartFinishSync); ok {
			if !start.Finished && start.DataType.V != core.SyncLargeMessages && !start.AllowsAutoFailBack {
				t.Error("the replica is not told that it may fail back")
			}
			synced = start.Finished
		}
		if err := respond(c, responseTo(x)); err != nil {
			t.Fatal(err)
		}
		ch.EndOfBatch(c)
	}
	if !<-ended {
		t.Error("another sender was synchronised")
	}
	if err := respond(other, responseTo(nil)); !errors.Is(err, errUnregistered) {
		t.Errorf("a stranger's response: %v", err)
	}
	ch.EndOfBatch(other)
	ch.Gone(other)
	if s.lost() {
		t.Error("lost by a stranger")
	}
	ch.Gone(c)
	if l := <-n.lost; !errors.Is(l.Reason, ErrGone) {
		t.Errorf("lost %+v", l)
	}
	n.p.Release()
	n.close()
}
