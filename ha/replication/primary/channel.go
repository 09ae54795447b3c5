package primary

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// A Channel is the replication channel of a Core server (core.ChannelReplication): it brings the replica's responses to its
// sender.
type Channel struct {
	p *Primary

	registering sync.Mutex
	last        atomic.Pointer[registered] // may be lost by now; there is one sender at most
}

// registered is a connection of the server with its sender.
type registered struct {
	peer   server.Peer
	sender *Sender
}

var _ server.BatchHandler = (*Channel)(nil)

// NewChannel returns the channel of a primary.
func NewChannel(p *Primary) *Channel { return &Channel{p: p} }

// Register is Primary.Register for a connection of the server, which from here on outlives the disconnection of clients. No
// response is missed, however soon it comes.
func (c *Channel) Register(peer server.Peer, wantsFailBack bool) (*Sender, error) {
	c.registering.Lock()
	defer c.registering.Unlock()
	s, err := c.p.Register(peer, peer.Version(), wantsFailBack)
	if err != nil {
		return nil, err
	}
	peer.Outlive()
	c.last.Store(&registered{peer, s})
	return s, nil
}

// sender is that of a connection, nil if it has none.
func (c *Channel) sender(peer server.Peer) *Sender {
	r := c.last.Load()
	if r == nil || r.peer != peer { // it may be the one that is registering
		c.registering.Lock()
		r = c.last.Load()
		c.registering.Unlock()
	}
	if r == nil || r.peer != peer {
		return nil
	}
	return r.sender
}

var errUnregistered = errors.New("a packet on the replication channel from a peer that is no replica")

// HandleFrame implements server.ChannelHandler.
func (c *Channel) HandleFrame(peer server.Peer, f core.Frame) error {
	s := c.sender(peer)
	if s == nil {
		return errUnregistered
	}
	return s.HandleFrame(f)
}

// EndOfBatch implements server.BatchHandler.
func (c *Channel) EndOfBatch(peer server.Peer) {
	if s := c.sender(peer); s != nil {
		s.EndOfBatch()
	}
}

// Gone implements server.ChannelHandler.
func (c *Channel) Gone(peer server.Peer) {
	if s := c.sender(peer); s != nil {
		s.Gone(nil)
	}
}
