package raftfsm

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/config/yamlfile"
)

const exampleConfig = `# other sections are somebody else's
broker: {anything: goes}
quorum:
  cluster: orders
  member: b
  listen: 10.0.0.2:61690
  data: data/quorum
  members:
    - {id: a, address: a.example.com:61690}
    - id: b
      address: b.example.com:61690
    - {id: c, address: c.example.com:61690}
  tls: {certificate: etc/b.pem, key: /keys/b.key, ca: etc/ca.pem}
  timeouts: {heartbeat: 500ms, freshness: 2s}
`

// readText reads the section of an instance in /srv/b.
func readText(t *testing.T, text string) (Config, bool, error) {
	t.Helper()
	f, err := yamlfile.Parse("saranga.yaml", "/srv/b", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ReadConfig(f)
}

func TestReadConfig(t *testing.T) {
	c, ok, err := readText(t, exampleConfig)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	want := Config{
		Cluster: "orders", Member: "b", Listen: "10.0.0.2:61690", Folder: "/srv/b/data/quorum",
		Members: []Peer{{"a", "a.example.com:61690"}, {"b", "b.example.com:61690"}, {"c", "c.example.com:61690"}},
		TLS:     TLS{"/srv/b/etc/b.pem", "/keys/b.key", "/srv/b/etc/ca.pem"},
		Timing:  Timing{Heartbeat: 500 * time.Millisecond, Freshness: 2 * time.Second},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	d := c.withDefaults()
	if d.Advertise != "b.example.com:61690" || d.Timing.Election != 500*time.Millisecond || d.Timing.Lease != 250*time.Millisecond {
		t.Errorf("defaults: %+v", d)
	}
	if _, ok, err := readText(t, "broker: {}\n"); ok || err != nil {
		t.Errorf("no section: %v, %v", ok, err)
	}
	if _, ok, err := readText(t, ""); ok || err != nil {
		t.Errorf("an empty file: %v, %v", ok, err)
	}
}

// What Validate finds has its place, too.
func TestReadConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"quorum:\n  cluster: x\n  membr: a\n":                           "saranga.yaml:3: quorum.membr: unknown key; there are advertise, cluster, data, join, listen, member, members, timeouts, tls",
		"quorum:\n  tls: {cert: x}\n":                                   "saranga.yaml:2: quorum.tls.cert: unknown key",
		"quorum:\n  members:\n    - id: a\n      adr: b\n":              "saranga.yaml:4: quorum.members[0].adr: unknown key",
		"quorum:\n  members: a\n":                                       "saranga.yaml:2: quorum.members: not a list",
		"quorum:\n  timeouts: {lease: -1s}\n":                           `saranga.yaml:2: quorum.timeouts.lease: "-1s" is not a time`,
		"quorum:\n  cluster: x\n":                                       `saranga.yaml:1: quorum.member: id "" has 0 bytes`,
		"quorum:\n  cluster: x\n  member: a\n  listen: 10.0.0.1:7000\n": `saranga.yaml:4: quorum.listen: "10.0.0.1:7000" is not a loopback address: whoever`,
		"quorum:\n  cluster: x\n  member: a\n  listen: 127.0.0.1:7000\n  members:\n  - {id: a, address: 127.0.0.1:7000}\n  - {id: b, address: 0.0.0.0:7}\n": `saranga.yaml:7: quorum.members[1].address: address "0.0.0.0:7": others cannot dial it`,
	} {
		if _, _, err := readText(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	good := func() Config {
		return Config{
			Cluster: "lab", Member: "a", Listen: "127.0.0.1:7000", Folder: "/f",
			Members: []Peer{{"a", "127.0.0.1:7000"}, {"b", "127.0.0.1:7001"}, {"c", "127.0.0.1:7002"}},
		}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"cluster: name":                                 func(c *Config) { c.Cluster = "" },
		"member: id":                                    func(c *Config) { c.Member = strings.Repeat("x", 256) },
		"data: ":                                        func(c *Config) { c.Folder = "" },
		"listen: ":                                      func(c *Config) { c.Listen = "7000" },
		"is not a loopback address: whoever":            func(c *Config) { c.Listen = "10.0.0.1:7000" },
		`":7000" is not a loopback address`:             func(c *Config) { c.Listen = ":7000" },
		"tls: certificate, key and ca":                  func(c *Config) { c.TLS.CA = "x" },
		"advertise: ":                                   func(c *Config) { c.Advertise = "0.0.0.0:7000" },
		"others cannot dial it; give host":              func(c *Config) { c.Advertise = ":7000" },
		"the list is empty":                             func(c *Config) { c.Members = nil },
		"is not in the list":                            func(c *Config) { c.Member = "d" },
		"a member that joins is none of them":           func(c *Config) { c.Join = true },
		`members[1].id: "a" is there twice`:             func(c *Config) { c.Members[1].ID = "a" },
		`members[1].address: "127.0.0.1:7000" is there`: func(c *Config) { c.Members[1].Address = "127.0.0.1:7000" },
		"timeouts.heartbeat: ":                          func(c *Config) { c.Timing.Heartbeat = time.Millisecond },
		"timeouts.election: ":                           func(c *Config) { c.Timing.Election = 300 * time.Millisecond },
		"timeouts.lease: ":                              func(c *Config) { c.Timing.Lease = time.Second },
		"timeouts.freshness: 500ms is shorter":          func(c *Config) { c.Timing.Freshness = 500 * time.Millisecond },
	} {
		c := good()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
