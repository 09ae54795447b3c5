package create

import (
	"bytes"
	"embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"text/template"
)

// File is a file or folder to be written. Path is absolute. For a folder Mode has
// fs.ModeDir and Data is nil.
type File struct {
	Path string
	Mode fs.FileMode
	Data []byte
}

//go:embed templates/*.tmpl
var templates embed.FS

// Modes of what is created. A secret file is one with passwords in it, or where
// an operator will put some.
const (
	folder     = fs.ModeDir | 0o755
	plainFile  = 0o644
	secretFile = 0o600
	script     = 0o755
)

// Plan returns the folders and files of a new instance, folders first. It fails
// if the options contradict each other or lack something.
func Plan(o Options) ([]File, error) {
	v, err := newValues(o)
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	files := []File{{Path: o.Directory, Mode: folder}}
	for _, dir := range []string{"bin", v.EtcDir, v.DataDir, "lib", "log", "tmp"} {
		files = append(files, File{Path: v.path(dir), Mode: folder})
	}
	add := func(dir, name string, mode fs.FileMode) error {
		text, err := v.render(name)
		if err != nil {
			return err
		}
		data := []byte(text)
		if mode != script {
			if data, err = encode(text, o.Encoding); err != nil {
				return fmt.Errorf("create: %s: %w", name, err)
			}
		}
		files = append(files, File{Path: filepath.Join(v.path(dir), name), Mode: mode, Data: data})
		return nil
	}
	type entry struct {
		name string
		mode fs.FileMode
	}
	bin := []entry{{"artemis", script}, {"artemis-service", script}}
	profiles := []entry{{"artemis.profile", plainFile}, {"artemis-utility.profile", plainFile}}
	if o.Windows {
		bin = []entry{{"artemis.cmd", script}}
		profiles = []entry{{"artemis.profile.cmd", plainFile}, {"artemis-utility.profile.cmd", plainFile}}
	}
	etc := append(profiles, []entry{
		{"bootstrap.xml", secretFile}, {"broker.xml", secretFile}, {"management.xml", plainFile}, {"login.config", plainFile},
		{"artemis-users.properties", secretFile}, {"artemis-roles.properties", plainFile}, {"jolokia-access.xml", plainFile},
		{"log4j2.properties", plainFile}, {"log4j2-utility.properties", plainFile},
	}...)
	for _, e := range bin {
		if err := add("bin", e.name, e.mode); err != nil {
			return nil, err
		}
	}
	for _, e := range etc {
		if err := add(v.EtcDir, e.name, e.mode); err != nil {
			return nil, err
		}
	}
	return v.sarangaYAML(files), nil
}

// values are what the templates see: the options with defaults filled in.
type values struct {
	Options
	// Options.Data is how broker.xml names the data folder; these are absolute.
	EtcDir, DataDir, OOMEDump string
	InstanceURI, EtcURI       string
	ConnectorHost             string
	StaticNodes               []string
	QueueList, AddressList    []destination
	Permissions, Roles        []string
	Quorum                    *Quorum // nil: no member of one
}

type destination struct{ Name, Type string }

func newValues(o Options) (*values, error) {
	if !filepath.IsAbs(o.Directory) {
		return nil, fmt.Errorf("the instance folder %q is not an absolute path", o.Directory)
	}
	if o.User == "" || o.PasswordHash == "" {
		return nil, errors.New("a user and its password are needed")
	}
	v := &values{Options: o}
	v.Clustered = o.Clustered || o.StaticCluster != "" || o.Replicated || o.SharedStore
	switch {
	case o.Replicated && o.SharedStore:
		return nil, errors.New("an instance can't be both replicated and on a shared store")
	case o.Backup && !o.Replicated && !o.SharedStore:
		return nil, errors.New("a backup has to be either replicated or on a shared store")
	case v.Clustered && (o.ClusterUser == "" || o.ClusterPassword == ""):
		return nil, errors.New("a cluster needs a cluster user and a cluster password, the same on all nodes")
	case o.UseClientAuth && (o.SSLKey == "" || o.SSLTrust == ""):
		return nil, errors.New("client certificates for the console need a key store and a trust store")
	case o.JournalRetentionMaxBytes != "" && o.JournalRetention <= 0:
		return nil, errors.New("a size for retained journal files needs the days to retain them")
	}
	set(&v.Home, o.Directory)
	set(&v.Saranga, "saranga")
	set(&v.Etc, "etc")
	set(&v.Data, "data")
	set(&v.Host, "0.0.0.0")
	set(&v.Name, v.Host)
	set(&v.HTTPHost, "localhost")
	set(&v.Role, "amq")
	set(&v.JavaMemory, "2G")
	set(&v.MessageLoadBalancing, "ON_DEMAND")
	setInt(&v.DefaultPort, 61616)
	setInt(&v.HTTPPort, 8161)
	setInt(&v.JournalMaxIO, 4096)
	setInt(&v.JournalDeviceBlockSize, 4096)
	if v.GlobalMaxMessages == 0 {
		v.GlobalMaxMessages = -1
	}
	if v.Journal == "" {
		v.Journal = NIO
		if o.NoFsync {
			v.Journal = Mapped
		}
	}
	if v.Journal != AIO {
		v.JournalMaxIO = 1
	}
	v.ConnectorHost = v.Host
	if v.Host == "0.0.0.0" {
		v.ConnectorHost = "localhost"
	}
	v.EtcDir, v.DataDir = v.path(v.Etc), v.path(v.Data)
	v.OOMEDump = v.path("log/oom_dump.hprof")
	v.InstanceURI, v.EtcURI = folderURI(v.Directory), folderURI(v.EtcDir)
	v.Permissions = []string{"createNonDurableQueue", "deleteNonDurableQueue", "createDurableQueue", "deleteDurableQueue",
		"createAddress", "deleteAddress", "consume", "browse", "send", "manage"}
	v.Roles = list(v.Role)
	v.StaticNodes = list(v.StaticCluster)
	if o.JDBC != nil {
		v.JDBC = o.JDBC.withDefaults(v.DataDir)
	}
	var err error
	if v.QueueList, err = destinations(o.Queues, "anycast"); err != nil {
		return nil, fmt.Errorf("queues: %w", err)
	}
	if v.AddressList, err = destinations(o.Addresses, "multicast"); err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	if v.Quorum, err = v.quorum(); err != nil {
		return nil, err
	}
	for what, port := range map[string]int{"the default port": v.Port(61616), "an acceptor's port": v.Port(61613), "the console's port": v.WebPort()} {
		if port < 1 || port > 65535 {
			return nil, fmt.Errorf("%s with its offset is %d, not between 1 and 65535", what, port)
		}
	}
	return v, nil
}

