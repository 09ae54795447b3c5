package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What each flag writes, from spec config §13.1.
func TestCreateFlags(t *testing.T) {
	noInstance(t)
	for _, c := range []struct {
		flags string
		file  string
		want  string // a regular expression
	}{
		{"", "broker.xml", `<name>0.0.0.0</name>`},
		{"--name n", "broker.xml", `<name>n</name>`},
		{"--host 10.1.2.3", "broker.xml", `<name>10.1.2.3</name>`},
		{"--host 10.1.2.3", "broker.xml", `"artemis">tcp://10.1.2.3:61616`},
		{"--default-port 5000 --port-offset 10", "broker.xml", `"artemis">tcp://0.0.0.0:5010`},
		{"--port-offset 10", "broker.xml", `"amqp">tcp://0.0.0.0:5682`},
		{"--http-host h --http-port 8080 --port-offset 1", "bootstrap.xml", `uri="http://h:8081"`},
		{"--ssl-key k --ssl-key-password p", "bootstrap.xml", `uri="https://localhost:8161"[^>]*keyStorePath="k"[^>]*keyStorePassword="p"`},
		{"--ssl-key k --ssl-key-password p --use-client-auth --ssl-trust t --ssl-trust-password q", "bootstrap.xml", `clientAuth="true"`},
		{"--security-manager basic", "bootstrap.xml", `ActiveMQBasicSecurityManager`},
		{"--require-login", "login.config", `PropertiesLoginModule required`},
		{"--allow-anonymous", "login.config", `GuestLoginModule sufficient`},
		{"", "login.config", `GuestLoginModule sufficient`},
		{"--user u --role r1,r2", "artemis-roles.properties", `(?m)^r1 ?= ?u$`},
		{"--user u --password p", "artemis-users.properties", `(?m)^u ?= ?ENC\(1024:[0-9A-F]{64}:[0-9A-F]{128}\)$`},
		{"--role r1", "broker.xml", `type="send" roles="r1"`},
		{"--nio", "broker.xml", `<journal-type>NIO<`},
		{"--aio", "broker.xml", `<journal-type>ASYNCIO<`},
		{"--mapped", "broker.xml", `<journal-type>MAPPED<`},
		{"--no-fsync", "broker.xml", `(?s)<journal-type>MAPPED<.*<journal-datasync>false<`},
		{"--no-fsync --nio", "broker.xml", `<journal-type>NIO<`},
		{"--journal-device-block-size 512", "broker.xml", `<journal-device-block-size>512<`},
		{"--journal-retention 3 --journal-retention-max-bytes 2G", "broker.xml", `<journal-retention-directory[^>]*period="3"`},
		{"--disable-persistence", "broker.xml", `<persistence-enabled>false<`},
		{"--blocking", "broker.xml", `<address-full-policy>BLOCK<`},
		{"--paging", "broker.xml", `<address-full-policy>PAGE<`},
		{"--no-autocreate", "broker.xml", `<auto-create-queues>false<`},
		{"--autodelete", "broker.xml", `<auto-delete-queues>true<`},
		{"--queues q1,q2:multicast", "broker.xml", `(?s)<address name="q2">\s*<multicast>\s*<queue name="q2"`},
		{"--addresses a1", "broker.xml", `(?s)<address name="a1">\s*<multicast`},
		{"--global-max-size 50M --global-max-messages 1000", "broker.xml", `(?s)<global-max-size>50M<.*<global-max-messages>1000<|<global-max-messages>1000<.*<global-max-size>50M<`},
		{"--support-advisory --suppress-internal-management-objects", "broker.xml", `supportAdvisory=true;suppressInternalManagementObjects=true`},
		{"--clustered --cluster-user cu --cluster-password cp --max-hops 2 --message-load-balancing STRICT", "broker.xml", `(?s)<message-load-balancing>STRICT<.*<max-hops>2<`},
		{"--static-cluster tcp://h1:61616 --cluster-user cu --cluster-password cp", "broker.xml", `<static-connectors>`},
		{"--staticCluster tcp://h1:61616 --cluster-user cu --cluster-password cp", "broker.xml", `<static-connectors>`},
		{"--replicated --slave --cluster-user cu --cluster-password cp", "broker.xml", `(?s)<replication>\s*<backup`},
		{"--shared-store --backup --failover-on-shutdown --cluster-user cu --cluster-password cp", "broker.xml", `(?s)<shared-store>\s*<backup`},
		{"--quorum-member a=127.0.0.1:1 --quorum-member b=127.0.0.1:2 --quorum-id b", "saranga.yaml",
			`(?s)^#[^\n]*\nquorum:\n  cluster: saranga\n  member: b\n  listen: 127.0.0.1:2\n  members:\n    - \{id: a, address: 127.0.0.1:1\}\n    - \{id: b, address: 127.0.0.1:2\}\n$`},
		{"--quorum-member a=h.example:1 --quorum-id a --quorum-cluster x", "saranga.yaml", `(?s)cluster: x\n.*  tls: \{certificate: etc/quorum.pem, key: etc/quorum.key, ca: etc/quorum-ca.pem\}\n$`},
		{"--quorum-member a=127.0.0.1:1 --quorum-id a --data /d2 --quorum-zookeeper 10.0.0.1:2181 --quorum-zookeeper-allow 10.0.0.0/24", "saranga.yaml",
			`(?s)  data: /d2/quorum\n.*zookeeper:\n  listen: 10.0.0.1:2181\n  allow: \[10.0.0.0/24\]\n$`},
		{"--quorum-member a=127.0.0.1:1 --quorum-id a --replicated --cluster-user cu --cluster-password cp", "broker.xml", `(?s)<replication>\s*<primary>\s*<!--[^>]*-->\s*<manager/>\s*</primary>`},
		{"--quorum-member a=127.0.0.1:1 --quorum-id a --replicated --backup --cluster-user cu --cluster-password cp", "broker.xml", `(?s)<replication>\s*<backup>\s*<!--[^>]*-->\s*<manager/>\s*</backup>`},
		{"--jdbc --jdbc-message-table-name M", "broker.xml", `<message-table-name>M<`},
		{"--ping 10.0.0.1", "broker.xml", `<network-check-list>10.0.0.1<`},
		{"--java-memory 512M --java-options -Da=b --java-options -Dc=d", "artemis.profile", `-Xmx512M.* -Da=b -Dc=d `},
		{"--java-utility-options -Da=b", "artemis-utility.profile", ` -Da=b `},
		{"--data d2", "artemis.profile", `ARTEMIS_DATA_DIR='?[^\n]*/d2`},
		{"--home /h", "artemis.profile", `ARTEMIS_HOME='?/h`},
	} {
		t.Run(c.flags, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "i")
			r := cli(t, "", append([]string{"create", dir, "--silent", "--no-autotune"}, strings.Fields(c.flags)...)...)
			if r.code != 0 {
				t.Fatalf("%+v", r)
			}
			if text := read(t, dir, "etc", c.file); !regexp.MustCompile(c.want).MatchString(text) {
				t.Errorf("%s has no %s:\n%s", c.file, c.want, text)
			}
		})
	}
}

