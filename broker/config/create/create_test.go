package create

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/saranga-mq/saranga/broker/config"
)

const hash = "ENC(1024:00:00)"

func ns(n int64) *int64 { return &n }

// The flags of the goldens: each was made by artemis create --silent --user admin
// --password admin with them. Without a login flag it lets anonymous users in.
var goldens = map[string]Options{
	"01-default-silent":         {AllowAnonymous: true},
	"02-require-login-nio":      {Journal: NIO},
	"03-allow-anonymous-mapped": {AllowAnonymous: true, Journal: Mapped},
	"04-no-web-relax":           {AllowAnonymous: true, NoWeb: true, RelaxJolokia: true},
	"05-host-ports-name":        {AllowAnonymous: true, Host: "10.1.2.3", HTTPHost: "0.0.0.0", HTTPPort: 8080, DefaultPort: 5000, PortOffset: 10, Name: "mybroker", RelaxJolokia: true},
	"06-clustered":              {AllowAnonymous: true, Clustered: true, ClusterUser: "cu", ClusterPassword: "cp", Host: "127.0.0.1", MaxHops: 2, MessageLoadBalancing: "STRICT"},
	"07-shared-store-primary":   {AllowAnonymous: true, SharedStore: true, FailoverOnShutdown: true, Clustered: true, ClusterUser: "cu", ClusterPassword: "cp", Host: "127.0.0.1"},
	"08-shared-store-backup":    {AllowAnonymous: true, SharedStore: true, Backup: true, Clustered: true, ClusterUser: "cu", ClusterPassword: "cp", Host: "127.0.0.1"},
	"09-replicated-primary":     {AllowAnonymous: true, Replicated: true, Clustered: true, ClusterUser: "cu", ClusterPassword: "cp", Host: "127.0.0.1"},
	"10-replicated-backup":      {AllowAnonymous: true, Replicated: true, Backup: true, Clustered: true, ClusterUser: "cu", ClusterPassword: "cp", Host: "127.0.0.1"},
	"11-static-cluster":         {AllowAnonymous: true, StaticCluster: "tcp://h1:61616,tcp://h2:61616", ClusterUser: "cu", ClusterPassword: "cp", Host: "127.0.0.1"},
	"12-jdbc":                   {AllowAnonymous: true, JDBC: &JDBC{}},
	"13-minimal-acceptors":      {AllowAnonymous: true, NoAMQPAcceptor: true, NoHornetQAcceptor: true, NoMQTTAcceptor: true, NoSTOMPAcceptor: true, DisablePersistence: true},
	"14-queues-addresses":       {AllowAnonymous: true, Queues: "q1,q2:multicast", Addresses: "a1,a2", AutoDelete: true, NoFsync: true, Blocking: true, GlobalMaxMessages: 1000, GlobalMaxSize: "50M"},
	"15-retention-java":         {AllowAnonymous: true, JournalRetention: 3, JournalRetentionMaxBytes: "2G", JavaOptions: []string{"-Dfoo=bar"}, JavaMemory: "512M", JournalDeviceBlockSize: 512, Data: "./d2"},
	"16-ssl-console":            {AllowAnonymous: true, SSLKey: "ks.p12", SSLKeyPassword: "kp", SSLTrust: "ts.p12", SSLTrustPassword: "tp", UseClientAuth: true},
	"17-security-manager-basic": {AllowAnonymous: true, BasicSecurity: true, Encoding: "UTF-8"},
	"18-utf16":                  {AllowAnonymous: true, Encoding: "UTF-16"},
	"19-aio-autotune":           {AllowAnonymous: true, Journal: AIO, JournalBufferTimeout: ns(2584000), PageSyncTimeout: ns(2264000)},
	"20-broker-properties":      {AllowAnonymous: true, SupportAdvisory: true, SuppressInternalManagementObjects: true, Role: "r1", DisablePersistence: true},
	"21-windows":                {AllowAnonymous: true, Windows: true},
	"22-cygwin":                 {AllowAnonymous: true},
	"23-ping":                   {AllowAnonymous: true, Ping: "10.0.0.1,10.0.0.2", NoAutoCreate: true, JavaMemory: "512M"},
}

