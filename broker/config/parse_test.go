package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func parseCore(t *testing.T, inner string) *Config {
	t.Helper()
	c, _, err := ParseBroker("b.xml", coreXML(inner), nil)
	if err != nil {
		t.Fatalf("%s: %v", inner, err)
	}
	return c
}

func TestParseBytes(t *testing.T) {
	// spec/config.md §2, verified against 2.40.0.
	for text, want := range map[string]Bytes{
		"10M": 10485760, "10MB": 10485760, "10MiB": 10485760, "10 mib": 10485760, "10485760": 10485760,
		"5b": 5, "-1": -1, "0": 0, " 7k ": 7168, "1g": 1 << 30, "2GiB": 2 << 30, "100K": 102400, "+5": 5,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "1.5M", "10Q", "10T", " -1", "-1M", "M", "10 M B", "9223372036854775808", "9999999999999G", "0x10", "10bb"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %v, want an error", text, got)
		}
	}
}

func TestSubstitute(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"a": "1", "empty": "", "ref": "${a}", "name": "a", "loop": "x${loop}"}[name]
		return v, ok
	}
	for text, want := range map[string]string{
		"plain":             "plain",
		"${a}":              "1",
		"${a} and ${a}":     "1 and 1",
		"${x}":              "",
		"${x:3}":            "3",
		"${x: b:c }":        "b:c",
		"${x:${a}}":         "1",
		"${x:${y:z}}":       "z",
		"${ref}":            "1",
		"${ ${name} }":      "1",
		"${empty:d}":        "",
		"${open":            "${open",
		"${a}${open":        "1${open",
		"$a {a} $${a}":      "$a {a} $1",
		"<name>${x}</name>": "<name></name>",
	} {
		if got, err := Substitute(text, lookup); err != nil || got != want {
			t.Errorf("Substitute(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := Substitute("${loop}", lookup); err == nil {
		t.Error("a value that refers to itself was accepted")
	}
	double := func(string) (string, bool) { return "${n}${n}", true }
	if _, err := Substitute("${n}", double); err == nil {
		t.Error("a value that doubles itself was accepted")
	}
}

func TestPlaceholdersInAFile(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"n": "3", "frag": "<journal-min-files>4</journal-min-files>"}[name]
		return v, ok
	}
	c, _, err := ParseBroker("b.xml", coreXML("${frag}<journal-pool-files>${n}</journal-pool-files><name>${x:d}</name><!-- ${n} -->"), lookup)
	if err != nil || c.Journal.MinFiles != 4 || c.Journal.PoolFiles != 3 || c.Name != "d" {
		t.Errorf("%v %+v", err, c.Journal)
	}
}

func TestDefaultsAreArtemis(t *testing.T) {
	// "Effective default" in spec/config.md §5, as 2.56.0 reports them.
	c := Default()
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"name", c.Name, "localhost"},
		{"management-address", c.ManagementAddress, "activemq.management"},
		{"jmx-domain", c.JMXDomain, "org.apache.activemq.artemis"},
		{"journal-buffer-size", c.Journal.BufferSize, Bytes(501760)},
		{"journal-type", c.Journal.Type, AsyncIO},
		{"journal-pool-files", c.Journal.PoolFiles, -1},
		{"large-messages-directory", c.Journal.LargeMessagesDirectory, "data/largemessages"},
		{"journal-file-open-timeout", c.Journal.FileOpenTimeout, 5 * time.Second},
		{"id-cache-size", c.IDCacheSize, 20000},
		{"max-redelivery-records", c.MaxRedeliveryRecords, 10},
		{"transaction-timeout", c.TransactionTimeout, 300 * time.Second},
		{"connection-ttl-override", c.ConnectionTTLOverride.Milliseconds(), int64(-1)},
		{"network-check-period", c.NetworkCheck.Period, 5 * time.Second},
		{"critical-analyzer-check-period", c.CriticalAnalyzerCheckPeriod, time.Minute},
		{"critical-analyzer-policy", c.CriticalAnalyzerPolicy, CriticalLog},
		{"mask-password", c.MaskPassword == nil, true},
		{"metrics", c.Metrics, Metrics{JVMMemory: true}},
		{"wildcards", c.Wildcards, Wildcards{true, ".", "#", "*"}},
		{"ha", c.HAPolicy.Kind(), PrimaryOnly},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s = %v, want %v", x.what, x.got, x.want)
		}
	}
	if got := parseCore(t, ""); !reflect.DeepEqual(got, c) {
		t.Error("an empty core element differs from Default")
	}
}

