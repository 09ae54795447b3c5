package primary

import (
	"errors"
	"fmt"
	"sync"

	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// A Channel is the replication channel of a Core server (core.ChannelReplication): it brings the replica's responses to its
// sender. It is a server.ChannelHandler.
type Channel struct {
	p *Primary

	mu      sync.Mutex
	senders map[server.Peer]*Sender
}

// NewChannel returns the channel of a primary.
func NewChannel(p *Primary) *Channel { return &Channel{p: p, senders: map[server.Peer]*Sender{}} }

// Register takes a backup's registration from the cluster channel. From here on the connection outlives the disconnection of
// clients. An error refuses it, see Problem.
func (c *Channel) Register(peer server.Peer, r *core.BackupRegistration) error {
	link, ok := peer.(Link)
	if !ok {
		return fmt.Errorf("register %s: its connection takes no frames", peer.RemoteAddr())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.p.Register(link, peer.Version(), r.WantsFailBack)
	if err != nil {
		return err
	}
	peer.Outlive()
	c.senders[peer] = s
	return nil
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

// EndOfBatch tells that what was read at once of a peer has been handled.
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
