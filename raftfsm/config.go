package raftfsm

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config/yamlfile"
)

// Peer is a member of the configured list.
type Peer struct {
	ID      string // at most 255 bytes
	Address string // host:port that the others dial
}

// TLS names the PEM files by which members prove that they belong to the group. They are read again when they change. A certificate must be usable
// for both ends, and name the host of the member's address.
type TLS struct {
	Certificate string
	Key         string
	CA          string // the authorities that other members' certificates are checked against, and nothing else
}

func (t TLS) empty() bool { return t == TLS{} }

// Timing are the times of a member. All members should have the same.
type Timing struct {
	// Heartbeat and Election are Raft's: a follower that hears nothing that long, up to twice that, asks for votes. 0: 400 ms.
	Heartbeat time.Duration
	Election  time.Duration
	// Lease is how long a leader leads without a majority. 0: 200 ms. At most Heartbeat.
	Lease time.Duration
	// Freshness is how old the state may be that this member serves: at most a third of the smallest session timeout, and longer than an
	// election. 0: 1.3 s, which fits timeouts from 4 s.
	Freshness time.Duration
	// Commit is hashicorp/raft's CommitTimeout, here only the way back after a lost notice. 0: 100 ms.
	Commit time.Duration
	// Report is the time between two reports to the leader. 0: 200 ms.
	Report time.Duration
	// Tick is the time between two looks of the leader at its sessions. 0: 100 ms.
	Tick time.Duration
	// Sweep is the time between two sweeps of empty containers. 0: 60 s as in ZooKeeper.
	Sweep time.Duration
}

// Config is how a member runs.
type Config struct {
	Cluster   string // name of the group, the same on all members; at most 255 bytes
	Member    string // id of this member
	Listen    string // host:port. An address that is not loopback needs TLS
	Advertise string // host:port that the others dial. "": the address of this member in Members, or Listen
	Folder    string // the state folder; made if it is not there
	Members   []Peer // who founds the group, or whom a member asks to be taken in, or what it has forgotten; in any order
	Join      bool   // this member is none of the founders: ask the members of the list to be taken in
	TLS       TLS
	Timing    Timing
	Clock     Clock        // nil: the system's
	Log       hclog.Logger // nil: nothing is logged

	net      network      // nil: TCP
	storage  storage      // what tests change below the stores
	snapshot snapshotting // when to take one
}

// foundsAlone reports whether the list names this member only: with an empty folder it founds a group without asking anybody.
func (c Config) foundsAlone() bool { return len(c.Members) == 1 && !c.Join }

// snapshotting are hashicorp/raft's settings of that name.
type snapshotting struct {
	Interval  time.Duration
	Threshold uint64
	Trailing  uint64
}

func (c Config) withDefaults() Config {
	t := &c.Timing
	setDefault(&t.Heartbeat, 400*time.Millisecond)
	setDefault(&t.Election, t.Heartbeat)
	setDefault(&t.Lease, t.Heartbeat/2)
	setDefault(&t.Freshness, 1300*time.Millisecond)
	setDefault(&t.Commit, 100*time.Millisecond)
	setDefault(&t.Report, 200*time.Millisecond)
	setDefault(&t.Tick, 100*time.Millisecond)
	setDefault(&t.Sweep, time.Minute)
	setDefault(&c.snapshot, snapshotting{Interval: 2 * time.Minute, Threshold: 8192, Trailing: 10240})
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.net == nil {
		c.net = tcp{}
	}
	if c.Advertise == "" {
		c.Advertise = c.Listen
		for _, p := range c.Members {
			if p.ID == c.Member {
				c.Advertise = p.Address
			}
		}
	}
	return c
}

func setDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Validate says what is wrong, with the way out, as a yamlfile.KeyError. Times of 0 and an empty Advertise are their defaults.
func (c Config) Validate() error { return c.withDefaults().validate() }

