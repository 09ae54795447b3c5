package zk

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config/yamlfile"
	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// Config is how the endpoint is served. Every zero value but that of Listen has a meaning, given with the field.
type Config struct {
	// Listen is host:port. An address that is not loopback needs Allow.
	Listen string
	// Allow are the networks that clients may come from besides loopback. A client of another address is closed before it is read.
	Allow []netip.Prefix
	// Root is the node of the tree that ordinary sessions see as "/": tree.ClientRoot or a node below it. Empty: tree.ClientRoot.
	Root string
	// Admins are the identities that see the whole tree and may delete live ephemeral nodes of others, as
	// user:base64(SHA-1(user:password)), ZooKeeper's digest form; see Digest.
	Admins []string
	// TickTime is ZooKeeper's: granted session timeouts lie within 2 and 20 of it. 0: 2 s.
	TickTime time.Duration
	// Words are the four-letter words that are answered; "*" stands for all. nil: ruok, srvr, mntr, isro.
	Words []string

	Limits Limits
	Log    hclog.Logger // nil: nothing is logged
}

// Limits bound what clients can make the endpoint hold. A client that goes beyond one is closed or refused, with a line in the log. What they can make
// the group hold (size of nodes, their number, sessions) is bounded by tree.Limits, which are the same on all members.
type Limits struct {
	Clients           int           // connections. 0: 2000
	ClientsPerAddress int           // connections of one address. 0: 60 as in ZooKeeper, but 2000 for loopback
	Frame             int           // bytes of a request. 0: 1 MiB. Before login 1 KiB
	Watches           int           // per session. 0: 10000
	Outstanding       int           // requests of one connection that are read but not yet answered; then its socket is not read. 0: 100
	Output            int           // bytes that wait to be written to one connection. 0: 8 MiB
	Memory            int64         // bytes of requests and output of all connections together. 0: 256 MiB
	LoginTimeout      time.Duration // from accept to connect request. 0: 10 s
	WriteTimeout      time.Duration // that one write may take. 0: 10 s
	RequestTimeout    time.Duration // that a write may wait for the group before its connection is closed. 0: 15 s
}

const loginFrame = 1024

var defaultWords = []string{"ruok", "srvr", "mntr", "isro"}

func (c Config) withDefaults() Config {
	setDefault(&c.Root, tree.ClientRoot)
	setDefault(&c.TickTime, 2*time.Second)
	if c.Words == nil {
		c.Words = defaultWords
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	l := &c.Limits
	setDefault(&l.Clients, 2000)
	setDefault(&l.Frame, 1<<20)
	setDefault(&l.Watches, 10000)
	setDefault(&l.Outstanding, 100)
	setDefault(&l.Output, 8<<20)
	setDefault(&l.Memory, 256<<20)
	setDefault(&l.LoginTimeout, 10*time.Second)
	setDefault(&l.WriteTimeout, 10*time.Second)
	setDefault(&l.RequestTimeout, 15*time.Second)
	return c
}

func setDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Validate says what is wrong, with the way out, as a yamlfile.KeyError.
func (c Config) Validate() error { return c.withDefaults().validate() }

func (c Config) validate() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return yamlfile.Wrong("listen", "address %q: %w", c.Listen, err)
	}
	if !isLoopback(host) && len(c.Allow) == 0 {
		return yamlfile.Wrong("listen", "address %q is not loopback: name the networks that clients may come from in allow, or listen on 127.0.0.1", c.Listen)
	}
	if c.Root != tree.ClientRoot && !(tree.ValidPath(c.Root) && strings.HasPrefix(c.Root, tree.ClientRoot+"/")) {
		return yamlfile.Wrong("root", "%q is neither %s nor a node below it", c.Root, tree.ClientRoot)
	}
	for i, a := range c.Admins {
		if err := checkDigest(a); err != nil {
			return yamlfile.Wrong(fmt.Sprintf("admins[%d]", i), "user %q: %w", userOf(a), err)
		}
	}
	if c.Limits.Frame < loginFrame || c.Limits.Frame > 1<<28 {
		return yamlfile.Wrong("limits.frame", "%d bytes is not within 1 KiB and 256 MiB", c.Limits.Frame)
	}
	if c.TickTime < time.Millisecond || c.TickTime > time.Hour {
		return yamlfile.Wrong("tickTime", "%v is not within 1 ms and 1 h", c.TickTime)
	}
	return nil
}

// isLoopback reports whether only this machine can reach a listener on host. An empty host is every address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// allows reports whether a client of this address may connect.
func (c Config) allows(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(c.Allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

// perAddress is how many connections this address may have.
func (c Config) perAddress(a netip.Addr) int {
	switch {
	case c.Limits.ClientsPerAddress > 0:
		return c.Limits.ClientsPerAddress
	case a.IsLoopback():
		return c.Limits.Clients
	default:
		return 60
	}
}

func (c Config) word(w string) bool {
	return slices.Contains(c.Words, w) || slices.Contains(c.Words, "*")
}

// timeout is the session timeout that is granted for a requested one, in ms.
func (c Config) timeout(requested int32) int32 {
	tick := int32(c.TickTime.Milliseconds())
	return min(max(requested, 2*tick), 20*tick)
}
