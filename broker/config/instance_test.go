package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// edit replaces text in a file of an instance.
func edit(t *testing.T, file, old, new string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLoadFaults(t *testing.T) {
	for _, x := range []struct {
		what   string
		change func(t *testing.T, etc string)
		file   string
		line   int
		want   string
	}{
		{"no bootstrap", func(t *testing.T, etc string) { os.Remove(filepath.Join(etc, "bootstrap.xml")) }, "bootstrap.xml", 0, "no such file"},
		{"no broker.xml", func(t *testing.T, etc string) { os.Remove(filepath.Join(etc, "broker.xml")) }, "broker.xml", 0, "no such file"},
		{"no login.config", func(t *testing.T, etc string) { os.Remove(filepath.Join(etc, "login.config")) }, "login.config", 0, "no such file"},
		{"malformed bootstrap", func(t *testing.T, etc string) { edit(t, filepath.Join(etc, "bootstrap.xml"), "</broker>", "") }, "bootstrap.xml", 38, "EOF"},
		{"unknown bootstrap element", func(t *testing.T, etc string) {
			edit(t, filepath.Join(etc, "bootstrap.xml"), "<web ", "<frob/><web ")
		}, "bootstrap.xml", 29, "no such element"},
		{"realm not defined", func(t *testing.T, etc string) {
			edit(t, filepath.Join(etc, "bootstrap.xml"), `domain="activemq"`, `domain="other"`)
		}, "bootstrap.xml", 0, "no realm other"},
		{"foreign security manager", func(t *testing.T, etc string) {
			edit(t, filepath.Join(etc, "bootstrap.xml"), `<jaas-security domain="activemq"/>`, `<security-manager class-name="a.B"/>`)
		}, "bootstrap.xml", 21, "needs Java"},
		{"bad login.config", func(t *testing.T, etc string) { edit(t, filepath.Join(etc, "login.config"), "sufficient", "perhaps") }, "login.config", 19, "required"},
		{"bad management.xml", func(t *testing.T, etc string) {
			edit(t, filepath.Join(etc, "management.xml"), "<allowlist>", "<frob/><allowlist>")
		}, "management.xml", 21, "no such element"},
		{"broker.xml elsewhere", func(t *testing.T, etc string) {
			edit(t, filepath.Join(etc, "bootstrap.xml"), "file:"+etc+"//broker.xml", "http://h/broker.xml")
		}, "bootstrap.xml", 0, "not a file"},
	} {
		t.Run(x.what, func(t *testing.T) {
			dir := unpack(t, "01-default-silent")
			x.change(t, filepath.Join(dir, "etc"))
			in, _, err := Load(dir, Options{Env: noEnv, WorkDir: dir})
			errs, _ := err.(Errors)
			if in != nil || len(errs) != 1 {
				t.Fatalf("%v", err)
			}
			if e := errs[0]; filepath.Base(e.File) != x.file || e.Line != x.line || !strings.Contains(e.Problem, x.want) || e.Remedy == "" {
				t.Errorf("%v, want %s:%d and %q", e, x.file, x.line, x.want)
			}
		})
	}
	if _, _, err := Load(t.TempDir(), Options{Env: noEnv}); err == nil {
		t.Error("an empty folder was loaded")
	}
}

func TestLoadElsewhere(t *testing.T) {
	dir := unpack(t, "01-default-silent")
	etc := filepath.Join(t.TempDir(), "my etc")
	if err := os.Rename(filepath.Join(dir, "etc"), etc); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(etc, "bootstrap.xml"), "file:"+dir+"/etc//broker.xml", "${artemis.URI.instance.etc}broker.xml")
	edit(t, filepath.Join(etc, "artemis.profile"), "-Xmx2G", "-Xmx64M -Dname=n1 -Ddir=${ARTEMIS_DATA_DIR}")
	edit(t, filepath.Join(etc, "broker.xml"), "<name>0.0.0.0</name>", "<name>${name}</name>")
	edit(t, filepath.Join(etc, "broker.xml"), ">data/journal<", ">${artemis.instance}/j<")
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "artemis"), []byte("#!/bin/sh\nARTEMIS_INSTANCE_ETC='"+etc+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Etc: etc}} {
		o.Env, o.WorkDir = noEnv, t.TempDir()
		in, _, err := Load(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if in.Etc != etc || in.Broker.Name != "n1" || in.Path(in.Broker.Journal.Directory) != filepath.Join(dir, "j") || in.Profile.MaxHeap != 64<<20 {
			t.Errorf("%+v", in)
		}
		if v, _ := in.Property("dir"); v != "/opt/01-default-silent/data" {
			t.Errorf("dir = %q", v)
		}
	}
	in, _, err := Load(dir, Options{Env: noEnv, WorkDir: etc, Define: map[string]string{"name": "n2"}, Journal: "/other", Broker: "broker.xml"})
	if err != nil || in.Broker.Name != "n2" || in.Broker.Journal.Directory != "/other" {
		t.Errorf("%v", err)
	}
}