func (c Config) validate() error {
	if c.Cluster == "" || len(c.Cluster) > maxName {
		return yamlfile.Wrong("cluster", "name %q has %d bytes, not 1 to %d", c.Cluster, len(c.Cluster), maxName)
	}
	if c.Member == "" || len(c.Member) > maxName {
		return yamlfile.Wrong("member", "id %q has %d bytes, not 1 to %d", c.Member, len(c.Member), maxName)
	}
	if c.Folder == "" {
		return yamlfile.Wrong("data", "the state folder is not set")
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return yamlfile.Wrong("listen", "%q: %w", c.Listen, err)
	}
	if err := checkAddress(c.Advertise); err != nil {
		return yamlfile.Wrong("advertise", "%w", err)
	}
	if t := c.TLS; !t.empty() && (t.Certificate == "" || t.Key == "" || t.CA == "") {
		return yamlfile.Wrong("tls", "certificate, key and ca are all needed")
	}
	if c.TLS.empty() && !isLoopback(host) {
		return yamlfile.Wrong("listen", "%q is not a loopback address: whoever reaches this port would be a member. "+
			"Set tls (certificate, key and ca) on all members, or listen on 127.0.0.1", c.Listen)
	}
	if err := c.validateMembers(); err != nil {
		return err
	}
	return c.Timing.validate()
}

func (c Config) validateMembers() error {
	if len(c.Members) == 0 {
		return yamlfile.Wrong("members", "the list is empty")
	}
	seen, own := map[string]string{}, false
	for i, p := range c.Members {
		key := fmt.Sprintf("members[%d]", i)
		if p.ID == "" || len(p.ID) > maxName {
			return yamlfile.Wrong(key+".id", "id %q has %d bytes, not 1 to %d", p.ID, len(p.ID), maxName)
		}
		if err := checkAddress(p.Address); err != nil {
			return yamlfile.Wrong(key+".address", "%w", err)
		}
		for what, value := range map[string]string{"id": p.ID, "address": p.Address} {
			if seen[what+value] != "" {
				return yamlfile.Wrong(key+"."+what, "%q is there twice", value)
			}
			seen[what+value] = p.ID
		}
		own = own || p.ID == c.Member
	}
	switch {
	case own && c.Join:
		return yamlfile.Wrong("join", "%q is one of the founders in members; a member that joins is none of them", c.Member)
	case !own && !c.Join:
		return yamlfile.Wrong("members", "%q, this member, is not in the list; a member that is added to a group that exists needs join: true", c.Member)
	}
	return nil
}

func (t Timing) validate() error {
	switch {
	case t.Heartbeat < 10*time.Millisecond || t.Heartbeat > time.Minute:
		return yamlfile.Wrong("timeouts.heartbeat", "%v is not within 10 ms and 1 min", t.Heartbeat)
	case t.Election < t.Heartbeat:
		return yamlfile.Wrong("timeouts.election", "%v is shorter than heartbeat %v", t.Election, t.Heartbeat)
	case t.Lease < 5*time.Millisecond || t.Lease > t.Heartbeat:
		return yamlfile.Wrong("timeouts.lease", "%v is not within 5 ms and heartbeat %v", t.Lease, t.Heartbeat)
	case t.Freshness < 2*t.Election:
		return yamlfile.Wrong("timeouts.freshness", "%v is shorter than an election, which takes up to 2 × %v", t.Freshness, t.Election)
	case t.Commit < time.Millisecond || t.Report < 10*time.Millisecond || t.Report > t.Freshness/2 || t.Tick < 10*time.Millisecond:
		return yamlfile.Wrong("timeouts", "commit %v, report %v or tick %v is out of bounds", t.Commit, t.Report, t.Tick)
	}
	return nil
}

// checkAddress checks an address that others dial.
func checkAddress(a string) error {
	host, port, err := net.SplitHostPort(a)
	switch {
	case err != nil:
		return fmt.Errorf("address %q: %w", a, err)
	case len(a) > maxName:
		return fmt.Errorf("address %q has more than %d bytes", a, maxName)
	case host == "" || port == "" || port == "0":
		return fmt.Errorf("address %q: others cannot dial it; give host and port", a)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return fmt.Errorf("address %q: others cannot dial it; give this machine's address", a)
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
