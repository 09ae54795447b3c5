package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// A Dialer opens connections to other brokers. The zero value works: nothing is bounded in common and nothing logged.
type Dialer struct {
	Log     hclog.Logger
	Budget  *Budget        // bounds the big frames being read, nil: no common bound
	Outputs *OutputAccount // bounds what waits in outputs, nil: no common bound

	ids atomic.Uint32
}

// Dial connects, with TLS if the options say so. Nothing is read before Start is called on the connection, which must
// follow (or Abandon). The error names the connector and the address.
func (d *Dialer) Dial(ctx context.Context, o ConnectorOptions) (*Conn, error) {
	if o.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.ConnectTimeout)
		defer cancel()
	}
	addr := net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	c, err := d.dial(ctx, addr, o)
	if err != nil {
		return nil, fmt.Errorf("transport: connector %s: connect to %s: %w", o.Name, addr, err)
	}
	return c, nil
}

func (d *Dialer) dial(ctx context.Context, addr string, o ConnectorOptions) (*Conn, error) {
	var id *identity
	if o.TLS.Enabled {
		log := d.Log
		if log == nil {
			log = hclog.NewNullLogger()
		}
		var err error
		if id, err = newIdentity(o.TLS, log); err != nil {
			return nil, err
		}
	}
	nd := net.Dialer{}
	if o.LocalAddress != "" || o.LocalPort != 0 {
		local, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(o.LocalAddress, strconv.Itoa(o.LocalPort)))
		if err != nil {
			return nil, err
		}
		nd.LocalAddr = local
	}
	nc, err := nd.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	o.TCP.apply(nc.(*net.TCPConn))
	c := newConn(nc, d.ids.Add(1))
	c.budget, c.outputs = d.Budget, d.Outputs
	c.authenticated.Store(true)
	if id == nil {
		err = c.usePlain()
	} else {
		stop := context.AfterFunc(ctx, func() { c.Close(context.Cause(ctx)) })
		err = c.useTLS(func(nc net.Conn) *tls.Conn { return tls.Client(nc, id.clientConfig(o.Host)) }, id.checkPeer)
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// Start begins to read a dialled connection. It returns at once; Handler.Closed is the sign that everything has ended.
func (c *Conn) Start(h Handler) {
	c.handler = h
	c.opened.Store(true)
	go c.run(func() error { return nil }, func() {})
}

// Abandon closes a dialled connection that was not started.
func (c *Conn) Abandon() {
	c.Close(nil)
	c.nc.Close()
}
