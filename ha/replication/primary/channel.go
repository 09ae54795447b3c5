package primary

import (
	"errors"
	"sync"

	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// A Channel is the replication channel of a Core server (core.ChannelReplication): it brings the replica's responses to its
// sender.
type Channel struct {
	p *Primary

	mu      sync.Mutex
	senders map[server.Peer]*Sender
}

var _ server.BatchHandler = (*Channel)(nil)

// NewChannel returns the channel of a primary.
func NewChannel(p *Primary) *Channel { return &Channel{p: p, senders: map[server.Peer]*Sender{}} }

// Register is Primary.Register for a connection of the server, which from here on outlives the disconnection of clients. No
// response is missed, however soon it comes.
func (c *Channel) Register(peer server.Peer, wantsFailBack bool) (*Sender, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.p.Register(peer, peer.Version(), wantsFailBack)
	if err != nil {
		return nil, err
	}
	peer.Outlive()
	c.senders[peer] = s
	return s, nil
}

func (c *Channel) sender(peer server.Peer) *Sender {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.senders[peer]
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
	s := c.sender(peer)
	if s == nil {
		return
	}
	c.mu.Lock()
	delete(c.senders, peer)
	c.mu.Unlock()
	s.Gone(nil)
}
