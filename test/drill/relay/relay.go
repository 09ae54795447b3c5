package relay

import (
	"context"
	"net"
	"sync"
)

// A Relay stands before a service.
type Relay struct {
	listener net.Listener
	o        Options
	ctx      context.Context
	cancel   context.CancelFunc
	working  sync.WaitGroup
}

// Options of a relay.
type Options struct {
	// Dial connects to the service.
	Dial func(ctx context.Context) (net.Conn, error)
	// Link is the link that a connection belongs to; nil: it is nobody's and closed. It is called on a goroutine of the connection.
	Link func(c net.Conn) *Link
}

// New serves the listener until Close, which closes it.
func New(l net.Listener, o Options) *Relay {
	r := &Relay{listener: l, o: o}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.working.Go(r.accept)
	return r
}

// Close closes the listener and all connections, and waits for them.
func (r *Relay) Close() {
	r.cancel()
	_ = r.listener.Close()
	r.working.Wait()
}

func (r *Relay) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.working.Go(func() { r.carry(c.(*net.TCPConn)) })
	}
}

// carry serves one connection from beginning to end.
func (r *Relay) carry(near *net.TCPConn) {
	defer near.Close()
	link := r.o.Link(near)
	if link == nil {
		abort(near)
		return
	}
	p := newPipe(r.ctx, link, near)
	defer p.cancel()
	link.add(p)
	defer link.remove(p)
	if !p.awaitFree() {
		abort(near)
		return
	}
	c, err := r.o.Dial(p.ctx)
	if err != nil {
		abort(near)
		return
	}
	far := c.(*net.TCPConn)
	defer far.Close()
	p.run(far)
}

// abort closes with a reset.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
