package create

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// QuorumFile is the name of the file that Quorum.YAML is for, in the etc folder. Artemis does not know it.
const QuorumFile = "saranga.yaml"

// Quorum is a member of a quorum as etc/saranga.yaml describes it.
type Quorum struct {
	Cluster string // name of the group
	Member  string // id of this member
	Listen  string // host:port
	Data    string // state folder; empty: the default
	// Members are the founders, or, to join, those that are asked.
	Members []QuorumMember
	Join    bool
	// TLS files; all of them or none.
	Certificate, Key, CA string

	// ZooKeeper is where the endpoint for ZooKeeper clients listens, empty for none; ZooKeeperAllow are the networks that its clients may
	// come from besides loopback.
	ZooKeeper      string
	ZooKeeperAllow []string
}

// QuorumMember is an entry of the list of members.
type QuorumMember struct{ ID, Address string }

// ParseQuorumMember reads ID=HOST:PORT.
func ParseQuorumMember(text string) (QuorumMember, error) {
	id, address, ok := strings.Cut(text, "=")
	if _, port, err := net.SplitHostPort(address); !ok || id == "" || err != nil || port == "" {
		return QuorumMember{}, fmt.Errorf("%q is not of the form ID=HOST:PORT", text)
	}
	return QuorumMember{id, address}, nil
}

// DefaultQuorumCluster is the name of the group where none is told.
const DefaultQuorumCluster = "saranga"

// Files of a member that others reach, in the instance; create does not make them.
const (
	quorumCertificate = "etc/quorum.pem"
	quorumKey         = "etc/quorum.key"
	quorumCA          = "etc/quorum-ca.pem"
)

// Exposed reports whether others than this machine can reach the member: then it needs TLS.
func (q Quorum) Exposed() bool { return exposed(q.Listen) }

func exposed(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || !a.IsLoopback()
}

// quorum is the member that the options ask for, nil for none.
func (v *values) quorum() (*Quorum, error) {
	o := v.Options
	if len(o.QuorumMembers) == 0 {
		if o.QuorumID != "" || o.QuorumZooKeeper != "" || o.QuorumCluster != "" || len(o.QuorumZooKeeperAllow) > 0 {
			return nil, errors.New("a quorum needs its members, this one among them")
		}
		return nil, nil
	}
	q := &Quorum{Cluster: o.QuorumCluster, Member: o.QuorumID, ZooKeeper: o.QuorumZooKeeper, ZooKeeperAllow: o.QuorumZooKeeperAllow}
	set(&q.Cluster, DefaultQuorumCluster)
	if q.Member == "" {
		return nil, errors.New("which of the quorum's members is this one?")
	}
	for _, text := range o.QuorumMembers {
		m, err := ParseQuorumMember(text)
		if err != nil {
			return nil, fmt.Errorf("quorum member: %w", err)
		}
		if slices.ContainsFunc(q.Members, func(other QuorumMember) bool { return other.ID == m.ID || other.Address == m.Address }) {
			return nil, fmt.Errorf("quorum member %s: its id or its address is there twice", text)
		}
		if m.ID == q.Member {
			q.Listen = m.Address
		}
		q.Members = append(q.Members, m)
	}
	if q.Listen == "" {
		return nil, fmt.Errorf("%q, this one, is none of the quorum's members", q.Member)
	}
	if v.Data != "data" {
		q.Data = filepath.Join(v.Data, "quorum")
	}
	if q.Exposed() {
		q.Certificate, q.Key, q.CA = quorumCertificate, quorumKey, quorumCA
		if v.Etc != "etc" {
			for _, p := range []*string{&q.Certificate, &q.Key, &q.CA} {
				*p = filepath.Join(v.Etc, filepath.Base(*p))
			}
		}
	}
	if q.ZooKeeper != "" && exposed(q.ZooKeeper) && len(q.ZooKeeperAllow) == 0 {
		return nil, fmt.Errorf("the ZooKeeper endpoint at %s can be reached by others: which networks may its clients come from?", q.ZooKeeper)
	}
	return q, nil
}

// sarangaYAML adds etc/saranga.yaml to the files.
func (v *values) sarangaYAML(files []File) []File {
	if v.Quorum == nil {
		return files
	}
	return append(files, File{Path: filepath.Join(v.EtcDir, QuorumFile), Mode: fs.FileMode(plainFile), Data: v.Quorum.YAML()})
}

// YAML is the file.
func (q Quorum) YAML() []byte {
	var b []byte
	line := func(format string, args ...any) { b = fmt.Appendf(b, format+"\n", args...) }
	line("# What Artemis does not have; docs/quorum.md of Saranga says what each key does.")
	line("quorum:")
	line("  cluster: %s", scalar(q.Cluster))
	line("  member: %s", scalar(q.Member))
	line("  listen: %s", scalar(q.Listen))
	if q.Data != "" {
		line("  data: %s", scalar(q.Data))
	}
	if q.Join {
		line("  # it is taken in by these:")
		line("  join: true")
	}
	line("  members:")
	for _, m := range q.Members {
		line("    - {id: %s, address: %s}", scalar(m.ID), scalar(m.Address))
	}
	if q.Certificate != "" {
		line("  tls: {certificate: %s, key: %s, ca: %s}", scalar(q.Certificate), scalar(q.Key), scalar(q.CA))
	}
	if q.ZooKeeper != "" {
		line("zookeeper:")
		line("  listen: %s", scalar(q.ZooKeeper))
		if len(q.ZooKeeperAllow) > 0 {
			var list []string
			for _, n := range q.ZooKeeperAllow {
				list = append(list, scalar(n))
			}
			line("  allow: [%s]", strings.Join(list, ", "))
		}
	}
	return b
}

// plainScalar is what YAML takes for a text without quotes, also in a flow mapping.
var plainScalar = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9._/-]*(:[0-9]+)?$`)

// scalar is a text in YAML. A double-quoted string of Go that is ASCII is one of YAML.
func scalar(s string) string {
	if plainScalar.MatchString(s) && !strings.EqualFold(s, "null") {
		return s
	}
	return strconv.QuoteToASCII(s)
}