func TestReload(t *testing.T) {
	dir := unpack(t, "01-default-silent")
	in, _, err := Load(dir, Options{Env: noEnv, WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "etc", "broker.xml")
	edit(t, file, "<addresses>", `<frobnicate/><diverts><divert name="d"><address>a</address><forwarding-address>b</forwarding-address></divert></diverts><addresses><address name="new"><anycast><queue name="nq"/></anycast></address>`)
	edit(t, file, `<queue name="DLQ" />`, `<queue name="DLQ" max-consumers="3"/>`)
	edit(t, file, `<permission type="send" roles="amq"/>`, `<permission type="send" roles="amq,other"/>`)
	edit(t, file, `<address-setting match="#">`, `<address-setting match="x"><max-delivery-attempts>1</max-delivery-attempts></address-setting><address-setting match="#">`)
	edit(t, file, `<max-disk-usage>90`, `<max-disk-usage>91`)
	edit(t, file, `<acceptor name="mqtt">`, `<acceptor name="mqtt2">`)
	next, warns, err := in.Reread()
	if err != nil {
		t.Fatalf("an element that doesn't belong keeps the reload from applying the rest: %v", err)
	}
	found := false
	for _, w := range warns {
		found = found || w.Element == "frobnicate" && w.Line > 0
	}
	if !found {
		t.Errorf("no warning about the element: %v", warns)
	}
	c := Reload(in.Broker, next.Broker)
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"address", c.Addresses.Added[0].Name, "new"},
		{"address queues", c.Addresses.Added[0].Queues == nil, true},
		{"addresses changed", len(c.Addresses.Changed) + len(c.Addresses.Removed), 0},
		{"queue", c.Queues.Added[0].Name, "nq"},
		{"queue changed", *c.Queues.Changed[0].New.MaxConsumers, 3},
		{"security", c.SecuritySettings.Changed[0].New.Roles[Send], []string{"amq", "other"}},
		{"setting", c.AddressSettings.Added[0].Match, "x"},
		{"settings", len(c.AddressSettings.Changed) + len(c.AddressSettings.Removed), 0},
		{"divert", c.Diverts.Added[0].Name, "d"},
		{"acceptor", []string{c.Acceptors.Added[0].Name, c.Acceptors.Removed[0].Name}, []string{"mqtt2", "mqtt"}},
		{"restart", c.Restart, []string{"max-disk-usage"}},
		{"bridges", c.Bridges.Empty(), true},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s = %v, want %v", x.what, x.got, x.want)
		}
	}
	if back := Reload(next.Broker, in.Broker); back.Queues.Removed[0].Name != "nq" || back.Diverts.Removed[0].Name != "d" {
		t.Errorf("%+v", back)
	}
	if same := Reload(in.Broker, in.Broker); !reflect.DeepEqual(same, Changes{}) {
		t.Errorf("no change gives %+v", same)
	}
	edit(t, file, `<max-disk-usage>91`, `<max-disk-usage>910`)
	if _, _, err := in.Reread(); err == nil {
		t.Error("a bad value was taken over")
	}
}

