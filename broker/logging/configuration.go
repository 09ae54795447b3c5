package logging

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
)

// configuration is what a log4j2.properties says.
type configuration struct {
	monitor   time.Duration // how often the file is looked at for changes; 0: never
	root      loggerConfig
	loggers   map[string]loggerConfig // by name
	appenders map[string]appenderConfig
	warnings  []string // what is ignored, with its line
}

type loggerConfig struct {
	level    hclog.Level // NoLevel: that of the logger above
	additive bool
	refs     []appenderRef
}

type appenderRef struct {
	name      string
	threshold hclog.Level
}

// appenderConfig describes one appender; two equal ones are the same appender.
type appenderConfig struct {
	kind      appenderKind
	pattern   string
	threshold hclog.Level
	stderr    bool   // of a console
	path      string // of a file
	truncate  bool
	rolling   rollingConfig
}

type appenderKind uint8

const (
	consoleAppender appenderKind = iota
	fileAppender
	rollingAppender
	nullAppender
)

// fallback is used without a file: INFO and above to the console.
func fallback() *configuration {
	return &configuration{
		root:      loggerConfig{level: hclog.Info, refs: []appenderRef{{name: "console", threshold: hclog.Trace}}},
		appenders: map[string]appenderConfig{"console": {kind: consoleAppender, pattern: defaultPattern, threshold: hclog.Trace}},
	}
}

// section is the part of the keys below one prefix.
type section map[string]config.Property

// take gives and removes a value.
func (s section) take(key string) string {
	value := s[key].Value
	delete(s, key)
	return strings.TrimSpace(value)
}

// below gives and removes the keys under a prefix, without the prefix.
func (s section) below(prefix string) section {
	inner := make(section)
	for key, p := range s {
		if rest, ok := strings.CutPrefix(key, prefix+"."); ok {
			inner[rest] = p
			delete(s, key)
		}
	}
	return inner
}

// groups cuts "id.rest" keys into sections by id, in the order of the file.
func (s section) groups() (ids []string, groups map[string]section) {
	groups = make(map[string]section)
	line := make(map[string]int)
	for key, p := range s {
		id, rest, _ := strings.Cut(key, ".")
		if groups[id] == nil {
			groups[id] = make(section)
			line[id] = p.Line
		}
		groups[id][rest] = p
		line[id] = min(line[id], p.Line)
	}
	ids = slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return line[a] - line[b] })
	return ids, groups
}

// reader turns the keys of a file into a configuration.
type reader struct {
	configuration
	lookup func(name string) (string, bool)
	vars   map[string]string // property.<name>
	budget int               // substitutions that are left
}

// readConfiguration reads the text of a log4j2.properties. lookup answers system properties and environment variables
// in ${sys:name} and ${env:name}. Unknown things become warnings, wrong ones errors with their line.
func readConfiguration(text string, lookup func(name string) (string, bool)) (*configuration, error) {
	properties, err := config.ParseProperties(text)
	if err != nil {
		return nil, err
	}
	r := reader{lookup: lookup, vars: make(map[string]string), budget: maxSubstitutions}
	r.loggers, r.appenders = make(map[string]loggerConfig), make(map[string]appenderConfig)
	all := make(section)
	for _, p := range properties {
		all[p.Key] = p
	}
	for name, p := range all.below("property") {
		r.vars[name] = p.Value
	}
	for key, p := range all {
		if p.Value, err = r.substitute(p.Value, 0); err != nil {
			r.warnings = append(r.warnings, fmt.Sprintf("line %d: %s: %v", p.Line, key, err))
			continue // as it stands, like log4j
		}
		all[key] = p
	}
	if text := all.take("monitorInterval"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 0 || seconds > 1<<30 {
			return nil, fmt.Errorf("monitorInterval %q is not a number of seconds", text)
		}
		r.monitor = time.Duration(seconds) * time.Second
	}
	if err := r.readAppenders(all.below("appender")); err != nil {
		return nil, err
	}
	if err := r.readLoggers(all); err != nil {
		return nil, err
	}
	for _, ignored := range []string{"status", "name", "dest", "verbose", "packages", "shutdownHook", "shutdownTimeout", "appenders", "loggers", "advertiser", "strict"} {
		delete(all, ignored)
	}
	r.ignored("", all)
	slices.Sort(r.warnings)
	return &r.configuration, nil
}