func (j JDBC) withDefaults(dataDir string) *JDBC {
	set(&j.DriverClassName, "org.apache.derby.jdbc.EmbeddedDriver")
	set(&j.ConnectionURL, "jdbc:derby:"+dataDir+"/derby/db;create=true")
	set(&j.MessageTable, "MESSAGES")
	set(&j.BindingsTable, "BINDINGS")
	set(&j.LargeMessageTable, "LARGE_MESSAGES")
	set(&j.PageStoreTable, "PAGE_STORE")
	set(&j.NodeManagerTable, "NODE_MANAGER_STORE")
	for p, def := range map[*int64]int64{&j.LockExpiration: 20000, &j.LockRenewPeriod: 4000, &j.NetworkTimeout: 20000} {
		if *p == 0 {
			*p = def
		}
	}
	return &j
}

// path makes a path of the options absolute.
func (v *values) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(v.Directory, p)
}

// Port returns a standard port as this instance has it: 61616 is the default port.
func (v *values) Port(standard int) int {
	if standard == 61616 {
		standard = v.DefaultPort
	}
	return standard + v.PortOffset
}

// WebPort is the console's port.
func (v *values) WebPort() int { return v.HTTPPort + v.PortOffset }

// HTTPScheme is that of the console's port.
func (v *values) HTTPScheme() string {
	if v.SSLKey != "" {
		return "https"
	}
	return "http"
}

// HARole is the element of a policy in which both halves have the same.
func (v *values) HARole() string {
	if v.Backup {
		return "backup"
	}
	return "primary"
}

// FullPolicy is the address-full-policy.
func (v *values) FullPolicy() string {
	if v.Blocking {
		return "BLOCK"
	}
	return "PAGE"
}

func (v *values) render(name string) (string, error) {
	t, err := template.New(name+".tmpl").Funcs(template.FuncMap{
		"xml": escapeXML, "sh": shellQuote, "dq": inDoubleQuotes, "quote": loginQuote, "prop": propertyKey, "propValue": propertyValue,
	}).ParseFS(templates, "templates/"+name+".tmpl")
	if err != nil {
		return "", fmt.Errorf("create: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return "", fmt.Errorf("create: %w", err)
	}
	return b.String(), nil
}

func set(s *string, def string) {
	if *s == "" {
		*s = def
	}
}

func setInt(n *int, def int) {
	if *n == 0 {
		*n = def
	}
}

func list(s string) []string {
	var out []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// destinations reads name or name:type entries.
func destinations(s, kind string) ([]destination, error) {
	var out []destination
	for _, item := range list(s) {
		d := destination{item, kind}
		if i := strings.LastIndexByte(item, ':'); i >= 0 {
			d.Name, d.Type = item[:i], strings.ToLower(item[i+1:])
		}
		if d.Type != "anycast" && d.Type != "multicast" {
			return nil, fmt.Errorf("%q ends neither in :anycast nor in :multicast", item)
		}
		if d.Name == "" {
			return nil, fmt.Errorf("%q has no name", item)
		}
		out = append(out, d)
	}
	return out, nil
}

func folderURI(dir string) string {
	return "file:" + (&url.URL{Path: dir + "/"}).EscapedPath()
}

func escapeXML(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

// shellQuote quotes a word for sh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// inDoubleQuotes escapes text that stands inside double quotes in sh. Variables
// in it keep their meaning.
func inDoubleQuotes(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(s)
}

func loginQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func propertyKey(s string) string {
	return strings.NewReplacer(`\`, `\\`, "=", `\=`, ":", `\:`, " ", `\ `, "#", `\#`, "!", `\!`).Replace(s)
}

func propertyValue(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }
