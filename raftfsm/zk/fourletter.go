package zk

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// version is what the words tell: the version of ZooKeeper whose protocol this is. The time is there because tools want one.
const (
	version = "3.9.3-saranga"
	built   = "01/01/2026 00:00 GMT"
)

// maxDump bounds the answer to dump and stat, in lines.
const maxDump = 10_000

// fourLetter is the answer to one of ZooKeeper's commands of four letters.
func (s *Server) fourLetter(word string) string {
	answer, ok := map[string]func() string{
		"ruok": func() string { return "imok" }, // this process is; whether the group is, srvr tells
		"isro": func() string { return "rw" },
		"srvr": s.wordSrvr,
		"stat": s.wordStat,
		"mntr": s.wordMntr,
		"conf": s.wordConf,
		"dump": s.wordDump,
	}[word]
	if !ok || !s.cfg.word(word) {
		return word + " is not executed because it is not in the whitelist.\n"
	}
	if !s.member.Fresh() && word != "ruok" && word != "conf" {
		return "This ZooKeeper instance is not currently serving requests\n"
	}
	return answer()
}

// counts is a moment's numbers.
type counts struct {
	connections, outstanding, watches, nodes, ephemerals, sessions int
	zxid, bytes                                                    int64
}

func (s *Server) counts() (n counts) {
	s.member.Read(func(v *tree.View) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n = counts{connections: len(s.conns), watches: s.watches.Len(), nodes: v.NumNodes(), ephemerals: v.NumEphemerals(), sessions: v.NumSessions(),
			zxid: v.Zxid(), bytes: v.NumBytes()}
		for c := range s.conns {
			n.outstanding += c.in.len()
			if c.pending != nil {
				n.outstanding++
			}
		}
	})
	return n
}

func (s *Server) wordSrvr() string {
	return "Zookeeper version: " + version + ", built on " + built + "\n" + s.summary()
}

// summary is what srvr and stat have in common.
func (s *Server) summary() string {
	n := s.counts()
	least, average, most := s.stats.latencies()
	return fmt.Sprintf("Latency min/avg/max: %d/%.4f/%d\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: %#x\nMode: %s\nNode count: %d\n",
		least, average, most, s.stats.received.Load(), s.stats.sent.Load(), n.connections, n.outstanding, n.zxid, s.member.Role(), n.nodes)
}

func (s *Server) wordStat() string {
	var lines []string
	s.mu.Lock()
	for c := range s.conns {
		lines = append(lines, fmt.Sprintf(" /%s[%d](queued=%d)\n", c.net.RemoteAddr(), min(1, c.session), c.in.len()))
	}
	s.mu.Unlock()
	slices.Sort(lines)
	return "Zookeeper version: " + version + ", built on " + built + "\nClients:\n" + strings.Join(cut(lines), "") + "\n" + s.summary()
}

func (s *Server) wordMntr() string {
	n := s.counts()
	least, average, most := s.stats.latencies()
	var b strings.Builder
	for _, l := range []struct {
		key   string
		value any
	}{
		{"version", version + ", built on " + built},
		{"server_state", s.member.Role()},
		{"avg_latency", fmt.Sprintf("%.4f", average)},
		{"max_latency", most},
		{"min_latency", least},
		{"packets_received", s.stats.received.Load()},
		{"packets_sent", s.stats.sent.Load()},
		{"num_alive_connections", n.connections},
		{"outstanding_requests", n.outstanding},
		{"znode_count", n.nodes},
		{"watch_count", n.watches},
		{"ephemerals_count", n.ephemerals},
		{"global_sessions", n.sessions},
		{"approximate_data_size", n.bytes},
	} {
		fmt.Fprintf(&b, "zk_%s\t%v\n", l.key, l.value)
	}
	return b.String()
}

func (s *Server) wordConf() string {
	_, port, _ := net.SplitHostPort(s.Addr())
	tick := s.cfg.TickTime.Milliseconds()
	return fmt.Sprintf("clientPort=%s\ntickTime=%d\nmaxClientCnxns=%d\nminSessionTimeout=%d\nmaxSessionTimeout=%d\n",
		port, tick, s.cfg.Limits.ClientsPerAddress, 2*tick, 20*tick)
}

// wordDump lists the sessions of the whole group with their timeouts, and the ephemeral nodes of each.
func (s *Server) wordDump() string {
	var sessions, nodes []string
	owners := 0
	admin := tree.Caller{Admin: true}
	s.member.Read(func(v *tree.View) {
		v.Sessions(func(x tree.Session) bool {
			sessions = append(sessions, fmt.Sprintf("%#x\t%dms\n", x.ID, x.Timeout))
			if x.Ephemerals > 0 {
				owners++
				nodes = append(nodes, fmt.Sprintf("%#x:\n", x.ID))
				for _, path := range v.Ephemerals(&admin, x.ID, "/") {
					nodes = append(nodes, "\t"+path+"\n")
				}
			}
			return len(sessions)+len(nodes) < maxDump
		})
	})
	return fmt.Sprintf("SessionTracker dump:\nGlobal Sessions(%d):\n%sephemeral nodes dump:\nSessions with Ephemerals (%d):\n%s",
		len(sessions), strings.Join(sessions, ""), owners, strings.Join(cut(nodes), ""))
}

// cut bounds a list of lines.
func cut(lines []string) []string {
	if len(lines) > maxDump {
		return append(lines[:maxDump:maxDump], "…\n")
	}
	return lines
}
