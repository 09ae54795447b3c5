package logging

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func lookup(name string) (string, bool) {
	value, ok := map[string]string{"artemis.instance": "/inst", "LOG_LEVEL": "DEBUG"}[name]
	return value, ok
}

func readText(t *testing.T, text string) *configuration {
	t.Helper()
	c, err := readConfiguration(text, lookup)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readTestdata(t *testing.T, name string) *configuration {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return readText(t, string(data))
}

func TestFileOfAnInstance(t *testing.T) {
	c := readTestdata(t, "artemis.properties")
	if c.monitor != 5*time.Second || len(c.warnings) > 0 {
		t.Errorf("looked at every %v, warnings %q", c.monitor, c.warnings)
	}
	daily := rollingConfig{schedule: "0 0 0 * * ?", onStartup: true, min: 1, max: 7}
	file := func(name, pattern string) appenderConfig {
		rolling := daily
		rolling.pattern = "/inst/log/" + name + ".%d{yyyy-MM-dd}"
		return appenderConfig{kind: rollingAppender, pattern: pattern, threshold: hclog.Trace, path: "/inst/log/" + name, rolling: rolling}
	}
	for name, want := range map[string]appenderConfig{
		"console":        {kind: consoleAppender, pattern: "%d %-5level [%logger] %msg%n", threshold: hclog.Trace},
		"log_file":       file("artemis.log", "%d %-5level [%logger] %msg%n"),
		"audit_log_file": file("audit.log", "%d [AUDIT](%t) %msg%n"),
	} {
		if got := c.appenders[name]; got != want {
			t.Errorf("appender %s is %+v, want %+v", name, got, want)
		}
	}
	if len(c.appenders) != 3 || len(c.loggers) != 12 {
		t.Errorf("%d appenders, %d loggers, want 3 and 12", len(c.appenders), len(c.loggers))
	}
}

func TestUtilityFile(t *testing.T) {
	c := readTestdata(t, "utility.properties")
	if c.root.level != hclog.Warn || len(c.appenders) != 1 || len(c.root.refs) != 1 || len(c.warnings) > 0 {
		t.Errorf("%+v", c)
	}
}

// refs gives the names of the appenders that the events of a logger reach.
func refs(c *configuration, name string) (hclog.Level, string) {
	s := &state{config: c, appenders: map[string]*appender{}}
	named := map[*appender]string{}
	for name := range c.appenders {
		s.appenders[name] = &appender{}
		named[s.appenders[name]] = name
	}
	r := s.route(name)
	var list []string
	for _, o := range r.outputs {
		list = append(list, named[o.appender])
	}
	return r.level, strings.Join(list, " ")
}

func TestRoutes(t *testing.T) {
	instance := readTestdata(t, "artemis.properties")
	other := readText(t, `
		rootLogger = WARN, a
		logger.x = DEBUG, b
		logger.xy.name = x.y
		logger.xy.level = TRACE
		logger.xyz.name = x.y.z
		logger.xyz.additivity = false
		logger.xyz.appenderRef.c.ref = c
		appender.a.type = Console
		appender.b.type = Console
		appender.c.type = Console
	`)
	for _, c := range []struct {
		config *configuration
		logger string
		level  hclog.Level
		refs   string
	}{
		{instance, Server, hclog.Info, "console log_file"},
		{instance, Server + ".sub", hclog.Info, "console log_file"},
		{instance, AuditBase, hclog.Off, "audit_log_file"},
		{instance, "org.apache.curator.x", hclog.Warn, "console log_file"},
		{instance, "", hclog.Info, "console log_file"},
		{instance, "org.eclipse.jettyx", hclog.Info, "console log_file"},
		{other, "other", hclog.Warn, "a"},
		{other, "x", hclog.Debug, "b a"},
		{other, "x.a", hclog.Debug, "b a"},
		{other, "x.y", hclog.Trace, "b a"},
		{other, "x.y.z", hclog.Trace, "c"},
		{other, "x.y.z.more", hclog.Trace, "c"},
	} {
		if level, got := refs(c.config, c.logger); level != c.level || got != c.refs {
			t.Errorf("%q: %v to %q, want %v to %q", c.logger, level, got, c.level, c.refs)
		}
	}
}

func TestSubstitution(t *testing.T) {
	c := readText(t, `
		property.base = ${sys:artemis.instance}/logs
		property.file = ${base}/x
		rootLogger.level = ${env:LOG_LEVEL}
		rootLogger.appenderRef.f.ref = f
		appender.f.type = File
		appender.f.fileName = ${file}.log
		appender.f.layout.pattern = ${sys:missing:-%m%n}
	`)
	a := c.appenders["f"]
	if a.path != "/inst/logs/x.log" || a.pattern != "%m%n" || c.root.level != hclog.Debug || len(c.warnings) > 0 {
		t.Errorf("%+v, %v, %q", a, c.root.level, c.warnings)
	}
	many := "property.a=" + strings.Repeat("x", 1000)
	for c := 'b'; c <= 'g'; c++ {
		many += fmt.Sprintf("\nproperty.%c=%s", c, strings.Repeat(fmt.Sprintf("${%c}", c-1), 100))
	}
	for text, reason := range map[string]string{
		many + "\nappender.f.type=File\nappender.f.fileName=${g}":                          "is not complete",
		"appender.f.type=File\nappender.f.fileName=${sys:missing}/x":                       "fileName ${sys:missing}/x is not complete",
		"property.a=${b}\nproperty.b=${a}\nappender.f.type=File\nappender.f.fileName=${a}": "is not complete",
	} {
		if _, err := readConfiguration(text, lookup); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %s", text, err, reason)
		}
	}
}

