package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"
)

// Options of a load. The zero value loads an instance as its run command does.
type Options struct {
	// Etc is the etc folder, when it isn't inside the instance.
	Etc string
	// Broker is a broker.xml to take instead of the one bootstrap.xml names.
	Broker string
	// Properties are broker properties sources, as given to run --properties.
	Properties string
	// Define are -D properties of the command line; they win over artemis.profile.
	Define map[string]string
	// Env answers environment variables; nil asks the process.
	Env Lookup
	// WorkDir is what relative paths are taken from; empty asks the process.
	WorkDir string
	// Bindings, Journal, LargeMessages and Paging replace the folders of
	// broker.xml when not empty.
	Bindings, Journal, LargeMessages, Paging string
	// Tool loads for a command that only works on files: nothing is refused for
	// what this broker can't do yet.
	Tool bool
}

// Instance is a loaded instance folder.
type Instance struct {
	// Dir is the instance folder and Etc its etc folder, both absolute.
	Dir, Etc string
	// BrokerFile is the broker.xml that was read.
	BrokerFile string
	Profile    *Profile
	Bootstrap  *Bootstrap
	Broker     *Config
	// Login has no realms when a security manager is used instead of JAAS.
	Login *LoginConfig
	// Management is nil when nothing limits access.
	Management *ManagementAccess
	// PropertiesStatus has one entry for each source of broker properties.
	PropertiesStatus []PropertiesStatus
	// Watched are the files and folders whose change means a reload.
	Watched []string

	options Options
	lookup  Lookup
}

// Load reads what a start needs from an instance's etc folder. All faults found
// are returned together, as Errors; the Instance is then nil.
func Load(dir string, o Options) (*Instance, []Warning, error) {
	l := &loader{o: o, parser: parser{report: &report{}, tool: o.Tool}}
	in, err := l.load(dir)
	if err == nil {
		err = l.err()
	}
	if err != nil {
		return nil, l.warns, err
	}
	return in, l.warns, nil
}

type loader struct {
	parser
	o  Options
	in *Instance
	// noLogin is set when login.config couldn't be read and that is reported.
	noLogin bool
}

func (l *loader) load(dir string) (*Instance, error) {
	if l.o.Env == nil {
		l.o.Env = os.LookupEnv
	}
	if l.o.WorkDir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("config: find the working directory: %w", err)
		}
		l.o.WorkDir = wd
	}
	l.workDir = l.o.WorkDir
	dir = l.absolute(dir)
	l.in = &Instance{Dir: dir, Etc: l.etc(dir), options: l.o}
	if info, err := os.Stat(l.in.Etc); err != nil || !info.IsDir() {
		return nil, Errors{{File: l.in.Etc, Problem: "there is no such folder, so this is no instance", Remedy: "name a folder made by the create command"}}
	}
	l.profile()
	l.in.lookup = l.properties()
	l.lookup = l.in.lookup
	if text, ok := l.read(filepath.Join(l.in.Etc, "bootstrap.xml"), true); ok {
		l.in.Bootstrap = l.bootstrap(filepath.Join(l.in.Etc, "bootstrap.xml"), text)
	} else {
		return l.in, nil
	}
	l.login()
	if text, ok := l.read(filepath.Join(l.in.Etc, "management.xml"), false); ok {
		l.in.Management = l.management(filepath.Join(l.in.Etc, "management.xml"), text)
	}
	l.brokerXML()
	return l.in, nil
}

func (l *loader) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(l.o.WorkDir, path)
}

// etcLine is how bin/artemis remembers an etc folder outside the instance.
var etcLine = regexp.MustCompile(`(?m)^\s*ARTEMIS_INSTANCE_ETC=['"]([^'"$]+)['"]`)

func (l *loader) etc(dir string) string {
	if l.o.Etc != "" {
		return l.absolute(l.o.Etc)
	}
	inside := filepath.Join(dir, "etc")
	if _, err := os.Stat(inside); err == nil {
		return inside
	}
	if text, err := readText(filepath.Join(dir, "bin", "artemis")); err == nil {
		if m := etcLine.FindStringSubmatch(text); m != nil {
			return l.absolute(m[1])
		}
	}
	return inside
}

// read returns a file's text. A missing file is a fault if it is needed.
func (l *loader) read(file string, needed bool) (string, bool) {
	text, err := readText(file)
	switch {
	case err == nil:
		return text, true
	case errors.Is(err, fs.ErrNotExist) && !needed:
	case errors.Is(err, fs.ErrNotExist):
		l.fail(position{file: file}, "", "there is no such file", "create the instance again, or restore the file")
	default:
		l.fail(position{file: file}, "", err.Error(), "make the file readable")
	}
	return "", false
}

