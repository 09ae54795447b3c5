package raftfsm

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"sync"
)

// Tool is a connection to a member by somebody who is none: the quorum commands.
type Tool struct {
	link    *link
	running sync.WaitGroup
}

// Connect connects to the member of cluster at address. tls is as for a member; empty for a loopback address without TLS.
func Connect(ctx context.Context, cluster, address string, tls TLS) (*Tool, error) {
	var creds *credentials
	if !tls.empty() {
		var err error
		if creds, err = loadCredentials(tls, systemClock{}, func(error) {}); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, strangerTimeout)
	defer cancel()
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the member at %s: %w", address, err)
	}
	c, err := introduce(ctx, raw, address, creds, hello{Service: serviceRPC, Cluster: cluster})
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("connect to the member at %s: %w", address, err)
	}
	t := &Tool{link: newLink(c)}
	t.running.Go(t.link.run)
	return t, nil
}

// Close ends the connection.
func (t *Tool) Close() {
	t.link.conn.Close()
	t.running.Wait()
}

// Status is the member's.
func (t *Tool) Status(ctx context.Context) (s Status, err error) {
	body, err := t.link.ask(ctx, kindStatus, nil)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(body, &s)
}

// Remove takes a member out of the group. The leader does it, whichever member the tool is connected to.
func (t *Tool) Remove(ctx context.Context, id string) error {
	_, err := t.link.ask(ctx, kindRemove, appendName(nil, id))
	return err
}

// Transfer has the leader hand over to another member.
func (t *Tool) Transfer(ctx context.Context) error {
	_, err := t.link.ask(ctx, kindTransfer, nil)
	return err
}