func TestAppenders(t *testing.T) {
	c := readText(t, `
		appender.e.type = Console
		appender.e.target = SYSTEM_ERR
		appender.e.filter.t.type = ThresholdFilter
		appender.e.filter.t.level = WARN
		appender.n.type = Null
		appender.f.type = RollingRandomAccessFile
		appender.f.name = rolling
		appender.f.append = false
		appender.f.fileName = x.log
		appender.f.filePattern = x-%d{yyyy-MM}-%3i.log.gz
		appender.f.policies.t.type = TimeBasedTriggeringPolicy
		appender.f.policies.t.interval = 2
		appender.f.policies.s.type = SizeBasedTriggeringPolicy
		appender.f.policies.s.size = 10 KB
		appender.f.policies.o.type = OnStartupTriggeringPolicy
		appender.f.strategy.type = DefaultRolloverStrategy
		appender.f.strategy.max = 20
		appender.f.strategy.fileIndex = min
	`)
	for name, want := range map[string]appenderConfig{
		"e": {kind: consoleAppender, stderr: true, pattern: defaultPattern, threshold: hclog.Warn},
		"n": {kind: nullAppender, pattern: defaultPattern, threshold: hclog.Trace},
		"rolling": {kind: rollingAppender, pattern: defaultPattern, threshold: hclog.Trace, path: "x.log", truncate: true,
			rolling: rollingConfig{pattern: "x-%d{yyyy-MM}-%3i.log.gz", interval: 2, onStartup: true, maxSize: 10 << 10, startup: 1, min: 1, max: 20, newest: newestIsMin}},
	} {
		if got := c.appenders[name]; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if len(c.warnings) > 0 {
		t.Errorf("%q", c.warnings)
	}
}

func TestWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"rootLogger.appenderRef.x.ref = x":                                       `rootLogger.appenderRef.x: appender "x" is not there`,
		"a = 1\n\nfoo.bar = 2":                                                   "line 1: a has no effect; line 3: foo.bar has no effect",
		"appender.s.type = Syslog\nappender.s.host = h":                          `appender.s: type "Syslog" is not available, only Console, File, RollingFile and Null`,
		"appender.c.type = Console\nappender.c.layout.type = JsonTemplateLayout": `appender.c.layout: type "JsonTemplateLayout" is not available, only PatternLayout`,
		"appender.c.type = Console\nappender.c.layout.pattern = %foo":            `appender.c: layout pattern: conversion %foo is not known; "%d %-5level [%logger] %msg%n" is used`,
		"appender.c.type = Console\nappender.c.filter.f.type = BurstFilter":      "appender.c.filter.f: only a ThresholdFilter that lets pass from its level on is available",
		"appender.c.type = Console\nappender.c.layout.pattern = ${ctx:x} %m":     "line 2: appender.c.layout.pattern: ${ctx:…} is not known",
		"status = warn\nname = x\nappenders = a, b\nloggers = c":                 "",
	} {
		if got := strings.Join(readText(t, text).warnings, "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	const rolling = "appender.f.type=RollingFile\nappender.f.fileName=x\nappender.f.filePattern=x.%i\n"
	for text, want := range map[string]string{
		"monitorInterval = soon":  `monitorInterval "soon" is not a number of seconds`,
		"rootLogger.level = LOUD": `rootLogger: level "LOUD" is not`,
		"logger.a.level = LOUD":   `logger.a: level "LOUD" is not`,
		"appender.f.type = File":  "appender.f: fileName is missing",
		"a = \\u12":               "line 1",
		"appender.f.type=RollingFile\nappender.f.fileName=x":                                              "filePattern is missing",
		"appender.f.type=RollingFile\nappender.f.fileName=x\nappender.f.filePattern=%x":                   "filePattern: %x is not known",
		rolling + "appender.f.policies.c.type=CronTriggeringPolicy\nappender.f.policies.c.schedule=daily": `schedule "daily"`,
		rolling + "appender.f.policies.c.type=TimeBasedTriggeringPolicy":                                  "needs a date in filePattern",
		rolling + "appender.f.policies.c.type=SizeBasedTriggeringPolicy\nappender.f.policies.c.size=big":  `size "BIG"`,
		rolling + "appender.f.strategy.max=many":                                                          `max "many"`,
		rolling + "appender.f.strategy.max=0":                                                             "max 0 is below min 1",
	} {
		if _, err := readConfiguration(text, lookup); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzConfiguration(f *testing.F) {
	for _, name := range []string{"artemis.properties", "utility.properties"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("rootLogger = INFO, a\nlogger.x.appenderRef.a.level = WARN\nproperty.a=${a:-${b}}\nappender.a.type=RollingFile\nappender.a.fileName=x\nappender.a.filePattern=%d{yyyy}%i.gz\nappender.a.policies.type=x")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readConfiguration(text, lookup)
		if err != nil {
			return
		}
		for name := range c.loggers {
			refs(c, name)
		}
		for _, a := range c.appenders {
			if _, err := parsePattern(a.pattern); err != nil {
				t.Fatalf("%q has pattern %q: %v", text, a.pattern, err)
			}
		}
	})
}
