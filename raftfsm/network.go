package raftfsm

import (
	"context"
	"net"
)

// network is where a member's connections come from.
type network interface {
	Listen(address string) (net.Listener, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

type tcp struct{}

func (tcp) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

func (tcp) Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}