func (l *loader) profile() {
	file := filepath.Join(l.in.Etc, "artemis.profile")
	text, ok := l.read(file, false)
	if !ok {
		l.in.Profile = &Profile{Vars: map[string]string{}, Properties: map[string]string{}}
		return
	}
	var warns []Warning
	l.in.Profile, warns = ParseProfile(file, text, l.o.Env)
	l.warns = append(l.warns, warns...)
}

// properties returns the lookup of system properties and environment. Which
// wins is as in bin/artemis: its own definitions come after JAVA_ARGS and before
// JAVA_ARGS_APPEND.
func (l *loader) properties() Lookup {
	profile := l.in.Profile
	props := map[string]string{"user.dir": l.o.WorkDir}
	if home, ok := l.o.Env("HOME"); ok {
		props["user.home"] = home
	}
	set := func(more map[string]string) {
		for k, v := range more {
			props[k] = v
		}
	}
	set(profile.Properties)
	set(map[string]string{
		"artemis.instance":                l.in.Dir,
		"artemis.instance.etc":            l.in.Etc,
		"artemis.URI.instance":            fileURI(l.in.Dir),
		"artemis.URI.instance.etc":        fileURI(l.in.Etc),
		"artemis.home":                    profile.Vars["ARTEMIS_HOME"],
		"data.dir":                        orElse(profile.Vars["ARTEMIS_DATA_DIR"], filepath.Join(l.in.Dir, "data")),
		"java.io.tmpdir":                  filepath.Join(l.in.Dir, "tmp"),
		"java.security.auth.login.config": filepath.Join(l.in.Etc, "login.config"),
	})
	set(profile.late)
	set(l.o.Define)
	profile.Properties = props
	env := l.o.Env
	if strings.EqualFold(props["org.apache.activemq.artemis.utils.considerOsEnv"], "false") {
		env = noLookup
	}
	return func(name string) (string, bool) {
		if v, ok := props[name]; ok {
			return v, true
		}
		return env(name)
	}
}

func noLookup(string) (string, bool) { return "", false }

func fileURI(dir string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: dir + "/"}).EscapedPath()}).String()
}

func (l *loader) login() {
	l.in.Login = &LoginConfig{}
	jaas := l.in.Bootstrap.JAAS
	if jaas == nil {
		return
	}
	file, _ := l.lookup("java.security.auth.login.config")
	file, err := uriPath(file)
	if err != nil {
		l.fail(position{}, "java.security.auth.login.config", err.Error(), "name a file")
		return
	}
	file = l.absolute(file)
	text, ok := l.read(file, true)
	if !ok {
		l.noLogin = true
		return
	}
	login, err := ParseLogin(file, text, l.lookup)
	if err != nil {
		l.add(err)
		l.noLogin = true
		return
	}
	login.Dir = filepath.Dir(file)
	l.in.Login = login
	l.in.Watched = append(l.in.Watched, login.Dir)
}