// ignored makes warnings of what nobody took.
func (r *reader) ignored(prefix string, rest section) {
	for key, p := range rest {
		r.warnings = append(r.warnings, fmt.Sprintf("line %d: %s has no effect", p.Line, strings.Trim(prefix+"."+key, ".")))
	}
}

// Bounds of ${…}: the nesting, how many a file has in all when those inside others are counted each time, and the
// length of a value in bytes.
const (
	maxNesting       = 8
	maxSubstitutions = 10_000
	maxValue         = 64 << 10
)

// substitute replaces ${sys:name}, ${env:name} and ${name}; ${…:-text} gives the text for what is not there.
func (r *reader) substitute(text string, depth int) (string, error) {
	if depth > maxNesting {
		return "", fmt.Errorf("${…} nested more than %d deep", maxNesting)
	}
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("${%s without }", rest)
		}
		value, err := r.value(name, depth)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = after
		if r.budget--; r.budget < 0 || out.Len() > maxValue {
			return "", fmt.Errorf("more than %d ${…} in the file, or %d bytes in a value", maxSubstitutions, maxValue)
		}
	}
}

func (r *reader) value(name string, depth int) (string, error) {
	name, otherwise, hasOtherwise := strings.Cut(name, ":-")
	var value string
	var ok bool
	switch kind, key, prefixed := strings.Cut(name, ":"); {
	case !prefixed:
		if value, ok = r.vars[name]; ok {
			return r.substitute(value, depth+1)
		}
	case kind == "sys" || kind == "env":
		if r.lookup != nil {
			value, ok = r.lookup(key)
		}
	default:
		return "", fmt.Errorf("${%s:…} is not known", kind)
	}
	if !ok && !hasOtherwise {
		return "", fmt.Errorf("${%s} has no value", name)
	}
	if !ok {
		value = otherwise
	}
	return value, nil
}

func (r *reader) readLoggers(all section) error {
	root, err := r.readLogger("rootLogger", all.take("rootLogger"), all.below("rootLogger"))
	if err != nil {
		return err
	}
	if root.level == hclog.NoLevel {
		root.level = hclog.Error // the default of log4j
	}
	r.root = root
	ids, groups := all.below("logger").groups()
	for _, id := range ids {
		keys := groups[id]
		name := keys.take("name")
		short := keys.take("")
		if name == "" {
			name = id
		}
		l, err := r.readLogger("logger."+id, short, keys)
		if err != nil {
			return err
		}
		r.loggers[name] = l
	}
	return nil
}

// readLogger reads "level, appender, …" in short, or the keys level, additivity and appenderRef.
func (r *reader) readLogger(where, short string, keys section) (loggerConfig, error) {
	l := loggerConfig{additive: !strings.EqualFold(keys.take("additivity"), "false")}
	level, names, _ := strings.Cut(short, ",")
	if text := keys.take("level"); text != "" {
		level = text
	}
	var err error
	if l.level, err = levelOr(level, hclog.NoLevel); err != nil {
		return l, fmt.Errorf("%s: %w", where, err)
	}
	for _, name := range strings.Split(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.refer(&l, where, name, hclog.Trace)
		}
	}
	ids, refs := keys.below("appenderRef").groups()
	for _, id := range ids {
		ref := refs[id]
		threshold, err := levelOr(ref.take("level"), hclog.Trace)
		if err != nil {
			return l, fmt.Errorf("%s.appenderRef.%s: %w", where, id, err)
		}
		r.refer(&l, where+".appenderRef."+id, ref.take("ref"), threshold)
		r.ignored(where+".appenderRef."+id, ref)
	}
	delete(keys, "type")
	r.ignored(where, keys)
	return l, nil
}

func (r *reader) refer(l *loggerConfig, where, name string, threshold hclog.Level) {
	if _, ok := r.appenders[name]; !ok {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: appender %q is not there", where, name))
		return
	}
	l.refs = append(l.refs, appenderRef{name, threshold})
}