func TestElementsOfEveryKind(t *testing.T) {
	c := parseCore(t, `
<name> b1 </name><mask-password>false</mask-password><cluster-password>ENC(x)</cluster-password>
<critical-analyzer-timeout>1000</critical-analyzer-timeout>
<wildcard-addresses><enabled>false</enabled><delimiter>/</delimiter></wildcard-addresses>
<literal-match-markers>()</literal-match-markers>
<journal-retention-directory period="2" unit="HOURS" storage-limit="1G">keep</journal-retention-directory>
<resource-limit-settings><resource-limit-setting match="u"><max-queues>3</max-queues></resource-limit-setting></resource-limit-settings>
<addresses><address name="a"><multicast/><anycast><queue name="q" max-consumers="2" exclusive="true" ring-size="5"><filter string="x > 1"/><durable>false</durable></queue></anycast></address><address name="a"><anycast><queue name="r"/></anycast></address></addresses>
<queues><queue name="old"><address>oa</address></queue></queues>
<diverts><divert name="d"><address>a</address><forwarding-address>b</forwarding-address><exclusive>true</exclusive><filter string="y"/><routing-type>PASS</routing-type></divert></diverts>
<security-settings><security-setting match="#"><permission type="createTempQueue" roles="a, b"/><permission type="send" roles=""/></security-setting><role-mapping from="ext" to="b,c"/></security-settings>
<address-settings><address-setting match="x"><last-value-queue>true</last-value-queue><slow-consumer-check-period>7</slow-consumer-check-period><max-size-bytes>10K</max-size-bytes></address-setting></address-settings>
<metrics><jvm-gc>true</jvm-gc><plugin class-name="P"><property key="k" value="v"/></plugin></metrics>`)
	q := c.Addresses[0].Queues[0]
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"name", c.Name, "b1"},
		{"literal password", c.ClusterPassword, "ENC(x)"},
		{"check period", c.CriticalAnalyzerCheckPeriod, 500 * time.Millisecond},
		{"wildcards", c.Wildcards, Wildcards{false, "/", "#", "*"}},
		{"retention", c.Journal.Retention.Duration(), 2 * time.Hour},
		{"limits", c.ResourceLimits[0], ResourceLimit{"u", -1, -1, 3}},
		{"addresses", len(c.Addresses), 2},
		{"routing types", c.Addresses[0].RoutingTypes, []RoutingType{Multicast, Anycast}},
		{"joined queue", c.Addresses[0].Queues[1].Name, "r"},
		{"queue", []any{q.Name, q.Address, q.RoutingType, q.Filter, q.Durable, *q.MaxConsumers, *q.Exclusive, *q.RingSize, *q.PurgeOnNoConsumers, q.Enabled == nil},
			[]any{"q", "a", Anycast, "x > 1", false, 2, true, int64(5), false, true}},
		{"ring size unset", *c.Addresses[0].Queues[1].RingSize, int64(-1)},
		{"old queue", []any{c.Addresses[1].Name, c.Addresses[1].Queues[0].Name, c.Addresses[1].Queues[0].RoutingType}, []any{"oa", "old", Multicast}},
		{"divert", c.Diverts[0], Divert{Name: "d", Address: "a", ForwardingAddress: "b", Exclusive: true, Filter: "y", RoutingType: Pass}},
		{"roles", c.SecuritySettings[0].Roles, map[Permission][]string{CreateNonDurableQueue: {"a", "b", "ext"}, Send: nil}},
		{"setting", []any{*c.AddressSettings[0].DefaultLastValueQueue, *c.AddressSettings[0].SlowConsumerCheckPeriod, *c.AddressSettings[0].MaxSizeBytes}, []any{true, 7 * time.Second, Bytes(10240)}},
		{"metrics", []any{c.Metrics.JVMGC, c.Metrics.JVMMemory, c.Metrics.Plugin.Properties["k"]}, []any{true, true, "v"}},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s = %v, want %v", x.what, x.got, x.want)
		}
	}
}