// Artemis knows no acceptor of its own for a protocol with these.
func TestCreateWithoutAcceptors(t *testing.T) {
	noInstance(t)
	dir := filepath.Join(t.TempDir(), "i")
	cli(t, "", "create", dir, "--silent", "--no-autotune", "--no-amqp-acceptor", "--no-stomp-acceptor", "--no-mqtt-acceptor", "--no-hornetq-acceptor", "--no-web")
	if n := strings.Count(read(t, dir, "etc", "broker.xml"), "<acceptor name="); n != 1 {
		t.Errorf("%d acceptors", n)
	}
	if strings.Contains(read(t, dir, "etc", "bootstrap.xml"), "<web") {
		t.Error("there is a <web>")
	}
}

func TestCreateRefuses(t *testing.T) {
	noInstance(t)
	for _, c := range []struct{ flags, err string }{
		{"--clustered", "--cluster-user is needed (What is the user of the cluster, the same on all nodes?)"},
		{"--security-manager none", "Invalid value for option '--security-manager': 'none' is neither jaas nor basic"},
		{"--nio --aio", "if any flags in the group [nio aio mapped] are set none of the others can be; [aio nio] were all set"},
		{"--require-login --allow-anonymous", "if any flags in the group [allow-anonymous require-login] are set none of the others can be; [allow-anonymous require-login] were all set"},
		{"--backup", "create: a backup has to be either replicated or on a shared store"},
	} {
		dir := filepath.Join(t.TempDir(), "i")
		r := cli(t, "", append([]string{"create", dir, "--silent", "--no-autotune"}, strings.Fields(c.flags)...)...)
		if r.code != 1 || firstLine(r.err) != c.err {
			t.Errorf("%s: %+v", c.flags, r)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: something was written", c.flags)
		}
	}
}

