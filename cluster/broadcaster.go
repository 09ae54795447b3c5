package cluster

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/wire/core"
)

// Ports that a broadcast group with a local address and no local port tries first.
const (
	broadcastPortMin   = 3000
	broadcastPortCount = 1000
	broadcastPortTries = 100
)

// A Broadcaster is a broadcast group: it sends this node's connectors by UDP, at once and then each period.
//
// Source: cluster §3.1; Artemis BroadcastGroupImpl.
type Broadcaster struct {
	group    config.BroadcastGroup
	conn     *net.UDPConn
	to       *net.UDPAddr
	datagram []byte
	log      hclog.Logger
	stop     chan struct{}
	work     sync.WaitGroup
}

// StartBroadcast starts a broadcast group for node nodeID. connectors are those that its connector-refs name.
func StartBroadcast(g config.BroadcastGroup, nodeID string, connectors []core.TransportConfiguration, log hclog.Logger) (*Broadcaster, error) {
	fail := func(err error) (*Broadcaster, error) {
		return nil, fmt.Errorf("cluster: broadcast group %s: %w", g.Name, err)
	}
	if g.JGroupsFile != "" || g.JGroupsChannel != "" {
		return fail(errJGroups)
	}
	to, err := resolveGroup(g.GroupAddress, g.GroupPort)
	if err != nil {
		return fail(err)
	}
	conn, err := bindBroadcast(g)
	if err != nil {
		return fail(err)
	}
	a := Announcement{NodeID: nodeID, UniqueID: newUUID(), Connectors: connectors}
	b := &Broadcaster{group: g, conn: conn, to: to, datagram: a.Append(nil), log: log, stop: make(chan struct{})}
	if len(b.datagram) > maxDatagram-28 { // without the headers of IP and UDP
		conn.Close()
		return fail(fmt.Errorf("its connectors make a datagram of %d bytes, which cannot be sent", len(b.datagram)))
	}
	b.work.Go(b.run)
	return b, nil
}

// Stop ends it and waits.
func (b *Broadcaster) Stop() {
	close(b.stop)
	b.work.Wait()
	b.conn.Close()
}

func (b *Broadcaster) run() {
	period := b.group.BroadcastPeriod
	if period <= 0 {
		period = 2 * time.Second
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	told := false // that it does not work
	for {
		_, err := b.conn.WriteToUDP(b.datagram, b.to)
		if err != nil && !told {
			b.log.Error("AMQ224033: Failed to broadcast connector configs", "broadcast_group", b.group.Name, "error", err)
		}
		told = err != nil
		select {
		case <-tick.C:
		case <-b.stop:
			return
		}
	}
}

// bindBroadcast opens the socket that sends. A local address also chooses the interface that multicasts leave by.
func bindBroadcast(g config.BroadcastGroup) (*net.UDPConn, error) {
	listen := func(port int) (*net.UDPConn, error) {
		address, err := net.ResolveUDPAddr("udp", net.JoinHostPort(g.LocalBindAddress, strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		return net.ListenUDP("udp", address)
	}
	if g.LocalBindPort > 0 {
		return listen(g.LocalBindPort)
	}
	if g.LocalBindAddress != "" {
		for range broadcastPortTries {
			if conn, err := listen(broadcastPortMin + mathrand.IntN(broadcastPortCount)); err == nil {
				return conn, nil
			}
		}
	}
	return listen(0)
}

func resolveGroup(address string, port int) (*net.UDPAddr, error) {
	if address == "" || port <= 0 || port > 65535 {
		return nil, fmt.Errorf("group-address %q and group-port %d are not where to send to", address, port)
	}
	return net.ResolveUDPAddr("udp", net.JoinHostPort(address, strconv.Itoa(port)))
}

// newUUID makes a random UUID.
func newUUID() string {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