func TestHAPolicies(t *testing.T) {
	// spec/ha.md §1.1
	for inner, kind := range map[string]HAKind{
		`<live-only/>`: PrimaryOnly,
		`<replication><master><manager/></master></replication>`:       ReplicationPrimaryVoting,
		`<replication><primary><manager/></primary></replication>`:     ReplicationPrimaryLock,
		`<replication><slave/></replication>`:                          ReplicationBackupVoting,
		`<replication><backup><manager/></backup></replication>`:       ReplicationBackupLock,
		`<replication><colocated><primary/></colocated></replication>`: Colocated,
		`<shared-store><master/></shared-store>`:                       SharedStorePrimary,
		`<shared-store><backup/></shared-store>`:                       SharedStoreBackup,
	} {
		p := &parser{report: &report{}, lookup: noEnv, tool: true}
		c, d := p.broker("b.xml", coreXML("<ha-policy>"+inner+"</ha-policy>"))
		p.finish(c, d)
		if p.err() != nil || c.HAPolicy.Kind() != kind {
			t.Errorf("%s: %s, want %s (%v)", inner, c.HAPolicy.Kind(), kind, p.err())
		}
	}
	c, _, _ := ParseBroker("b.xml", coreXML(`<ha-policy><replication><primary><vote-retry-wait>7000</vote-retry-wait></primary></replication></ha-policy>`), nil)
	if w := c.HAPolicy.Replication.Primary.RetryReplicationWait; w != 7*time.Second {
		t.Errorf("retry-replication-wait %v, want vote-retry-wait", w)
	}
	c, _, _ = ParseBroker("b.xml", coreXML(`<ha-policy><replication><backup><manager><properties><property key="connect-string" value="h:1"/></properties></manager></backup></replication></ha-policy>`), nil)
	b := c.HAPolicy.Replication.Backup
	if b.RetryReplicationWait != 2*time.Second || b.Manager.ClassName != CuratorLockManager || b.Manager.Properties["connect-string"] != "h:1" {
		t.Errorf("%+v %+v", b, b.Manager)
	}
}

func TestFaultsNamePlaceAndRemedy(t *testing.T) {
	for _, x := range []struct{ inner, element, problem string }{
		{`<thread-pool-max-size>0</thread-pool-max-size>`, "thread-pool-max-size", "-1 or greater than 0"},
		{`<transaction-timeout>5s</transaction-timeout>`, "transaction-timeout", "not an integer"},
		{`<journal-min-files>2147483648</journal-min-files>`, "journal-min-files", "32 bits"},
		{`<name/><name/>`, "name", "twice"},
		{`<name><b/></name>`, "name/b", "no such element"},
		{`<name x="y">a</name>`, "name/@x", "no such attribute"},
		{`<acceptors>text</acceptors>`, "acceptors", "text"},
		{`<acceptors><acceptor name="a">tcp://h:99999</acceptor></acceptors>`, "acceptor a", "not a port"},
		{`<address-settings><address-setting/></address-settings>`, "address-settings/address-setting", "match is missing"},
		{`<address-settings><address-setting match="a"><frob/></address-setting></address-settings>`, "address-settings/address-setting/frob", "no such element"},
		{`<addresses><address name="a"></address></addresses>`, "addresses/address a", "no routing type"},
		{`<literal-match-markers>(</literal-match-markers>`, "literal-match-markers", "two characters"},
		{`<password-codec>com.acme.Codec</password-codec>`, "password-codec", "needs Java"},
		{`<cluster-password>ENC(aa)</cluster-password>`, "cluster-password", "can't be decrypted"},
		{`<name xmlns="urn:other">a</name>`, "name", "namespace"},
		{`<mask-password>true</mask-password><cluster-password>plain</cluster-password>`, "cluster-password", "not encrypted"},
		{`<page-max-concurrent-io/>`, "page-max-concurrent-io", "AMQ219054"},
	} {
		_, _, err := ParseBroker("b.xml", coreXML(x.inner), nil)
		errs, _ := err.(Errors)
		if len(errs) != 1 {
			t.Errorf("%s: %v, want one error", x.inner, err)
			continue
		}
		e := errs[0]
		if e.File != "b.xml" || e.Line != 3 || e.Element != x.element || !strings.Contains(e.Problem, x.problem) || e.Remedy == "" {
			t.Errorf("%s: %v, want element %s and %q", x.inner, e, x.element, x.problem)
		}
	}
	_, _, err := ParseBroker("b.xml", coreXML("<x/>\n<y/>\n<name/>\n<name/>"), nil)
	if errs, _ := err.(Errors); len(errs) != 3 || errs[1].Line != 4 {
		t.Errorf("not all faults are collected: %v", err)
	}
	_, _, err = ParseBroker("b.xml", coreXML(strings.Repeat("<x/>", 1000)), nil)
	if errs, _ := err.(Errors); len(errs) != maxErrors {
		t.Errorf("%d errors, want the bound of %d", len(errs), maxErrors)
	}
	for _, text := range []string{
		"", "<a", "<!DOCTYPE x [<!ENTITY e 'v'>]><configuration/>", "<a>&e;</a>", "<a/><b/>",
		`<a x="1" x="2"/>`, strings.Repeat("<a>", 1000),
	} {
		if _, _, err := ParseBroker("b.xml", text, nil); err == nil {
			t.Errorf("%.40s was accepted", text)
		}
	}
}