func TestCreateOutput(t *testing.T) {
	noInstance(t)
	dir := filepath.Join(t.TempDir(), "i")
	args := []string{"create", dir, "--silent", "--user", "admin", "--password", "admin", "--require-login", "--no-autotune"}
	r := cli(t, "", args...)
	// golden/config/etc/02-require-login-nio.stdout.txt, with this program's name
	want := "Creating Saranga instance at: " + dir + "\n\nYou can now start the broker by executing:  \n\n   \"" + dir + "/bin/artemis\" run\n\n" +
		"Or you can run the broker in the background using:\n\n   \"" + dir + "/bin/artemis-service\" start\n\n"
	if r.code != 0 || r.out != want || r.err != "" {
		t.Errorf("%+v", r)
	}
	before := read(t, dir, "etc", "artemis-users.properties")
	r = cli(t, "", args...)
	if r.code != 1 || r.err != "The file '"+dir+"/etc/login.config' already exists.  Use --force to overwrite.\n" {
		t.Errorf("%+v", r)
	}
	if read(t, dir, "etc", "artemis-users.properties") != before {
		t.Error("the refused command wrote something")
	}
	if r = cli(t, "", append(args, "--force")...); r.code != 0 || read(t, dir, "etc", "artemis-users.properties") == before {
		t.Errorf("%+v", r)
	}
}

// Without a password a random one is made, told once and kept where only the owner can read it; the user can log in with it.
func TestCreateMakesPassword(t *testing.T) {
	noInstance(t)
	dir := filepath.Join(t.TempDir(), "i")
	r := cli(t, "", "create", dir, "--silent", "--no-autotune")
	password := strings.TrimSpace(read(t, dir, "etc", passwordFile))
	if len(password) < 20 || !strings.Contains(r.out, "The password of user admin is "+password+" ") || strings.Count(r.out, password) != 1 {
		t.Errorf("password %q\n%s", password, r.out)
	}
	for _, name := range []string{passwordFile, "artemis-users.properties", "broker.xml", "bootstrap.xml"} {
		if info, err := os.Stat(filepath.Join(dir, "etc", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if !strings.Contains(r.out, "WARNING: clients without a login are let in as user admin, who may do everything (role amq).") {
		t.Errorf("nothing is said of anonymous clients:\n%s", r.out)
	}
}

func TestCreateAsks(t *testing.T) {
	noInstance(t)
	dir := filepath.Join(t.TempDir(), "i")
	r := cli(t, "boss\nsecret\nmaybe\nn\n", "create", dir, "--no-autotune")
	const asked = "\n--user:\nWhat is the name of the first user?\n\n--password:\nWhat is its password? (empty: a random one)\n" +
		"\n--allow-anonymous | --require-login:\nAllow anonymous access?, valid values are Y, N, True, False\n"
	if r.code != 0 || !strings.HasPrefix(r.out, asked) || strings.Contains(r.out, "WARNING") {
		t.Errorf("%+v", r)
	}
	if strings.Contains(read(t, dir, "etc", "login.config"), "Guest") || !strings.HasPrefix(read(t, dir, "etc", "artemis-users.properties"), "#") && !strings.Contains(read(t, dir, "etc", "artemis-users.properties"), "boss") {
		t.Error("the answers did not count")
	}
	if r := cli(t, "boss\n", "create", filepath.Join(t.TempDir(), "i"), "--no-autotune"); r.code != 1 || firstLine(r.err) != "No line found" {
		t.Errorf("%+v", r)
	}
}

// The numbers that Artemis printed for the times it measured (golden 19-aio-autotune, spec cli §4.11).
func TestTuning(t *testing.T) {
	for _, c := range []struct {
		try    time.Duration
		nanos  int64
		writes string
	}{{646 * time.Millisecond, 2584000, "0.39"}, {44 * time.Millisecond, 176000, "5.68"}, {50 * time.Millisecond, 200000, "5"}, {time.Millisecond, 4000, "250"}} {
		if n, w := nanosPerWrite(c.try), writesPerMilli(c.try); n != c.nanos || w != c.writes {
			t.Errorf("%v: %d %s, want %d %s", c.try, n, w, c.nanos, c.writes)
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	for _, direct := range []bool{false, true} {
		took, err := measureDisk(dir, direct, false, 1)
		if err != nil || took < time.Millisecond {
			t.Errorf("%v %v", took, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestCreateTunes(t *testing.T) {
	noInstance(t)
	dir := filepath.Join(t.TempDir(), "i")
	r := cli(t, "", "create", dir, "--silent")
	m := regexp.MustCompile(`\n\nAuto tuning journal \.\.\.\ndone! Your system can make [\d.]+ writes per millisecond, your journal-buffer-timeout will be (\d+)\n`).FindStringSubmatch(r.out)
	if m == nil {
		t.Fatalf("%+v", r)
	}
	if text := read(t, dir, "etc", "broker.xml"); !strings.Contains(text, "<journal-buffer-timeout>"+m[1]+"<") || !strings.Contains(text, "<page-sync-timeout>"+m[1]+"<") {
		t.Errorf("broker.xml has other values than %s", m[1])
	}
	if r := cli(t, "", "create", filepath.Join(t.TempDir(), "i"), "--silent", "--no-fsync"); !strings.Contains(r.out, "it will be 0\n") {
		t.Errorf("%+v", r)
	}
}