func levelOr(text string, otherwise hclog.Level) (hclog.Level, error) {
	if strings.TrimSpace(text) == "" {
		return otherwise, nil
	}
	level, ok := parseLevel(text)
	if !ok {
		return otherwise, fmt.Errorf("level %q is not OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE or ALL", text)
	}
	return level, nil
}

func (r *reader) readAppenders(all section) error {
	ids, groups := all.groups()
	for _, id := range ids {
		keys := groups[id]
		name := keys.take("name")
		if name == "" {
			name = id
		}
		where := "appender." + id
		a, ok, err := r.readAppender(where, keys)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if ok {
			r.appenders[name] = a
		}
	}
	return nil
}

func (r *reader) readAppender(where string, keys section) (a appenderConfig, ok bool, err error) {
	kind := keys.take("type")
	a.threshold, a.pattern = hclog.Trace, defaultPattern
	r.readLayout(where, keys.below("layout"), &a)
	if _, err := parsePattern(a.pattern); err != nil {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: %v; %q is used", where, err, defaultPattern))
		a.pattern = defaultPattern
	}
	if err := r.readFilter(where, keys, &a); err != nil {
		return a, false, err
	}
	switch strings.ToLower(kind) {
	case "console":
		a.stderr = strings.EqualFold(keys.take("target"), "SYSTEM_ERR")
	case "file", "randomaccessfile", "memorymappedfile":
		a.kind = fileAppender
	case "rollingfile", "rollingrandomaccessfile":
		a.kind = rollingAppender
	case "null":
		a.kind = nullAppender
	default:
		r.warnings = append(r.warnings, fmt.Sprintf("%s: type %q is not available, only Console, File, RollingFile and Null", where, kind))
		return a, false, nil
	}
	if a.kind == fileAppender || a.kind == rollingAppender {
		if a.path = keys.take("fileName"); a.path == "" {
			return a, false, fmt.Errorf("fileName is missing")
		}
		if strings.Contains(a.path, "${") {
			return a, false, fmt.Errorf("fileName %s is not complete", a.path)
		}
		a.truncate = strings.EqualFold(keys.take("append"), "false")
	}
	if a.kind == rollingAppender {
		if a.rolling, err = r.readRolling(where, keys); err != nil {
			return a, false, err
		}
	}
	for _, ignored := range []string{"immediateFlush", "bufferedIO", "bufferSize", "ignoreExceptions", "follow", "direct", "createOnDemand", "locking"} {
		delete(keys, ignored)
	}
	r.ignored(where, keys)
	return a, true, nil
}

func (r *reader) readLayout(where string, keys section, a *appenderConfig) {
	if kind := keys.take("type"); kind != "" && !strings.EqualFold(kind, "PatternLayout") {
		r.warnings = append(r.warnings, fmt.Sprintf("%s.layout: type %q is not available, only PatternLayout", where, kind))
		clear(keys)
		return
	}
	if pattern := keys.take("pattern"); pattern != "" {
		a.pattern = pattern
	}
	for _, ignored := range []string{"charset", "alwaysWriteExceptions", "disableAnsi", "noConsoleNoAnsi"} {
		delete(keys, ignored)
	}
	r.ignored(where+".layout", keys)
}

// readFilter understands a ThresholdFilter with its default results.
func (r *reader) readFilter(where string, keys section, a *appenderConfig) error {
	ids, filters := keys.below("filter").groups()
	for _, id := range ids {
		f := filters[id]
		kind, onMatch, onMismatch := f.take("type"), f.take("onMatch"), f.take("onMismatch")
		if !strings.EqualFold(kind, "ThresholdFilter") || strings.EqualFold(onMatch, "DENY") || onMismatch != "" && !strings.EqualFold(onMismatch, "DENY") {
			r.warnings = append(r.warnings, fmt.Sprintf("%s.filter.%s: only a ThresholdFilter that lets pass from its level on is available", where, id))
			continue
		}
		level, err := levelOr(f.take("level"), hclog.Error)
		if err != nil {
			return err
		}
		a.threshold = max(a.threshold, level)
		r.ignored(where+".filter."+id, f)
	}
	return nil
}