func TestReloadWithoutPropertiesFile(t *testing.T) {
	dir := unpack(t, "01-default-silent")
	file := filepath.Join(dir, "etc", "broker.properties")
	if err := os.WriteFile(file, []byte("name=x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in, _, err := Load(dir, Options{Env: noEnv, WorkDir: dir})
	if err != nil || in.Modified().IsZero() {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := in.Reread(); err == nil {
		t.Error("the reload goes on without the properties file")
	}
}

func TestMemory(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for _, x := range []struct {
		what string
		fs   fstest.MapFS
		want Bytes
	}{
		{"nothing known", fstest.MapFS{}, 0},
		{"machine", fstest.MapFS{"proc/meminfo": file("MemTotal:       2000 kB\nMemFree: 1 kB\n")}, 2000 << 10},
		{"cgroup 2", fstest.MapFS{"proc/meminfo": file("MemTotal: 2000 kB\n"), "proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/memory.max": file("1024000\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n")}, 1024000},
		{"cgroup 1", fstest.MapFS{"proc/meminfo": file("MemTotal: 2000 kB\n"), "proc/self/cgroup": file("5:cpu:/x\n4:memory:/a\n"), "sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("512000\n")}, 512000},
		{"container", fstest.MapFS{"sys/fs/cgroup/memory.max": file("4096\n")}, 4096},
		{"larger limit", fstest.MapFS{"proc/meminfo": file("MemTotal: 4 kB\n"), "sys/fs/cgroup/memory.max": file("409600\n")}, 4096},
	} {
		if got := memory(x.fs); got != x.want {
			t.Errorf("%s: %d, want %d", x.what, got, x.want)
		}
	}
	c := Default()
	for _, x := range []struct{ set, heap, memory, want Bytes }{{-1, 2 << 30, 8 << 30, 1 << 30}, {-1, 0, 8 << 30, 2 << 30}, {77, 2 << 30, 8 << 30, 77}, {-1, 0, 0, 0}} {
		c.GlobalMaxSize = x.set
		if got := c.EffectiveGlobalMaxSize(x.heap, x.memory); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}

func TestOldFormsOfBootstrapAndManagement(t *testing.T) {
	p := &parser{report: &report{}, lookup: noEnv}
	b := p.bootstrap("bootstrap.xml", `<broker xmlns="http://activemq.apache.org/schema"><jaas-security domain="a" certificate-domain="c"/><server configuration="file:/x/broker.xml"/><web path="web" bind="http://localhost:8161" keyStorePassword="ENC(-69b0f82ea52cd8ee)"><app name="console" url="console" war="c.war"/></web></broker>`)
	if p.err() != nil || b.Web.Bindings[0].URI != "http://localhost:8161" || b.Web.Bindings[0].Apps[0].WAR != "c.war" || b.Web.Bindings[0].KeyStorePassword != "bob" || b.JAAS.CertificateDomain != "c" {
		t.Errorf("%v %+v", p.err(), b.Web)
	}
	m := p.management("management.xml", `<management-context xmlns="http://activemq.apache.org/schema"><connector connector-port="1099" x="y"/><authorisation><whitelist><entry domain="d" key="type=*"/></whitelist><role-access><match domain="o" key="a=b"><access method="get*" roles="r1, r2"/></match></role-access></authorisation></management-context>`)
	if p.err() != nil || m.AllowList[0] != (ObjectMatch{"d", "type=*"}) || !reflect.DeepEqual(m.RoleAccess[0].Access[0], MethodAccess{"get*", []string{"r1", "r2"}}) {
		t.Errorf("%v %+v", p.err(), m)
	}
	var kinds []WarningKind
	for _, w := range p.warns {
		kinds = append(kinds, w.Kind)
	}
	if !reflect.DeepEqual(kinds, []WarningKind{NoEffect, NoEffect, Deprecated}) {
		t.Errorf("warnings %v", p.warns)
	}
	if m := p.management("management.xml", `<management-context xmlns="http://activemq.apache.org/schema"/>`); m != nil || p.err() != nil {
		t.Errorf("a file that says nothing limits access: %v %v", m, p.err())
	}
}
