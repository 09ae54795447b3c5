package zk

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/config/yamlfile"
)

func readText(t *testing.T, text string) (Config, bool, error) {
	t.Helper()
	f, err := yamlfile.Parse("saranga.yaml", "/i", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ReadConfig(f)
}

func TestReadConfig(t *testing.T) {
	got, ok, err := readText(t, `quorum: {}
zookeeper:
  listen: 10.0.0.1:2181
  allow: [10.0.0.7/24, 192.0.2.7, "2001:db8::/32", "::ffff:192.0.2.8"]
  root: /clients/site
  admins: ["super:xQJmxLMiHGwaqBvst5y6rkB6HQs="]
  tickTime: 500ms
  words: ["*"]
  limits: {clients: 10, clientsPerAddress: 2, frame: 4MiB, watches: 3, outstanding: 4, output: 64KiB, memory: 1GiB, loginTimeout: 1s, writeTimeout: 2s, requestTimeout: 3s}
`)
	var allow []netip.Prefix
	for _, p := range []string{"10.0.0.0/24", "192.0.2.7/32", "2001:db8::/32", "192.0.2.8/32"} {
		allow = append(allow, netip.MustParsePrefix(p))
	}
	want := Config{
		Listen: "10.0.0.1:2181", Allow: allow, Root: "/clients/site", Admins: []string{"super:xQJmxLMiHGwaqBvst5y6rkB6HQs="}, TickTime: 500 * time.Millisecond,
		Words:  []string{"*"},
		Limits: Limits{10, 2, 4 << 20, 3, 4, 64 << 10, 1 << 30, time.Second, 2 * time.Second, 3 * time.Second},
	}
	if err != nil || !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, %v\nwant %+v", got, ok, err, want)
	}
	if _, ok, err := readText(t, "quorum: {}\n"); ok || err != nil {
		t.Errorf("without a section: %v, %v", ok, err)
	}
}

func TestReadConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"zookeeper: {}\n":                   "saranga.yaml:1: zookeeper.listen: address \"\"",
		"zookeeper:\n  port: 1\n":           "saranga.yaml:2: zookeeper.port: unknown key; there are admins, allow, limits, listen, root, tickTime, words",
		"zookeeper:\n  listen: 0.0.0.0:1\n": "saranga.yaml:2: zookeeper.listen: address \"0.0.0.0:1\" is not loopback: name the networks that clients may come from in allow, or listen on 127.0.0.1",
		"zookeeper:\n  listen: 127.0.0.1:1\n  allow:\n    - 10.0.0.0\n    - x": `saranga.yaml:5: zookeeper.allow[1]: "x" is neither a network such as 10.0.0.0/24 nor an address`,
		"zookeeper:\n  listen: 127.0.0.1:1\n  root: /saranga\n":                `saranga.yaml:3: zookeeper.root: "/saranga" is neither /clients nor a node below it`,
		"zookeeper:\n  listen: 127.0.0.1:1\n  admins:\n    - a:secret\n":       `saranga.yaml:4: zookeeper.admins[0]: user "a": what follows`,
		"zookeeper:\n  listen: 127.0.0.1:1\n  limits:\n    frame: 7\n":         "saranga.yaml:4: zookeeper.limits.frame: 7 bytes is not within",
		"zookeeper:\n  listen: 127.0.0.1:1\n  tickTime: 2h\n":                  "saranga.yaml:3: zookeeper.tickTime: 2h0m0s is not within",
	} {
		if _, _, err := readText(t, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}