// checkRealms finds realms that bootstrap.xml names and nobody defines, and
// those that let everybody in.
func (l *loader) checkRealms() {
	jaas := l.in.Bootstrap.JAAS
	if jaas == nil || l.o.Tool || l.noLogin {
		return
	}
	file := filepath.Join(l.in.Etc, "bootstrap.xml")
	for _, name := range []string{jaas.Domain, jaas.CertificateDomain} {
		if name == "" {
			continue
		}
		realm := l.in.Login.Realm(name)
		if realm == nil {
			l.fail(position{file: file}, "jaas-security", fmt.Sprintf("there is no realm %s in login.config", name), "define it, or name another")
			continue
		}
		for _, m := range realm.Modules {
			if strings.HasSuffix(m.Class, ".GuestLoginModule") {
				const prefix = "org.apache.activemq.jaas.guest."
				l.warn(Insecure, position{file: filepath.Join(l.in.Login.Dir, "login.config")}, "realm "+name,
					fmt.Sprintf("clients without a valid login act as user %q with role %q", orElse(m.Options[prefix+"user"], "guest"), orElse(m.Options[prefix+"role"], "guests")),
					"remove the GuestLoginModule, and make the other module required, to require a login")
			}
		}
	}
	if !l.in.Broker.SecurityEnabled {
		l.warn(Insecure, position{file: l.in.BrokerFile}, "security-enabled", "every client may do everything without a login", "set it to true")
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (l *loader) brokerXML() {
	uri := l.in.Bootstrap.Server.Configuration
	if l.o.Broker != "" {
		uri = l.o.Broker
	}
	if uri == "" {
		return // that it is missing is reported
	}
	path, err := uriPath(uri)
	if err != nil {
		l.fail(position{file: filepath.Join(l.in.Etc, "bootstrap.xml")}, "server/@configuration", fmt.Sprintf("%q is not a file", uri), "write file:/path/of/broker.xml")
		return
	}
	l.in.BrokerFile = l.absolute(path)
	text, ok := l.read(l.in.BrokerFile, true)
	if !ok {
		return
	}
	l.in.Watched = append(l.in.Watched, l.in.BrokerFile)
	c, d := l.broker(l.in.BrokerFile, text)
	l.in.Broker = c
	if d == nil {
		return
	}
	l.brokerProperties(c, d)
	l.finish(c, d)
	for dir, given := range map[*string]string{&c.Journal.BindingsDirectory: l.o.Bindings, &c.Journal.Directory: l.o.Journal, &c.Journal.LargeMessagesDirectory: l.o.LargeMessages, &c.Paging.Directory: l.o.Paging} {
		if given != "" {
			*dir = given
		}
	}
	for _, r := range c.JAASConfigs {
		if old := l.in.Login.Realm(r.Name); old != nil {
			*old = r
		} else {
			l.in.Login.Realms = append(l.in.Login.Realms, r)
		}
	}
	l.checkRealms()
}

// brokerProperties applies all sources: the system property broker.properties,
// else the option, else etc/broker.properties; then system properties with the
// configured prefix.
func (l *loader) brokerProperties(c *Config, d *decoder) {
	a := &propertyApplier{decoder: d, c: c, lookup: l.lookup}
	sources, ok := l.lookupProperty("broker.properties")
	if !ok {
		sources = l.o.Properties
	}
	if sources == "" {
		if file := filepath.Join(l.in.Etc, "broker.properties"); exists(file) {
			sources = file
		}
	}
	for source := range strings.SplitSeq(sources, ",") {
		if source = strings.TrimSpace(source); source != "" {
			l.propertySource(a, source)
		}
	}
	var list []Property
	for k, v := range l.in.Profile.Properties {
		if key, ok := strings.CutPrefix(k, c.SystemPropertyPrefix); ok {
			list = append(list, Property{Key: key, Value: v})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Key < list[j].Key })
	l.in.PropertiesStatus = append(l.in.PropertiesStatus, a.apply("system-"+c.SystemPropertyPrefix, "", list))
	a.complete()
}

// lookupProperty answers system properties only.
func (l *loader) lookupProperty(name string) (string, bool) {
	v, ok := l.in.Profile.Properties[name]
	return v, ok
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// propertySource applies one file, or all of a folder named with a / at its end.
func (l *loader) propertySource(a *propertyApplier, source string) {
	path, filter, hasFilter := strings.Cut(source, "?filter=")
	path, err := uriPath(path)
	if err != nil {
		l.in.PropertiesStatus = append(l.in.PropertiesStatus, a.unreadable(source, source, err))
		return
	}
	isDir := strings.HasSuffix(strings.TrimSuffix(source, "?filter="+filter), "/")
	path = l.absolute(path)
	l.in.Watched = append(l.in.Watched, path)
	files := []string{path}
	if isDir {
		if !hasFilter {
			filter = `.*\.(json|yaml|properties)`
		}
		if files, err = filesMatching(path, filter); err != nil {
			l.in.PropertiesStatus = append(l.in.PropertiesStatus, a.unreadable(filepath.Base(path), path, err))
			return
		}
	}
	for _, file := range files {
		list, err := readProperties(file)
		if err != nil {
			l.in.PropertiesStatus = append(l.in.PropertiesStatus, a.unreadable(filepath.Base(file), file, err))
			continue
		}
		l.in.PropertiesStatus = append(l.in.PropertiesStatus, a.apply(filepath.Base(file), file, list))
	}
}

// unreadable notes a source that couldn't be read; as in Artemis it doesn't stop
// the start.
func (a *propertyApplier) unreadable(source, file string, err error) PropertiesStatus {
	a.warn(Odd, position{file: file}, "", "the broker properties can't be read: "+err.Error(), "correct or remove the file")
	return PropertiesStatus{Source: source, Adler32: 1, Errors: []PropertyError{{source, err.Error()}}}
}

func filesMatching(dir, filter string) ([]string, error) {
	expr, err := regexp.Compile(`\A(?:` + filter + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && expr.MatchString(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// Path returns a path of broker.xml as an absolute one: relative ones are inside
// the instance.
func (in *Instance) Path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.Dir, path)
}

// Property answers a system property or environment variable of this instance.
func (in *Instance) Property(name string) (string, bool) { return in.lookup(name) }

// Codec returns the codec for masked passwords of this instance.
func (in *Instance) Codec() (*Codec, error) { return NewCodec(in.Broker.PasswordCodec, in.lookup) }

// Modified returns the newest modification time of what is watched, and the zero
// time for what is not there.
func (in *Instance) Modified() time.Time {
	var newest time.Time
	for _, path := range in.Watched {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}