func TestOneIsReadAsFalse(t *testing.T) {
	c, warns, err := ParseBroker("b.xml", coreXML("<persistence-enabled>1</persistence-enabled>"), nil)
	if err != nil || c.PersistenceEnabled || len(warns) != 1 || warns[0].Kind != Odd {
		t.Errorf("%v %v %v", c.PersistenceEnabled, warns, err)
	}
}

func TestXInclude(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	settings := write("settings.xml", `<address-settings xmlns="urn:activemq:core"><address-setting match="${m}"><max-size-bytes>bad</max-size-bytes></address-setting></address-settings>`)
	good := write("good.xml", `<address-settings xmlns="urn:activemq:core"><address-setting match="${m}"/></address-settings>`)
	self := write("self.xml", `<addresses xmlns="urn:activemq:core" xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="self.xml"/></addresses>`)
	lookup := func(name string) (string, bool) { return "a.#", name == "m" }
	main := filepath.Join(dir, "broker.xml")

	c, _, err := ParseBroker(main, coreXML(`<xi:include href="file:`+good+`"/>`), lookup)
	if err != nil || len(c.AddressSettings) != 1 || c.AddressSettings[0].Match != "a.#" {
		t.Errorf("absolute: %v %+v", err, c.AddressSettings)
	}
	if c, _, err := ParseBroker(main, coreXML(`<xi:include href="good.xml"/>`), lookup); err != nil || len(c.AddressSettings) != 1 {
		t.Errorf("beside the file: %v", err)
	}
	_, _, err = ParseBroker(main, coreXML(`<xi:include href="settings.xml"/>`), lookup)
	var e *Error
	if !errors.As(err, &e) || e.File != settings || e.Line != 1 {
		t.Errorf("a fault in an included file: %v", err)
	}
	if c, _, err := ParseBroker(main, coreXML(`<xi:include href="none.xml"><xi:fallback><name>f</name></xi:fallback></xi:include>`), lookup); err != nil || c.Name != "f" {
		t.Errorf("fallback: %v", err)
	}
	if c, _, err := ParseBroker(main, coreXML(`<name><xi:include parse="text" href="`+write("name.txt", "n1")+`"/></name>`), lookup); err != nil || c.Name != "n1" {
		t.Errorf("text: %v %q", err, c.Name)
	}
	for _, href := range []string{self, "http://example.com/x.xml", "", dir} {
		if _, _, err := ParseBroker(main, coreXML(`<xi:include href="`+href+`"/>`), lookup); err == nil {
			t.Errorf("include of %q was accepted", href)
		}
	}
}

func TestLegacyJMS(t *testing.T) {
	c, _, err := ParseBroker("b.xml", `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core"/><jms xmlns="urn:activemq:jms"><queue name="q"><selector string="a = 1"/><durable>false</durable></queue><topic name="t"/></jms></configuration>`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if q := c.Addresses[0]; q.RoutingTypes[0] != Anycast || q.Queues[0].Filter != "a = 1" || q.Queues[0].Durable {
		t.Errorf("%+v", q)
	}
	if topic := c.Addresses[1]; topic.Name != "t" || topic.RoutingTypes[0] != Multicast || topic.Queues != nil {
		t.Errorf("%+v", topic)
	}
}

func TestUTF16(t *testing.T) {
	for _, data := range [][]byte{{0xFE, 0xFF, 0, 'a', 0x20, 0xAC}, {0xFF, 0xFE, 'a', 0, 0xAC, 0x20}, []byte("\xEF\xBB\xBFa€"), []byte("a€")} {
		if got, err := decodeText(data); err != nil || got != "a€" {
			t.Errorf("% x: %q %v", data, got, err)
		}
	}
	for _, data := range [][]byte{{0xFE, 0xFF, 0}, {0xC3}} {
		if _, err := decodeText(data); err == nil {
			t.Errorf("% x was accepted", data)
		}
	}
}
