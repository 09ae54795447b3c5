package config

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unpack writes a golden etc folder below a new instance folder. The instance
// path of the golden is replaced in bootstrap.xml, as if it had been created here.
func unpack(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("testdata", "etc", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.FileInfo().IsDir() {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.FileInfo().Name() == "bootstrap.xml" {
			text, err := decodeText(content)
			if err != nil {
				t.Fatal(err)
			}
			content = []byte(strings.ReplaceAll(text, "/opt/"+name, dir))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func noEnv(string) (string, bool) { return "", false }

func loadGolden(t *testing.T, name string, tool bool) (*Instance, []Warning, error) {
	t.Helper()
	return Load(unpack(t, name), Options{Env: noEnv, WorkDir: t.TempDir(), Tool: tool})
}

// Refusals that a golden instance must meet when it is to be run.
var refusedGoldens = map[string][]string{
	"06-clustered":      {"cluster-connections/cluster-connection/message-load-balancing"},
	"11-static-cluster": {"cluster-connections/cluster-connection/message-load-balancing"},
	"12-jdbc":           {"store/database-store"},
}

func TestGoldenInstancesLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/etc/*.tar.gz")
	if err != nil || len(files) != 23 {
		t.Fatalf("%d goldens, want 23 (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".tar.gz")
		t.Run(name, func(t *testing.T) {
			in, warns, err := loadGolden(t, name, true)
			if err != nil {
				t.Fatalf("as a tool: %v", err)
			}
			for _, w := range warns {
				t.Errorf("as a tool, unexpected warning: %v", w)
			}
			if in.Broker.MaxRedeliveryRecords != 1 || in.Broker.Journal.LargeMessagesDirectory == "data/largemessages" {
				t.Errorf("values of broker.xml were not read: %+v", in.Broker.Journal)
			}
			_, _, err = loadGolden(t, name, false)
			var errs Errors
			errors.As(err, &errs)
			var got []string
			for _, e := range errs {
				got = append(got, e.Element)
				if e.Line == 0 || e.File == "" || e.Remedy == "" {
					t.Errorf("refusal without place or remedy: %v", e)
				}
			}
			if want := refusedGoldens[name]; strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("refused %v, want %v (%v)", got, want, err)
			}
		})
	}
}

func TestDefaultInstanceValues(t *testing.T) {
	in, warns, err := loadGolden(t, "01-default-silent", false)
	if err != nil {
		t.Fatal(err)
	}
	c := in.Broker
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	check("name", c.Name, "0.0.0.0")
	check("journal type", c.Journal.Type, NIO)
	check("pool files", c.Journal.PoolFiles, 10)
	check("file size", c.Journal.FileSize, Bytes(10485760))
	check("critical policy", c.CriticalAnalyzerPolicy, CriticalHalt)
	check("acceptors", len(c.Acceptors), 5)
	a := c.Acceptor("artemis").URL
	check("addr", a.Addr(), "0.0.0.0:61616")
	check("protocols", strings.Join(a.List("protocols"), " "), "CORE AMQP STOMP HORNETQ MQTT OPENWIRE")
	check("send buffer", a.Int("tcpSendBufferSize", 0), int64(1048576))
	check("anycast prefix", c.Acceptor("hornetq").URL.Text("anycastPrefix", ""), "jms.queue.")
	check("heap", in.Profile.MaxHeap, Bytes(2<<30))
	check("global max size", c.EffectiveGlobalMaxSize(in.Profile.MaxHeap, 0), Bytes(1<<30))
	check("realm modules", len(in.Login.Realm("activemq").Modules), 2)
	check("user file", in.Login.Realm("activemq").Modules[0].Options["org.apache.activemq.jaas.properties.user"], "artemis-users.properties")
	check("login dir", in.Login.Dir, in.Etc)
	check("management allow", in.Management.AllowList[0].Domain, "hawtio")
	check("management rules", len(in.Management.RoleAccess[0].Access), 7)
	check("queues", len(c.Addresses), 2)
	check("queue", c.Addresses[0].Queues[0].Name, "DLQ")
	check("queue routing", c.Addresses[0].Queues[0].RoutingType, Anycast)
	check("send roles", strings.Join(c.SecuritySettings[0].Roles[Send], ","), "amq")
	check("journal path", in.Path(c.Journal.Directory), filepath.Join(in.Dir, "data/journal"))
	check("web binding", in.Bootstrap.Web.Bindings[0].URI, "http://localhost:8161")
	check("artemis.home", in.Profile.Properties["artemis.home"], "/opt/apache-artemis")
	s, err := c.AddressSettingsFor("any.address")
	if err != nil {
		t.Fatal(err)
	}
	check("dla", s.DeadLetterAddress, "DLQ")
	check("auto-delete", s.AutoDeleteQueues, false)
	check("history", s.MessageCounterHistoryDayLimit, 10)
	kinds := map[WarningKind]int{}
	for _, w := range warns {
		kinds[w.Kind]++
	}
	check("insecure warnings", kinds[Insecure], 1) // the guest module
	check("odd warnings", kinds[Odd], 1)           // PAGE acts as BLOCK
	if kinds[NoEffect] == 0 {
		t.Error("no warning about elements without effect")
	}
}

func TestGoldenVariants(t *testing.T) {
	in, _, err := loadGolden(t, "15-retention-java", true)
	if err != nil {
		t.Fatal(err)
	}
	r := in.Broker.Journal.Retention
	if r.Directory != "./d2/retention" || r.Duration().Hours() != 72 || r.StorageLimit != 2<<30 {
		t.Errorf("retention %+v", r)
	}
	if in.Profile.MaxHeap != 512<<20 || in.Profile.Properties["foo"] != "bar" || in.Broker.Journal.DeviceBlockSize != 512 {
		t.Errorf("profile %+v", in.Profile)
	}
	in, _, err = loadGolden(t, "06-clustered", true)
	if err != nil {
		t.Fatal(err)
	}
	cc := in.Broker.ClusterConnections[0]
	if cc.Balancing() != BalanceStrict || cc.MaxHops != 2 || cc.DiscoveryGroup != "dg-group1" || in.Broker.ClusterPassword != "cp" || in.Broker.Connector("artemis").URL.Port != 61616 {
		t.Errorf("cluster %+v", cc)
	}
	if bg := in.Broker.BroadcastGroups[0]; bg.GroupAddress != "231.7.7.7" || bg.BroadcastPeriod.Seconds() != 5 || bg.ConnectorRefs[0] != "artemis" {
		t.Errorf("broadcast group %+v", bg)
	}
	for name, kind := range map[string]HAKind{"01-default-silent": PrimaryOnly, "07-shared-store-primary": SharedStorePrimary, "08-shared-store-backup": SharedStoreBackup, "09-replicated-primary": ReplicationPrimaryVoting, "10-replicated-backup": ReplicationBackupVoting} {
		in, _, err := loadGolden(t, name, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := in.Broker.HAPolicy.Kind(); got != kind {
			t.Errorf("%s: %s, want %s", name, got, kind)
		}
	}
	in, _, err = loadGolden(t, "17-security-manager-basic", false)
	if err != nil {
		t.Fatal(err)
	}
	if in.Bootstrap.SecurityManager.Properties["bootstrapUser"] != "admin" || len(in.Login.Realms) != 0 {
		t.Errorf("security manager %+v", in.Bootstrap)
	}
	in, _, err = loadGolden(t, "16-ssl-console", true)
	if err != nil {
		t.Fatal(err)
	}
	if b := in.Bootstrap.Web.Bindings[0]; !b.ClientAuth || b.KeyStorePassword != "kp" || !b.SNIHostCheck {
		t.Errorf("binding %+v", b)
	}
}
