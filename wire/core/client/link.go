package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// flushSize is how many bytes gather in the output before whoever appends writes them.
const flushSize = 128 << 10

// maxFrame bounds the frames a broker may send, in bytes.
const maxFrame = 1 << 30

// link is one TCP connection of a Conn: the handler of its frames, and the
// control channels, which live and die with it.
type link struct {
	c    *Conn
	tc   *transport.Conn
	out  *transport.Output
	host transport.ConnectorOptions

	// inBatch is set while the read goroutine handles a batch. It flushes at
	// the end, after clearing it, so what was appended while it was set needs
	// no other flush.
	inBatch atomic.Bool

	// Of the read goroutine.
	body []byte // memory of big frames
	big  []byte // the big frame being handled, in body

	mu       sync.Mutex
	room     sync.Cond // the output has drained, or the link ended
	ended    bool
	err      error
	control  calls         // requests on channel 1
	topology chan struct{} // closed when the last node was told
	told     bool
}

func newLink(c *Conn, tc *transport.Conn, host transport.ConnectorOptions) *link {
	l := &link{c: c, tc: tc, out: tc.Output(), host: host, topology: make(chan struct{})}
	l.room.L = &l.mu
	tc.SetMaxFrame(maxFrame)
	return l
}

// Handle handles all whole frames in place.
func (l *link) Handle(tc *transport.Conn, data []byte) (int, error) {
	l.inBatch.Store(true)
	rest := data
	for len(rest) > 0 {
		f, after, need, err := core.Split(rest, maxFrame)
		if err != nil {
			return 0, err
		}
		if need > 0 {
			if need >= transport.RefSize {
				err = tc.ReadBody(need)
			}
			return len(data) - len(rest), err
		}
		if err := l.dispatch(f); err != nil {
			return 0, err
		}
		rest = after
	}
	return len(data), nil
}

// Body returns memory for a big frame.
func (l *link) Body(_ *transport.Conn, n int) ([]byte, error) {
	if cap(l.body) < n {
		l.body = make([]byte, n)
	}
	l.big = l.body[:n]
	return l.big, nil
}

// Filled handles a big frame.
func (l *link) Filled(*transport.Conn) error {
	l.inBatch.Store(true)
	f, _, _, err := core.Split(l.big, maxFrame)
	if err == nil {
		err = l.dispatch(f)
	}
	l.big = nil
	return err
}

// keep returns p, a part of the frame being handled, for keeping: appended to
// memory (which may be nil), or as it is if the frame was read into memory of
// its own. It may be called once in a frame.
func (l *link) keep(memory, p []byte) []byte {
	if l.big != nil && len(p) >= transport.RefSize {
		l.body, l.big = nil, nil
		return p
	}
	return append(memory[:0], p...)
}

// EndOfBatch writes what handling the batch has appended.
func (l *link) EndOfBatch(*transport.Conn) {
	if f := l.c.endOfBatch.Load(); f != nil {
		(*f)()
	}
	l.inBatch.Store(false)
	l.out.Flush()
}

// Drained wakes those who wait for room in the output.
func (l *link) Drained(*transport.Conn) {
	l.mu.Lock()
	l.room.Broadcast()
	l.mu.Unlock()
}

// Closed tells the connection that this link is over.
func (l *link) Closed(_ *transport.Conn, err error) {
	l.end(err)
	l.c.lost(l)
}

// end lets all who wait for the link go.
func (l *link) end(err error) {
	var errno syscall.Errno
	switch {
	case err == nil || errors.Is(err, io.EOF):
		err = &core.Error{Code: core.NotConnected, Message: "the connection was closed by the broker"}
	case errors.As(err, &errno): // reset by a broker that was killed, for one
		err = &core.Error{Code: core.NotConnected, Message: err.Error()}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended, l.err = true, err
	l.room.Broadcast()
	l.control.fail(func(*call) error { return err })
	if !l.told {
		l.told = true
		close(l.topology)
	}
}

// fail ends the link with a reason of ours.
func (l *link) fail(err error) {
	l.end(err)
	l.tc.Close(err)
}

// awaitRoom waits until the output is not full.
func (l *link) awaitRoom() {
	for {
		l.out.Lock()
		full := l.out.Full()
		l.out.Unlock()
		if !full {
			return
		}
		l.out.Flush()
		l.mu.Lock()
		l.out.Lock()
		full = l.out.Full() // under both locks: Drained cannot slip in between
		l.out.Unlock()
		if full && !l.ended {
			l.room.Wait()
		}
		ended := l.ended
		l.mu.Unlock()
		if ended {
			return
		}
	}
}

// flushSoon has what was appended written: now if it is much, else by the read
// goroutine at the end of its batch or by the connection's second goroutine.
func (l *link) flushSoon(appended int) {
	if appended >= flushSize {
		l.out.Flush()
		return
	}
	if !l.inBatch.Load() {
		l.c.wakeFlusher()
	}
}

// write sends a packet of a control channel.
func (l *link) write(channel int64, p core.Packet) {
	l.append(channel, p)
	l.out.Flush()
}

func (l *link) append(channel int64, p core.Packet) {
	frame := core.Append(nil, channel, p, l.c.wireVersion())
	l.out.Lock()
	l.out.Append(frame)
	l.out.Unlock()
}

// request sends a packet on channel 1 and waits for its answer.
func (l *link) request(ctx context.Context, p core.Packet, want core.Type) (core.Packet, error) {
	k := &call{want: want, correlation: core.NoCorrelation, answer: make(chan answer, 1)}
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return nil, l.err
	}
	l.control.waiting = append(l.control.waiting, k)
	l.append(core.ChannelSession, p)
	l.mu.Unlock()
	l.out.Flush()
	a, gave := k.wait(ctx, l.c.cfg.CallTimeout)
	if !gave {
		l.fail(fmt.Errorf("core client: %v: %w", p.Type(), a.err))
	}
	return a.packet, a.err
}

