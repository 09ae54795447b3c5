package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/broker/security"
)

// A logText takes what is logged.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A runningNode is a node of an instance of its own.
type runningNode struct {
	*node
	failed chan error
	t      *testing.T
	dir    string
	text   *logText
	tick   int
}

// baseXML goes before the core elements of every test: no period runs, so that tests say when.
const baseXML = `<name>test</name><security-enabled>false</security-enabled><journal-type>NIO</journal-type><journal-file-size>100K</journal-file-size>
<journal-datasync>false</journal-datasync><configuration-file-refresh-period>3600000</configuration-file-refresh-period><disk-scan-period>3600000</disk-scan-period><max-disk-usage>-1</max-disk-usage>`

// newInstance writes an instance folder with these core elements.
func newInstance(t *testing.T, core string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "etc", "bootstrap.xml"), `<broker xmlns="http://activemq.apache.org/schema"><jaas-security domain="activemq"/><server configuration="file:`+dir+`/etc/broker.xml"/></broker>`)
	write(t, filepath.Join(dir, "etc", "login.config"), `activemq {
   org.apache.activemq.artemis.spi.core.security.jaas.PropertiesLoginModule required reload=true
      org.apache.activemq.jaas.properties.user="artemis-users.properties" org.apache.activemq.jaas.properties.role="artemis-roles.properties";
};`)
	write(t, filepath.Join(dir, "etc", "artemis-users.properties"), "admin = secret\n")
	write(t, filepath.Join(dir, "etc", "artemis-roles.properties"), "amq = admin\n")
	writeBroker(t, dir, core)
	return dir
}

