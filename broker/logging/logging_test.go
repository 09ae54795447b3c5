package logging

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// screen is a console for tests.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// take gives and removes what was written.
func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

// instance makes a folder with the file of an instance.
func instance(t *testing.T, edit func(text string) string) (Options, *screen) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/artemis.properties")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if edit != nil {
		text = edit(text)
	}
	file := filepath.Join(dir, "log4j2.properties")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := new(screen)
	lookup := func(name string) (string, bool) { return dir, name == "artemis.instance" }
	return Options{File: file, Lookup: lookup, Stdout: s, Stderr: s}, s
}

func open(t *testing.T, o Options) *Logging {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func readLog(t *testing.T, o Options, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(o.File), "log", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLinesOfAnInstance(t *testing.T) {
	o, s := instance(t, nil)
	l := open(t, o)
	l.Logger(Server).Info("AMQ221007: Server is now active")
	l.Logger(Server).Debug("hidden")
	l.Logger(AuditResource).Info("AMQ601701: hidden too")
	l.Logger(Journal).Warn("AMQ142015: slow", "took", 12*time.Millisecond, "file", "a b")
	if !l.Flush() {
		t.Fatal("not written")
	}
	want := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO  \[org\.apache\.activemq\.artemis\.core\.server\] AMQ221007: Server is now active\n` +
		`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARN  \[org\.apache\.activemq\.artemis\.journal\] AMQ142015: slow took=12ms file="a b"\n$`)
	for where, got := range map[string]string{"console": s.take(), "artemis.log": readLog(t, o, "artemis.log")} {
		if !want.MatchString(got) {
			t.Errorf("%s: %q", where, got)
		}
	}
	if got := readLog(t, o, "audit.log"); got != "" {
		t.Errorf("audit.log: %q", got)
	}
	if info, err := os.Stat(filepath.Join(filepath.Dir(o.File), "log", "artemis.log")); err != nil || info.Mode()&0o007 != 0 {
		t.Errorf("everybody may read the log: %v, %v", info.Mode(), err)
	}
}

func TestAuditLog(t *testing.T) {
	o, s := instance(t, func(text string) string {
		return strings.Replace(text, "logger.audit_resource.level = OFF", "logger.audit_resource.level = INFO", 1)
	})
	l := open(t, o)
	audit := l.Logger(AuditResource)
	if !audit.IsInfo() || l.Logger(AuditBase).IsInfo() {
		t.Error("the levels of the audit loggers are not those of the file")
	}
	audit.Info("AMQ601701: User admin(amq)@127.0.0.1 is managing")
	l.Flush()
	if got := readLog(t, o, "audit.log"); !strings.HasSuffix(got, " [AUDIT](main) AMQ601701: User admin(amq)@127.0.0.1 is managing\n") {
		t.Errorf("audit.log: %q", got)
	}
	if got := s.take() + readLog(t, o, "artemis.log"); got != "" {
		t.Errorf("additivity=false, but elsewhere: %q", got)
	}
}

func TestChangedFileIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := instance(t, nil)
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		log := l.Logger(Server)
		rewrite := func(old, new string) {
			t.Helper()
			data, err := os.ReadFile(o.File)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.ReplaceAll(string(data), old, new)
			if err := os.WriteFile(o.File, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rewrite("core.server\nlogger.artemis_server.level=INFO", "core.server\nlogger.artemis_server.level=DEBUG")
		time.Sleep(4 * time.Second)
		if log.IsDebug() {
			t.Error("read before monitorInterval")
		}
		time.Sleep(2 * time.Second)
		if !log.IsDebug() {
			t.Error("not read after monitorInterval")
		}
		l.SetLevel("org.apache", hclog.Trace)
		if l.Logger(Journal).IsDebug() || !l.Logger("org.apache.other").IsTrace() {
			t.Error("SetLevel does not count where the file is silent, or counts where it is not")
		}
		rewrite("logger.artemis_server.level=DEBUG", "logger.artemis_server.level=NONSENSE")
		time.Sleep(6 * time.Second)
		l.Flush()
		if got := s.take(); !log.IsDebug() || !strings.Contains(got, `level "NONSENSE" is not`) {
			t.Errorf("a wrong file: %q", got)
		}
		rewrite("logger.artemis_server.level=NONSENSE", "logger.artemis_server.level=ERROR")
		time.Sleep(6 * time.Second)
		if log.IsWarn() || l.Logger("org.apache.other").IsTrace() {
			t.Error("the corrected file is not read, or a level set before it still counts")
		}
		if err := os.Remove(o.File); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		if log.IsWarn() {
			t.Error("a file that is gone changes something")
		}
	})
}

func TestReloadKeepsOpenFiles(t *testing.T) {
	o, _ := instance(t, nil)
	l := open(t, o)
	before := l.state.Load().appenders
	data, err := os.ReadFile(o.File)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "%d [AUDIT](%t) %msg%n", "%msg%n", 1)
	if err := os.WriteFile(o.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	after := l.state.Load().appenders
	for name, same := range map[string]bool{"console": true, "log_file": true, "audit_log_file": false} {
		if (before[name] == after[name]) != same {
			t.Errorf("appender %s is the same: %v", name, !same)
		}
	}
	select {
	case <-before["audit_log_file"].done:
	default:
		t.Error("the old appender still runs")
	}
}

func TestWithoutFile(t *testing.T) {
	for _, file := range []string{"", filepath.Join(t.TempDir(), "missing")} {
		s := new(screen)
		l := open(t, Options{File: file, Stdout: s})
		l.Logger(Server).Info("x")
		l.Logger(Server).Debug("y")
		l.Flush()
		if got := s.take(); !strings.HasSuffix(got, " INFO  ["+Server+"] x\n") {
			t.Errorf("%q", got)
		}
	}
}

func TestUTF16(t *testing.T) {
	for _, mark := range []string{"\xfe\xff", "\xff\xfe"} {
		text := []byte(mark)
		for _, c := range []byte("rootLogger.level=ERROR") {
			if mark == "\xfe\xff" {
				text = append(text, 0, c)
			} else {
				text = append(text, c, 0)
			}
		}
		if got := decode(text); got != "rootLogger.level=ERROR" {
			t.Errorf("%q", got)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	wrong, _ := instance(t, func(string) string { return "rootLogger.level = LOUD" })
	if _, err := Open(wrong); err == nil || !strings.Contains(err.Error(), wrong.File) {
		t.Errorf("a wrong file: %v", err)
	}
	// A log file that cannot be written is told on what can.
	o, s := instance(t, nil)
	if err := os.WriteFile(filepath.Join(filepath.Dir(o.File), "log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, o)
	l.Logger(Server).Info("still here")
	l.Flush()
	if got := s.take(); !strings.Contains(got, "appender log_file: ") || !strings.Contains(got, "still here") {
		t.Errorf("console: %q", got)
	}
}

// stuckWriter blocks until it is released.
type stuckWriter struct {
	release chan struct{}
	screen
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.release
	return w.screen.Write(p)
}

// A console that nobody reads holds a caller up once, for a moment, and costs a bounded amount of memory.
func TestStuckConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{release: make(chan struct{})}
		l, err := Open(Options{Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		log := l.Logger(Server)
		start := time.Now()
		line := strings.Repeat("x", 1000)
		const messages = 5000 // five times the backlog
		for range messages {
			log.Info(line)
		}
		if waited := time.Since(start); waited != patience {
			t.Errorf("callers waited %v, want %v", waited, patience)
		}
		a := l.state.Load().appenders["console"]
		if n := len(a.pending()); n > maxBacklog+2000 {
			t.Errorf("%d bytes wait", n)
		}
		if l.Flush() {
			t.Error("flushed while stuck")
		}
		close(w.release)
		if !l.Flush() {
			t.Error("not flushed after the release")
		}
		log.Info("again")
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		text := w.take()
		var lost int
		found := regexp.MustCompile(`(\d+) log messages were lost`).FindStringSubmatch(text)
		if found == nil {
			t.Fatal("nobody says that messages were lost")
		}
		fmt.Sscan(found[1], &lost)
		if got := strings.Count(text, line); got+lost != messages || !strings.Contains(text, "again") {
			t.Errorf("%d written, %d told lost, of %d", got, lost, messages)
		}
	})
}

func TestCloseWhileStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{release: make(chan struct{})}
		l, err := Open(Options{Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		l.Logger(Server).Info("x")
		synctest.Wait()
		start := time.Now()
		if err := l.Close(); err == nil || time.Since(start) != closeTimeout {
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
		l.Logger(Server).Info("after the end")
		close(w.release)
		synctest.Wait()
	})
}

// brokenWriter refuses, then takes.
type brokenWriter struct {
	broken bool
	screen
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.broken {
		return 0, errors.New("no space")
	}
	return w.screen.Write(p)
}

func TestRefusedMessagesAreCounted(t *testing.T) {
	w := &brokenWriter{broken: true}
	l := open(t, Options{Stdout: w})
	for range 3 {
		l.Logger(Server).Info("lost")
		l.Flush()
	}
	w.broken = false
	l.Logger(Server).Info("back")
	l.Flush()
	if got := w.take(); !strings.Contains(got, "] back\n") || !strings.Contains(got, "] 3 log messages were lost") {
		t.Errorf("%q", got)
	}
}

func TestArguments(t *testing.T) {
	s := new(screen)
	l := open(t, Options{Stdout: s})
	var typedNil *os.PathError
	for _, c := range []struct {
		args []any
		want string
	}{
		{nil, ""},
		{[]any{"n", 5, "s", "x"}, " n=5 s=x"},
		{[]any{"s", ""}, ` s=""`},
		{[]any{"s", "a\nb=\"c\""}, ` s="a\nb=\"c\""`},
		{[]any{"err", errors.New("not found")}, ` err="not found"`},
		{[]any{"nil", nil, "typed", error(typedNil)}, ` nil=<nil> typed=<nil>`},
		{[]any{"f", hclog.Fmt("%03d", 7), "empty", hclog.Format{}, "h", hclog.Hex(255), "o", hclog.Octal(8), "b", hclog.Binary(5)}, ` f=007 empty="" h=0xff o=010 b=0b101`},
		{[]any{"odd"}, " EXTRA_VALUE_AT_END=odd"},
		{[]any{"stack", hclog.CapturedStacktrace("one\ntwo")}, "\n\tone\n\ttwo"},
	} {
		l.Logger(Server).Info("msg", c.args...)
		l.Flush()
		if got := s.take(); !strings.HasSuffix(got, "] msg"+c.want+"\n") {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestLogger(t *testing.T) {
	s := new(screen)
	l := open(t, Options{Stdout: s})
	root := l.Logger("")
	child := root.Named("a").Named("b").With("k", 1)
	if child.Name() != "a.b" || len(child.ImpliedArgs()) != 2 || child.ResetNamed("c").Name() != "c" {
		t.Errorf("name %q, arguments %v", child.Name(), child.ImpliedArgs())
	}
	child.With("l", 2).Warn("x", "m", 3)
	child.With("l", 4).Log(hclog.NoLevel, "y")
	child.StandardLogger(&hclog.StandardLoggerOptions{InferLevels: true}).Print("[ERROR] z")
	child.StandardLogger(nil).Print("plain [DEBUG] text")
	l.Flush()
	got := regexp.MustCompile(`(?m)^.{24}`).ReplaceAllString(s.take(), "")
	if want := "WARN  [a.b] x k=1 l=2 m=3\nINFO  [a.b] y k=1 l=4\nERROR [a.b] z k=1\nINFO  [a.b] plain [DEBUG] text k=1\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	child.SetLevel(hclog.Error)
	if child.GetLevel() != hclog.Error || child.IsWarn() || !child.IsError() || !root.IsInfo() || root.IsDebug() || root.IsTrace() {
		t.Error("levels are wrong after SetLevel")
	}
}

func TestDisabledMessagesDoNotAllocate(t *testing.T) {
	log := open(t, Options{Stdout: new(screen)}).Logger(Server)
	if n := testing.AllocsPerRun(100, func() {
		log.Debug("hidden")
		log.IsTrace()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestManyLoggers(t *testing.T) {
	o, s := instance(t, nil)
	l := open(t, o)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			log := l.Logger(Server).Named(fmt.Sprint(i))
			for j := range 500 {
				log.Info("message", "n", j)
			}
		})
	}
	for range 5 {
		if err := l.Reload(); err != nil {
			t.Error(err)
		}
		l.SetLevel("x", hclog.Debug)
	}
	writers.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if got := strings.Count(s.take(), "\n"); got != 4000 {
		t.Errorf("%d lines on the console, want 4000", got)
	}
	if got := strings.Count(readLog(t, o, "artemis.log"), "\n"); got != 4000 {
		t.Errorf("%d lines in the file, want 4000", got)
	}
}