// dispatch gives a frame to its channel. Frames of channels that are not
// there are dropped, as the broker drops them.
func (l *link) dispatch(f core.Frame) error {
	if f.Channel >= core.FirstSessionChannel {
		if s := l.c.session(f.Channel); s != nil {
			return s.handle(l, f)
		}
		return nil
	}
	switch f.Channel {
	case core.ChannelPing:
		return l.handlePing(f)
	case core.ChannelSession:
		return l.handleControl(f)
	}
	if h := l.c.handler(f.Channel); h != nil {
		return h(f)
	}
	return nil
}

// handlePing handles channel 0.
func (l *link) handlePing(f core.Frame) error {
	if f.Type == core.TypePing {
		return nil // the echo; any byte counts as life
	}
	p, err := core.Decode(f.Type, f.Payload, l.c.wireVersion())
	if err != nil {
		return err
	}
	switch p := p.(type) {
	case *core.ClusterTopology:
		l.c.learn(p)
		if l.c.cfg.OnTopologyPacket != nil {
			l.c.cfg.OnTopologyPacket(p)
		}
		if p.Last {
			l.mu.Lock()
			if !l.told {
				l.told = true
				close(l.topology)
			}
			l.mu.Unlock()
		}
	case *core.Disconnect:
		l.c.disconnected(p)
		if l.c.cfg.OnDisconnect != nil {
			l.c.cfg.OnDisconnect(p)
		}
		return &core.Error{Code: core.Disconnected, Message: "the broker " + p.NodeID.V + " ended the connection"}
	}
	return nil
}

// handleControl handles channel 1.
func (l *link) handleControl(f core.Frame) error {
	p, err := core.Decode(f.Type, f.Payload, l.c.wireVersion())
	if err != nil {
		return err
	}
	l.mu.Lock()
	k := l.control.take(f.Type, core.NoCorrelation)
	l.mu.Unlock()
	if k == nil {
		return nil
	}
	if e, ok := p.(*core.Exception); ok {
		k.finish(answer{err: e.Err()})
	} else {
		k.finish(answer{packet: p})
	}
	return nil
}

// hello is what a client says first: the preamble, a PING, the failover check
// of a client that comes back, and the subscription to the topology. It
// returns when the last node was told.
func (l *link) hello(ctx context.Context, comesFrom string) error {
	l.out.Lock()
	l.out.Append([]byte(core.Preamble))
	l.out.Unlock()
	l.ping()
	if comesFrom != "" {
		p, err := l.request(ctx, &core.CheckForFailover{NodeID: buf.Of(comesFrom)}, core.TypeCheckForFailoverReply)
		if err != nil {
			return err
		}
		if !p.(*core.CheckForFailoverReply).OK {
			return &core.Error{Code: core.IllegalState, Message: "the broker does not take over clients of node " + comesFrom}
		}
	}
	l.write(core.ChannelPing, &core.SubscribeTopology{ClusterConnection: l.c.cfg.ClusterConnection, ClientVersion: l.c.cfg.Version})
	ctx, cancel := context.WithTimeout(ctx, l.c.cfg.CallTimeout)
	defer cancel()
	select {
	case <-l.topology:
	case <-ctx.Done():
		return fmt.Errorf("core client: waiting for the topology: %w", context.Cause(ctx))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *link) ping() {
	ttl := l.c.cfg.ConnectionTTL.Milliseconds()
	if ttl < 0 {
		ttl = -1
	}
	l.write(core.ChannelPing, &core.Ping{TTL: ttl})
}
