package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/wire/core/client"
)

// A Status is what a node tells of itself. A passive node takes no clients: of it only the active one can tell.
type Status struct {
	URL    string `json:"node"`
	Serves bool   `json:"serves"`          // it takes clients
	Reason string `json:"error,omitempty"` // why it does not, or what it did not tell

	Name        string   `json:"name,omitempty"`
	NodeID      string   `json:"nodeID,omitempty"`
	Version     string   `json:"version,omitempty"`
	Policy      string   `json:"haPolicy,omitempty"`
	Uptime      string   `json:"uptime,omitempty"`
	Active      bool     `json:"active"`
	Backup      bool     `json:"backup"`
	ReplicaSync bool     `json:"replicaSync"` // a replica has everything
	SharedStore bool     `json:"sharedStore"`
	Sequence    int64    `json:"activationSequence"` // 0 and below: there is none
	Members     []Member `json:"topology,omitempty"`

	Err error `json:"-"` // why it does not serve
}

// A Member is a node and its backup as the topology tells, host:port each, empty if there is none.
type Member struct {
	NodeID  string `json:"nodeID"`
	Primary string `json:"primary"`
	Backup  string `json:"backup"`
}

// BackupAddress is the host:port of the node's backup as the topology tells, empty if there is none.
func (s Status) BackupAddress() string {
	for _, m := range s.Members {
		if m.NodeID == s.NodeID && m.Backup != "" && m.Backup != "null" {
			return m.Backup
		}
	}
	return ""
}

// CanFailOver tells whether a backup is ready to take over: a replica that has everything, or, with a shared store, one that waits.
func (s Status) CanFailOver() bool {
	if s.SharedStore {
		return s.BackupAddress() != ""
	}
	return s.ReplicaSync
}

// Why says why none of the nodes is active, as far as they tell.
func Why(list []Status) error {
	var reasons []string
	for _, s := range list {
		if s.Reason != "" {
			reasons = append(reasons, NodeName(s.URL)+": "+s.Reason)
		}
	}
	if len(reasons) == 0 {
		return errors.New("no node is active")
	}
	return errors.New("no node is active: " + strings.Join(reasons, "; "))
}

// Admin is how drills manage nodes: by management messages of the Core protocol.
type Admin struct {
	User, Password string        // empty: those of the URL, if it has any
	Timeout        time.Duration // of a connection and of a call, default 5 s
}

// connect makes a connection for management.
func (a Admin) connect(ctx context.Context, url string) (*client.Conn, *client.Management, error) {
	cfg, err := client.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	if a.User != "" {
		cfg.User, cfg.Password = a.User, a.Password
	}
	if cfg.CallTimeout = a.Timeout; a.Timeout <= 0 {
		cfg.CallTimeout = 5 * time.Second
	}
	cfg.ConnectionTTL, cfg.FailureCheckPeriod = 2*cfg.CallTimeout, cfg.CallTimeout/2
	cfg.InitialConnectAttempts, cfg.ReconnectAttempts, cfg.HA = 1, 0, false
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	m, err := conn.NewManagement(ctx, "")
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, m, nil
}

// Ask asks a node how it is.
func (a Admin) Ask(ctx context.Context, url string) Status {
	conn, m, err := a.connect(ctx, url)
	if err != nil {
		return Status{URL: url, Err: err, Reason: err.Error()}
	}
	defer conn.Close()
	s := ask(ctx, m)
	s.URL = url
	return s
}

// AskAll asks several, at the same time.
func (a Admin) AskAll(ctx context.Context, urls []string) []Status {
	list := make([]Status, len(urls))
	done := make(chan int)
	for i, url := range urls {
		go func() { list[i] = a.Ask(ctx, url); done <- i }()
	}
	for range urls {
		<-done
	}
	return list
}

// ask reads what there is. An attribute that a node does not have, or does not show to this user, is left out.
func ask(ctx context.Context, m *client.Management) Status {
	s := Status{Serves: true}
	fail := func(err error) {
		var refused *client.ManagementError
		if errors.As(err, &refused) {
			s.Reason = refused.Message
			return
		}
		s.Serves, s.Err, s.Reason = false, err, err.Error()
	}
	for _, x := range []struct {
		name string
		into any
	}{
		{"Active", &s.Active}, {"Name", &s.Name}, {"NodeID", &s.NodeID}, {"Version", &s.Version}, {"HAPolicy", &s.Policy}, {"Uptime", &s.Uptime},
		{"Backup", &s.Backup}, {"ReplicaSync", &s.ReplicaSync}, {"SharedStore", &s.SharedStore}, {"ActivationSequence", &s.Sequence},
	} {
		answer, err := m.Attribute(ctx, client.BrokerResource, x.name)
		if err == nil && answer != nil {
			err = answer.Into(x.into)
		}
		if err != nil {
			if fail(err); s.Err != nil {
				return s
			}
		}
	}
	answer, err := m.Invoke(ctx, client.BrokerResource, "listNetworkTopology")
	if err == nil {
		err = json.Unmarshal([]byte(answer.Text()), &s.Members)
	}
	if err != nil {
		fail(err)
	}
	return s
}

// ForceFailover has an active node stop so that its backup takes over. The answer may be cut off by the stop.
func (a Admin) ForceFailover(ctx context.Context, url string) error {
	conn, m, err := a.connect(ctx, url)
	if err != nil {
		return fmt.Errorf("drill: fail over %s: %w", url, err)
	}
	defer conn.Close()
	_, err = m.Invoke(ctx, client.BrokerResource, "forceFailover")
	var refused *client.ManagementError
	if errors.As(err, &refused) {
		return fmt.Errorf("drill: fail over %s: %w", url, err)
	}
	return nil
}

// A Role is what a node is at some time.
type Role uint8

// Roles. Away is a node that does not serve and of which nobody tells.
const (
	Away    Role = iota
	Active       // it serves clients
	Backup       // it is ready to take over
	Copying      // it is known as a backup and has not everything yet
)

var roleNames = [...]string{"down", "active", "backup", "copying"}

func (r Role) String() string { return roleNames[r] }

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Roles are those of the nodes, as they and the active ones among them tell.
func Roles(list []Status) []Role {
	roles := make([]Role, len(list))
	for i, s := range list {
		if s.Serves && s.Active {
			roles[i] = Active
		}
	}
	for i, s := range list {
		if roles[i] == Active {
			continue
		}
		for j, active := range list {
			if roles[j] != Active || !isAt(s.URL, active.BackupAddress()) && !(len(list) == 2 && (active.BackupAddress() != "" || active.ReplicaSync)) {
				continue
			}
			roles[i] = Copying
			if active.CanFailOver() {
				roles[i] = Backup
			}
		}
	}
	return roles
}

// isAt tells whether a URL leads to host:port. A name and an address of one machine are not the same here.
func isAt(url, address string) bool { return address != "" && NodeName(url) == address }

// NodeName is the host:port of a URL, by which reports call the node.
func NodeName(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		rest = url
	}
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}

// SplitURLs makes a URL of each of the nodes that one names: "tcp://a:1,tcp://b:2" or "(tcp://a:1,tcp://b:2)?x=y". Parameters are for all.
func SplitURLs(text string) ([]string, error) {
	cfg, err := client.ParseURL(text)
	if err != nil {
		return nil, err
	}
	_, params, _ := strings.Cut(text, "?")
	params, _, _ = strings.Cut(params, "#")
	var urls []string
	for _, h := range cfg.Hosts {
		url := "tcp://" + net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
		if params != "" {
			url += "?" + params
		}
		urls = append(urls, url)
	}
	return urls, nil
}