func writeBroker(t *testing.T, dir, core string) {
	t.Helper()
	write(t, filepath.Join(dir, "etc", "broker.xml"), `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">`+"\n"+core+"\n</core></configuration>")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runNode starts a node on an instance folder; it is stopped at the end of the test.
func runNode(t *testing.T, dir string, prepare ...func(*node)) *runningNode {
	t.Helper()
	in, _, err := config.Load(dir, config.Options{Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	text := &logText{}
	logs, err := logging.Open(logging.Options{Stdout: text, Stderr: text})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	n, err := openNode(in, logs, nodeOptions{nodeID: "5a4a4e47-0000-11f1-8000-000000000001", fail: func(err error) { failed <- err }})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		f(n)
	}
	r := &runningNode{node: n, failed: failed, t: t, dir: dir, text: text}
	t.Cleanup(func() {
		r.stop()
		logs.Close()
		if t.Failed() {
			t.Log(text.String())
		}
	})
	if err := n.start(nil, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

func startNode(t *testing.T, core string) *runningNode {
	t.Helper()
	return runNode(t, newInstance(t, baseXML+core))
}

// edit rewrites broker.xml and lets the node look for changes.
func (r *runningNode) edit(core string) {
	r.t.Helper()
	writeBroker(r.t, r.dir, baseXML+core)
	r.touched("broker.xml")
	r.house.reload.poll()
}

// touched gives a file of etc a time of its own, as if it had been written a second after the last.
func (r *runningNode) touched(file string) {
	r.t.Helper()
	r.tick++
	at := time.Now().Add(time.Duration(r.tick) * time.Second)
	if err := os.Chtimes(filepath.Join(r.dir, "etc", file), at, at); err != nil {
		r.t.Fatal(err)
	}
}

// logged waits until the log has a text and returns how often.
func (r *runningNode) logged(text string) int {
	r.t.Helper()
	r.logs.Flush()
	return strings.Count(r.text.String(), text)
}

// state describes what the broker has, without what is there from the start.
func (r *runningNode) state() string {
	var out []string
	for _, a := range r.broker.Addresses() {
		if strings.HasPrefix(a.Name(), "activemq.") {
			continue
		}
		i := r.broker.Info(a)
		auto := ""
		if i.AutoCreated {
			auto = " auto"
		}
		out = append(out, fmt.Sprintf("address %s %v%s", a.Name(), i.RoutingTypes.List(), auto))
		for _, name := range i.Queues {
			c := r.broker.Queue(name).Config()
			text := fmt.Sprintf("queue %s on %s %v", name, c.Address, c.Routing)
			if c.MaxConsumers != -1 {
				text += fmt.Sprint(" max=", c.MaxConsumers)
			}
			if c.Filter != "" {
				text += " filter=" + c.Filter
			}
			if c.Exclusive {
				text += " exclusive"
			}
			if c.RingSize != -1 {
				text += fmt.Sprint(" ring=", c.RingSize)
			}
			if c.ConfigurationManaged {
				text += " configured"
			}
			out = append(out, text)
		}
		for _, name := range i.Diverts {
			for _, d := range r.broker.Diverts() {
				if d.Name() == name {
					out = append(out, fmt.Sprintf("divert %s %s to %s", name, a.Name(), d.Config().ForwardAddress))
				}
			}
		}
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func (r *runningNode) expect(want ...string) {
	r.t.Helper()
	sort.Strings(want)
	if got := r.state(); got != strings.Join(want, "\n") {
		r.t.Errorf("the broker has\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func address(name, queues string) string {
	return `<address name="` + name + `"><anycast>` + queues + `</anycast></address>`
}

// The rules of a reload for addresses and queues: what is new is deployed, attributes are changed in place and fall back
// to their defaults, what is gone stays unless FORCE is set.
func TestReloadAddresses(t *testing.T) {
	addresses := func(list ...string) string { return "<addresses>" + strings.Join(list, "") + "</addresses>" }
	force := func(element string) string {
		return `<address-settings><address-setting match="#"><` + element + `>FORCE</` + element + `></address-setting></address-settings>`
	}
	one := addresses(address("a", `<queue name="q"/>`))
	const q = "queue q on a ANYCAST configured"
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"added":                         {"", one, []string{"address a [ANYCAST]", q}},
		"queue added":                   {addresses(address("a", "")), one, []string{"address a [ANYCAST]", q}},
		"removed, OFF":                  {one, "", []string{"address a [ANYCAST]", q}},
		"address removed, FORCE":        {one, force("config-delete-addresses"), nil},
		"queue removed, FORCE":          {one, addresses(address("a", "")) + force("config-delete-queues"), []string{"address a [ANYCAST]"}},
		"address removed, FORCE queues": {one, force("config-delete-queues"), []string{"address a [ANYCAST]"}},
		"attributes": {one, addresses(address("a", `<queue name="q" max-consumers="3" exclusive="true" ring-size="7"><filter string="x = 1"/></queue>`)),
			[]string{"address a [ANYCAST]", "queue q on a ANYCAST max=3 filter=x = 1 exclusive ring=7 configured"}},
		"attributes removed": {addresses(address("a", `<queue name="q" max-consumers="3" exclusive="true" ring-size="7"><filter string="x = 1"/></queue>`)), one,
			[]string{"address a [ANYCAST]", q}},
		"routing type added": {one, addresses(`<address name="a"><anycast><queue name="q"/></anycast><multicast/></address>`), []string{"address a [MULTICAST ANYCAST]", q}},
		"routing type that a queue has stays": {one, addresses(`<address name="a"><multicast><queue name="m"/></multicast></address>`),
			[]string{"address a [MULTICAST ANYCAST]", q, "queue m on a MULTICAST configured"}},
		"queue moved to another address": {one, addresses(address("b", `<queue name="q"/>`)), []string{"address a [ANYCAST]", "address b [ANYCAST]", q}},
	} {
		t.Run(name, func(t *testing.T) {
			n := startNode(t, c.before)
			n.edit(c.after)
			n.expect(c.want...)
			if n.logged("AMQ224069") != 0 || n.logged("AMQ221056") == 0 {
				t.Error("the reload failed, or there was none")
			}
		})
	}
}

// What was removed from the file while the broker was down goes at the start.
func TestUndeployAtStart(t *testing.T) {
	dir := newInstance(t, baseXML+`<addresses>`+address("a", `<queue name="q"/>`)+address("b", "")+`</addresses>`)
	runNode(t, dir).stop()
	writeBroker(t, dir, baseXML+`<address-settings><address-setting match="a"><config-delete-addresses>FORCE</config-delete-addresses></address-setting></address-settings>`)
	n := runNode(t, dir)
	n.expect("address b [ANYCAST]")
	if n.logged("AMQ224076: Undeploying address a") != 1 || n.logged("AMQ224077: Undeploying queue q") != 1 {
		t.Error("not told")
	}
}

// What clients and operators have made is not the configuration's to delete.
func TestReloadKeepsWhatOthersMade(t *testing.T) {
	n := startNode(t, `<address-settings><address-setting match="#"><config-delete-addresses>FORCE</config-delete-addresses><config-delete-queues>FORCE</config-delete-queues></address-setting></address-settings>
<addresses>`+address("a", `<queue name="q"/>`)+`</addresses>`)
	mine := n.broker.DefaultQueue("a", "mine")
	if _, err := n.broker.CreateQueue(mine, broker.CreateOptions{AutoCreateAddress: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.broker.CreateAddress("auto", broker.AnycastSet, true); err != nil {
		t.Fatal(err)
	}
	n.edit(`<address-settings><address-setting match="#"><config-delete-addresses>FORCE</config-delete-addresses><config-delete-queues>FORCE</config-delete-queues></address-setting></address-settings>
<addresses>` + address("a", "") + `</addresses>`)
	n.expect("address a [MULTICAST ANYCAST]", "queue mine on a MULTICAST", "address auto [ANYCAST] auto")
}

// A retroactive address keeps what belongs to it, whatever may be deleted, at the start, after a reload and a restart; the
// count takes effect while the broker runs.
func TestRetroactiveAddress(t *testing.T) {
	xml := func(count string) string {
		return `<address-settings><address-setting match="#"><retroactive-message-count>` + count + `</retroactive-message-count>
<config-delete-addresses>FORCE</config-delete-addresses><config-delete-queues>FORCE</config-delete-queues><config-delete-diverts>FORCE</config-delete-diverts></address-setting></address-settings>
<addresses><address name="a"><multicast/></address></addresses>`
	}
	dir := newInstance(t, baseXML+xml("3"))
	n := runNode(t, dir)
	check := func(size int64) {
		t.Helper()
		for _, kind := range []string{"multicast", "anycast"} {
			q := n.broker.Queue("$.artemis.internal.a.queue." + kind + ".retro")
			if q == nil {
				t.Fatalf("no %s ring", kind)
			}
			if got := q.Config().RingSize; got != size {
				t.Errorf("the %s ring has length %d, want %d", kind, got, size)
			}
		}
		if got := n.broker.Info(n.broker.Address("a")).Diverts; !slices.Equal(got, []string{"$.artemis.internal.a.divert.retro"}) {
			t.Errorf("diverts: %v", got)
		}
	}
	check(3)
	n.edit(xml("5"))
	check(5)
	n.edit(xml("2"))
	check(2)
	n.stop()
	n = runNode(t, dir)
	check(2)
}

func TestReloadMaxConsumersBelowConsumers(t *testing.T) {
	n := startNode(t, `<addresses>`+address("a", `<queue name="q" max-consumers="5"/>`)+`</addresses>`)
	conn := n.broker.Connect("c", "127.0.0.1:1", "CORE", func(string) {})
	w := n.broker.NewWork()
	defer conn.End(w, false)
	s, err := conn.NewSession(broker.SessionOptions{Name: "s", Principal: security.Internal("u"), AutoCommitAcks: true})
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(2) {
		if _, err := s.CreateConsumer(w, broker.ConsumerOptions{ID: id, Queue: "q", Sink: &brokertest.Sink{}}); err != nil {
			t.Fatal(err)
		}
	}
	n.edit(`<addresses>` + address("a", `<queue name="q" max-consumers="1" exclusive="true"/>`) + `</addresses>`)
	n.expect("address a [ANYCAST]", "queue q on a ANYCAST max=5 exclusive configured")
	if n.logged("more consumers than broker.xml allows") != 1 {
		t.Error("not told")
	}
}

func TestReloadDiverts(t *testing.T) {
	divert := func(name, from, to string) string {
		return `<divert name="` + name + `"><address>` + from + `</address><forwarding-address>` + to + `</forwarding-address></divert>`
	}
	addresses := "<addresses>" + address("a", "") + address("b", "") + address("c", "") + "</addresses>"
	diverts := func(list ...string) string { return "<diverts>" + strings.Join(list, "") + "</diverts>" + addresses }
	there := []string{"address a [ANYCAST]", "address b [ANYCAST]", "address c [ANYCAST]"}
	n := startNode(t, diverts(divert("d", "a", "b")))
	if err := n.broker.CreateDivert(broker.DivertConfig{Name: "mine", Address: "a", ForwardAddress: "c", RoutingType: broker.DivertStrip}, true); err != nil {
		t.Fatal(err)
	}
	n.expect(append(there, "divert d a to b", "divert mine a to c")...)
	n.edit(diverts(divert("d", "a", "c"), divert("e", "b", "c"), divert("mine", "b", "c")))
	n.expect(append(there, "divert d a to c", "divert e b to c", "divert mine a to c")...) // what management made wins
	n.edit(diverts(divert("d", "b", "c")))
	n.expect(append(there, "divert d b to c", "divert mine a to c")...)
	n.stop()
	n = runNode(t, n.dir)
	n.expect(append(there, "divert d b to c", "divert mine a to c")...)
	n.edit(addresses + `<address-settings><address-setting match="a"><config-delete-diverts>FORCE</config-delete-diverts></address-setting></address-settings>`)
	n.expect(there...)
	n.stop()
	n = runNode(t, n.dir)
	n.expect(there...)
}

// Settings that management made stay on top of the file, after a reload and after a restart.
func TestStoredSettingsWin(t *testing.T) {
	core := func(attempts, role string) string {
		return `<security-settings><security-setting match="a"><permission type="send" roles="` + role + `"/></security-setting>
<security-setting match="b"><permission type="send" roles="` + role + `"/></security-setting></security-settings>
<address-settings><address-setting match="a"><max-delivery-attempts>` + attempts + `</max-delivery-attempts></address-setting>
<address-setting match="b"><max-delivery-attempts>` + attempts + `</max-delivery-attempts></address-setting></address-settings>
<addresses>` + address("a", "") + address("b", "") + `</addresses>`
	}
	secure := strings.Replace(baseXML, "<security-enabled>false", "<security-enabled>true", 1)
	dir := newInstance(t, secure+core("3", "amq"))
	n := runNode(t, dir)
	store := n.broker.Store()
	seven := 7
	if err := store.StoreConfig(broker.StoredConfig{Kind: broker.AddressSettingConfig, Key: "b", JSON: `{"maxDeliveryAttempts":7}`}); err != nil {
		t.Fatal(err)
	}
	if err := n.settings.Put("b", &config.AddressSetting{Match: "b", MaxDeliveryAttempts: &seven}); err != nil {
		t.Fatal(err)
	}
	// the roles to send and to consume, and the last list, to edit
	roles := []string{"mine, other", "mine", "", "", "", "", "", "", "", "", "", "last"}
	if err := store.StoreConfig(broker.StoredConfig{Kind: broker.SecuritySettingConfig, Key: "b", Roles: roles}); err != nil {
		t.Fatal(err)
	}
	check := func(attempts int, role string) {
		t.Helper()
		for name, want := range map[string]int{"a": attempts, "b": 7} {
			if got := n.broker.Address(name).Settings().MaxDeliveryAttempts; got != want {
				t.Errorf("max-delivery-attempts of %s: %d, want %d", name, got, want)
			}
		}
		for _, x := range []struct {
			address, role string
			p             security.Permission
			want          bool
		}{{"a", role, security.Send, true}, {"a", "mine", security.Send, false}, {"b", role, security.Send, false}, {"b", "mine", security.Send, true}, {"b", "other", security.Send, true},
			{"b", "other", security.Consume, false}, {"b", "mine", security.Consume, true}, {"b", "last", security.Edit, true}, {"b", "mine", security.Edit, false}} {
			if got := n.access.Allowed(security.Principal{User: "u", Roles: []string{x.role}}, x.p, x.address, ""); got != x.want {
				t.Errorf("%s of %s to role %s: %v", x.p, x.address, x.role, got)
			}
		}
	}
	writeBroker(t, dir, secure+core("4", "amq2"))
	n.touched("broker.xml")
	n.house.reload.poll()
	check(4, "amq2")
	n.stop()
	n = runNode(t, dir)
	check(4, "amq2")
}

func TestReloadRefused(t *testing.T) {
	core := `<addresses>` + address("a", `<queue name="q"/>`) + `</addresses>`
	n := startNode(t, core)
	had := n.state()
	n.edit("\n<addresses>" + address("new", "") + "</addresses>\n<global-max-messages>x</global-max-messages>")
	if n.state() != had {
		t.Errorf("something of a file that is wrong was taken over:\n%s", n.state())
	}
	file := filepath.Join(n.dir, "etc", "broker.xml")
	if n.logged("AMQ224069") != 1 || n.logged(file+":") == 0 || n.logged("global-max-messages") == 0 {
		t.Error("the place of the fault is not told")
	}
	n.house.reload.poll()
	if n.logged("AMQ224069") != 1 {
		t.Error("told again though nothing changed")
	}
	writeBroker(t, n.dir, "<unclosed>")
	n.touched("broker.xml")
	n.house.reload.poll()
	if n.logged("AMQ224069") != 2 {
		t.Error("a broken file is not told")
	}
	n.edit(core + "<bogus>1</bogus>") // an element that does not belong is warned of; the rest counts
	if n.logged("AMQ224069") != 2 || n.logged("bogus") == 0 {
		t.Error("an unknown element kept the file from being read")
	}
	n.edit(core + "<journal-min-files>7</journal-min-files>")
	if n.logged("take effect at the next start: journal-min-files") != 1 {
		t.Error("what waits for the next start is not told")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	n.house.reload.poll()
	if n.logged("AMQ224069") != 3 {
		t.Error("a missing file is not told")
	}
	n.edit(`<addresses>` + address("b", "") + `</addresses>`)
	n.expect("address a [ANYCAST]", "address b [ANYCAST]", "queue q on a ANYCAST configured")
}

// The node looks by itself.
func TestReloadByItself(t *testing.T) {
	base := strings.Replace(baseXML, "3600000</configuration-file-refresh-period>", "20</configuration-file-refresh-period>", 1)
	n := runNode(t, newInstance(t, base))
	writeBroker(t, n.dir, base+`<addresses>`+address("a", "")+`</addresses>`)
	n.touched("broker.xml")
	brokertest.Until(t, "the address is there", func() bool { return n.broker.Address("a") != nil })
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func answers(port int) bool {
	c, err := net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", port), time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func TestReloadAcceptors(t *testing.T) {
	one, two, taken := freePort(t), freePort(t), freePort(t)
	acceptor := func(name string, port int, more string) string {
		return fmt.Sprintf(`<acceptor name="%s">tcp://127.0.0.1:%d?protocols=CORE%s</acceptor>`, name, port, more)
	}
	acceptors := func(list ...string) string { return "<acceptors>" + strings.Join(list, "") + "</acceptors>" }
	n := startNode(t, acceptors(acceptor("a", one, "")))
	check := func(port int, want bool) {
		t.Helper()
		if answers(port) != want {
			t.Errorf("port %d answers: %v", port, !want)
		}
	}
	check(one, true)
	n.edit(acceptors(acceptor("a", one, ""), acceptor("b", two, "")))
	check(one, true)
	check(two, true)
	n.edit(acceptors(acceptor("b", one, ""))) // a is gone and b changed
	check(one, true)
	check(two, false)
	// a port that is taken: the others serve, and it is tried again
	l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", taken))
	if err != nil {
		t.Fatal(err)
	}
	n.edit(acceptors(acceptor("b", one, ""), acceptor("c", taken, ""), acceptor("d", two, "")))
	check(one, true)
	check(two, true)
	if n.logged("AMQ224104") != 1 {
		t.Error("not told")
	}
	l.Close()
	if err := n.house.reload.Reload(); err != nil {
		t.Fatal(err)
	}
	check(taken, true)
	n.edit(acceptors(acceptor("b", one, ";autoStart=false")))
	check(one, false)

	// without network nothing serves; what a reload adds neither
	n.edit(acceptors(acceptor("a", one, "")))
	n.house.reload.suspend()
	n.edit(acceptors(acceptor("a", one, ""), acceptor("b", two, "")))
	check(one, false)
	check(two, false)
	if err := n.house.reload.resume(); err != nil {
		t.Fatal(err)
	}
	check(one, true)
	check(two, true)
}

func TestNetworkCheckStopsServing(t *testing.T) {
	port := freePort(t)
	flag := filepath.Join(t.TempDir(), "network")
	write(t, flag, "")
	n := startNode(t, fmt.Sprintf(`<acceptors><acceptor name="a">tcp://127.0.0.1:%d</acceptor></acceptors>
<network-check-list>192.0.2.1</network-check-list><network-check-period>10</network-check-period><network-check-ping-command>test -e %s</network-check-ping-command>`, port, flag))
	c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	brokertest.Until(t, "the connection is known", func() bool {
		_, _ = c.Write([]byte("AMQP"))
		return true
	})
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	brokertest.Until(t, "the acceptor is stopped", func() bool { return !answers(port) })
	write(t, flag, "")
	brokertest.Until(t, "the acceptor is started", func() bool { return answers(port) })
	if n.logged("AMQ201001") != 1 || n.logged("AMQ201000") != 1 || n.logged("AMQ202002") == 0 {
		t.Error("not told, or more than once")
	}
}

// Users and roles are read anew at a login, and a changed login.config with the next look.
func TestReloadUsers(t *testing.T) {
	secure := strings.Replace(baseXML, "<security-enabled>false", "<security-enabled>true", 1)
	secure = strings.Replace(secure, "<name>", "<security-invalidation-interval>0</security-invalidation-interval><name>", 1)
	n := runNode(t, newInstance(t, secure))
	login := func(user, password string) bool {
		_, err := n.auth.Authenticate(context.Background(), security.Credentials{User: user, Password: password})
		return err == nil
	}
	if !login("admin", "secret") || login("bob", "word") {
		t.Fatal("the users of the start")
	}
	write(t, filepath.Join(n.dir, "etc", "artemis-users.properties"), "admin = secret\nbob = word\n")
	write(t, filepath.Join(n.dir, "etc", "artemis-roles.properties"), "amq = admin,bob\n")
	n.touched("artemis-users.properties")
	n.touched("artemis-roles.properties")
	if !login("bob", "word") {
		t.Error("a user that was added does not get in")
	}
	write(t, filepath.Join(n.dir, "etc", "more-users.properties"), "carol = word\n")
	login2 := strings.ReplaceAll(readFile(t, filepath.Join(n.dir, "etc", "login.config")), "artemis-users", "more-users")
	write(t, filepath.Join(n.dir, "etc", "login.config"), login2)
	n.touched(".")
	n.house.reload.poll()
	if !login("carol", "word") || login("bob", "word") {
		t.Error("login.config was not read again")
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