// golden returns the files of a golden etc folder.
func golden(t *testing.T, name string) map[string][]byte {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "etc", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if files[filepath.Base(h.Name)], err = io.ReadAll(tr); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func plan(t *testing.T, name string) []File {
	t.Helper()
	o := goldens[name]
	o.Directory, o.Home, o.User, o.PasswordHash = "/opt/"+name, "/opt/apache-artemis", "admin", hash
	files, err := Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// text decodes UTF-8 and UTF-16 with a byte order mark.
func text(data []byte) string {
	if !bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return string(data)
	}
	var units []uint16
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, uint16(data[i])<<8|uint16(data[i+1]))
	}
	return string(utf16.Decode(units))
}

// lines flattens XML to one line per element, attribute and text, without
// comments and schema locations.
func lines(t *testing.T, data []byte) []string {
	t.Helper()
	var out, path []string
	d := xml.NewDecoder(strings.NewReader(text(data)))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			path = append(path, x.Name.Local)
			out = append(out, strings.Join(path, "/"))
			for _, a := range x.Attr {
				value := a.Value
				if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || a.Name.Local == "schemaLocation" {
					continue
				}
				if strings.HasPrefix(value, "ENC(1024:") {
					value = hash
				}
				out = append(out, strings.Join(path, "/")+"/@"+a.Name.Local+"="+value)
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if s := strings.TrimSpace(string(x)); s != "" {
				out = append(out, strings.Join(path, "/")+"="+s)
			}
		}
	}
}

func properties(t *testing.T, data []byte) map[string]string {
	t.Helper()
	list, err := config.ParseProperties(strings.TrimPrefix(text(data), "\uFEFF"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range list {
		out[p.Key] = p.Value
		if strings.HasPrefix(p.Value, "ENC(1024:") {
			out[p.Key] = hash
		}
	}
	return out
}

// assignments returns the lines of a profile that set something, as they stand.
func assignments(data []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text(data)) {
		line = strings.TrimSpace(line)
		line = strings.TrimPrefix(line, "set ")
		if _, set, ok := strings.Cut(line, "(set "); ok {
			line = strings.TrimSuffix(set, ")")
		}
		if name, value, ok := strings.Cut(line, "="); ok && !strings.ContainsAny(name, "#[ ") && name != "SARANGA_BIN" {
			out[name] = strings.Join(strings.Fields(value), " ")
		}
	}
	return out
}

func TestPlanHasTheValuesOfArtemis(t *testing.T) {
	archives, err := filepath.Glob("../testdata/etc/*.tar.gz")
	if err != nil || len(archives) != len(goldens) {
		t.Fatalf("%d goldens, %d cases (%v)", len(archives), len(goldens), err)
	}
	for name := range goldens {
		t.Run(name, func(t *testing.T) {
			want := golden(t, name)
			planned := map[string]File{}
			for _, f := range plan(t, name) {
				if filepath.Base(filepath.Dir(f.Path)) == "etc" {
					planned[filepath.Base(f.Path)] = f
				}
			}
			for file, data := range want {
				f, ok := planned[file]
				if !ok {
					t.Errorf("%s is missing", file)
					continue
				}
				delete(planned, file)
				var g, w any
				switch {
				case strings.HasSuffix(file, ".xml"):
					g, w = lines(t, f.Data), lines(t, data)
				case strings.HasSuffix(file, ".properties"):
					g, w = properties(t, f.Data), properties(t, data)
				case file == "login.config":
					gl, err := config.ParseLogin(file, strings.TrimPrefix(text(f.Data), "\uFEFF"), nil)
					if err != nil {
						t.Fatal(err)
					}
					wl, err := config.ParseLogin(file, strings.TrimPrefix(text(data), "\uFEFF"), nil)
					if err != nil {
						t.Fatal(err)
					}
					g, w = gl.Realms, wl.Realms
				default:
					g, w = assignments(f.Data), assignments(data)
				}
				if !reflect.DeepEqual(g, w) {
					t.Errorf("%s:\ngot  %v\nwant %v", file, g, w)
				}
			}
			for file := range planned {
				t.Errorf("%s is not among Artemis' files", file)
			}
		})
	}
}

func TestPlanLayout(t *testing.T) {
	// The files and folders of golden/config/etc/*.json.
	want := map[string]fs.FileMode{
		"": fs.ModeDir | 0o755, "bin": fs.ModeDir | 0o755, "etc": fs.ModeDir | 0o755, "data": fs.ModeDir | 0o755, "lib": fs.ModeDir | 0o755, "log": fs.ModeDir | 0o755, "tmp": fs.ModeDir | 0o755,
		"bin/artemis": 0o755, "bin/artemis-service": 0o755,
		"etc/artemis-roles.properties": 0o644, "etc/artemis-users.properties": 0o600, "etc/artemis-utility.profile": 0o644, "etc/artemis.profile": 0o644,
		"etc/bootstrap.xml": 0o600, "etc/broker.xml": 0o600, "etc/jolokia-access.xml": 0o644, "etc/log4j2-utility.properties": 0o644, "etc/log4j2.properties": 0o644, "etc/login.config": 0o644, "etc/management.xml": 0o644,
	}
	got := map[string]fs.FileMode{}
	for _, f := range plan(t, "01-default-silent") {
		got[strings.TrimPrefix(strings.TrimPrefix(f.Path, "/opt/01-default-silent"), "/")] = f.Mode
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	files, err := Plan(Options{Directory: "/opt/i", Etc: "/etc/i", Data: "/var/i", User: "u", PasswordHash: hash})
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, f := range files {
		paths[f.Path] = true
	}
	if !paths["/etc/i/broker.xml"] || !paths["/var/i"] || paths["/opt/i/etc"] || paths["/opt/i/data"] {
		t.Errorf("%v", paths)
	}
}

func TestPlanRefuses(t *testing.T) {
	for what, change := range map[string]func(*Options){
		"relative folder":          func(o *Options) { o.Directory = "x" },
		"no user":                  func(o *Options) { o.User = "" },
		"no password":              func(o *Options) { o.PasswordHash = "" },
		"cluster without password": func(o *Options) { o.Clustered, o.ClusterUser = true, "u" },
		"two HA policies":          func(o *Options) { o.Replicated, o.SharedStore = true, true },
		"backup of nothing":        func(o *Options) { o.Backup = true },
		"bad queue type":           func(o *Options) { o.Queues = "q:unicast" },
		"queue without name":       func(o *Options) { o.Queues = ":anycast" },
		"port out of range":        func(o *Options) { o.PortOffset = 10000 },
		"unknown encoding":         func(o *Options) { o.Encoding = "EBCDIC" },
		"character not encodable":  func(o *Options) { o.Encoding, o.Name = "US-ASCII", "é" },
		"client auth alone":        func(o *Options) { o.UseClientAuth = true },
		"retention size alone":     func(o *Options) { o.JournalRetentionMaxBytes = "1G" },
	} {
		o := Options{Directory: "/opt/x", User: "u", PasswordHash: hash}
		change(&o)
		if _, err := Plan(o); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// What a planned instance says is read back by package config, whatever
// characters names have.
func TestPlannedInstanceLoads(t *testing.T) {
	for _, encoding := range []string{"UTF-8", "UTF-16"} {
		dir := filepath.Join(t.TempDir(), "my 'inst' & co")
		files, err := Plan(Options{Directory: dir, Name: `a<b>&"c"`, User: "us er=x", Role: `ro"le,r2`, PasswordHash: hash, AllowAnonymous: true,
			Queues: "q<1", Blocking: true, JavaOptions: []string{`-Dq="x"`, "-Dv=1"}, Saranga: "/opt/it's/saranga", Encoding: encoding})
		if err != nil {
			t.Fatal(err)
		}
		if err := Apply(files, false); err != nil {
			t.Fatal(err)
		}
		in, warns, err := config.Load(dir, config.Options{Env: func(string) (string, bool) { return "", false }, WorkDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		insecure := 0
		for _, w := range warns {
			if w.Kind == config.Insecure {
				insecure++
			}
			if w.Kind == config.Odd {
				t.Errorf("unexpected: %v", w)
			}
		}
		guest := in.Login.Realm("activemq").Modules[1].Options
		if in.Broker.Name != `a<b>&"c"` || in.Broker.Addresses[2].Name != "q<1" || guest["org.apache.activemq.jaas.guest.user"] != "us er=x" || guest["org.apache.activemq.jaas.guest.role"] != `ro"le,r2` || insecure != 1 {
			t.Errorf("%+v %v", in.Broker.Addresses, guest)
		}
		if in.Profile.Properties["q"] != `"x"` || in.Profile.Properties["v"] != "1" || in.Profile.MaxHeap != 2<<30 || in.Profile.Vars["SARANGA_BIN"] != "/opt/it's/saranga" {
			t.Errorf("%+v", in.Profile)
		}
		data, err := os.ReadFile(filepath.Join(dir, "etc", "artemis-users.properties"))
		if err != nil {
			t.Fatal(err)
		}
		if got := properties(t, data); !reflect.DeepEqual(got, map[string]string{"us er=x": hash}) {
			t.Errorf("users %v", got)
		}
		var exists *Exists
		if err := Apply(files, false); !errors.As(err, &exists) || exists.Error() != "The file '"+dir+"/etc/login.config' already exists.  Use --force to overwrite." {
			t.Errorf("%v", err)
		}
		if err := os.Chmod(filepath.Join(dir, "etc", "broker.xml"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := Apply(files, true); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "etc", "broker.xml")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}
}

// install makes an instance whose program writes down how it was started.
func install(t *testing.T, program string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my inst")
	bin := filepath.Join(t.TempDir(), "saranga")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"+program), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := Plan(Options{Directory: dir, User: "u", PasswordHash: hash, Saranga: bin, JavaOptions: []string{"-Dx=y"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(files, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, env []string, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestArtemisScript(t *testing.T) {
	dir := install(t, `echo "$ARTEMIS_INSTANCE|$ARTEMIS_INSTANCE_ETC|$1|$2|$JAVA_ARGS"`+"\nexit 3\n")
	artemis := filepath.Join(dir, "bin", "artemis")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(artemis, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{artemis, link} {
		out, code := run(t, nil, name, "run", "a b")
		if code != 3 || !strings.HasPrefix(out, dir+"|"+dir+"/etc|run|a b|-XX") || !strings.Contains(out, "-Xmx2G") || !strings.Contains(out, " -Dx=y ") {
			t.Errorf("%d %s", code, out)
		}
	}
	if out, _ := run(t, nil, artemis, "queue", "stat"); !strings.Contains(out, "|queue|stat|-Dlog4j2.disableJmx") {
		t.Errorf("another command: %s", out)
	}
	if out, _ := run(t, []string{"JAVA_ARGS=-Xmx1M"}, artemis, "run"); !strings.HasSuffix(out, "|-Xmx1M\n") {
		t.Errorf("JAVA_ARGS from outside: %s", out)
	}
	if out, code := run(t, []string{"ARTEMIS_PROFILE=none"}, artemis, "run"); code != 1 || !strings.Contains(out, "does not exist") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := run(t, []string{"SARANGA_BIN=/no/such"}, artemis, "run"); code != 1 || !strings.Contains(out, "not found") {
		t.Errorf("%d %s", code, out)
	}
}

func TestServiceScript(t *testing.T) {
	dir := install(t, "trap 'exit 0' TERM\nwhile :; do sleep 0.1; done\n")
	service := filepath.Join(dir, "bin", "artemis-service")
	step := func(command string, code int, want string) {
		t.Helper()
		out, got := run(t, nil, service, command)
		if got != code || !strings.Contains(out, want) {
			t.Fatalf("%s: %d %s, want %d and %q", command, got, out, code, want)
		}
	}
	step("status", 1, "stopped")
	step("stop", 1, "not running")
	step("start", 0, "Started")
	step("status", 0, "running")
	step("start", 1, "already running")
	step("restart", 0, "Started")
	step("stop", 0, "Stopped")
	step("status", 1, "stopped")
	step("start", 0, "Started")
	step("force-stop", 0, "Stopped")
	step("nonsense", 2, "Usage")
}
