package logging

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"

	"github.com/hashicorp/go-hclog"
)

// Options configure [Open].
type Options struct {
	// File is the log4j2.properties. Without it, or when there is none, INFO and above go to the console.
	File string
	// Lookup answers system properties and environment variables, such as artemis.instance; nil knows none.
	Lookup func(name string) (value string, ok bool)
	// Stdout and Stderr are the console; nil stands for the process's own.
	Stdout, Stderr io.Writer
}

// Logging owns the appenders and what watches the file. Its methods are safe for concurrent use.
type Logging struct {
	options Options

	state atomic.Pointer[state]

	changing  sync.Mutex // held while the configuration changes
	seen      fileStamp
	overrides map[string]hclog.Level
	closed    bool

	archiving sync.WaitGroup
	rewatch   chan time.Duration
	stop      chan struct{}
	stopped   chan struct{}
}

// state is one configuration with its open appenders. It does not change.
type state struct {
	config    *configuration
	overrides map[string]hclog.Level
	appenders map[string]*appender
}

// fileStamp tells whether a file has changed.
type fileStamp struct {
	exists bool
	at     time.Time
	size   int64
}

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{true, info.ModTime(), info.Size()}
}

// Open reads the configuration and opens the appenders. A file that is wrong is an error; what it has that is not known
// here is logged as a warning. A log file that cannot be opened is logged as an error and its messages are lost.
func Open(o Options) (*Logging, error) {
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	l := &Logging{options: o, overrides: make(map[string]hclog.Level),
		rewatch: make(chan time.Duration, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	l.state.Store(&state{config: fallback(), appenders: map[string]*appender{}})
	l.changing.Lock()
	defer l.changing.Unlock()
	l.seen = stampOf(o.File)
	c, err := l.read()
	if err != nil {
		return nil, err
	}
	l.apply(c)
	go l.watch(c.monitor)
	return l, nil
}

// maxFileSize bounds a log4j2.properties, in bytes.
const maxFileSize = 1 << 20

func (l *Logging) read() (*configuration, error) {
	if l.options.File == "" {
		return fallback(), nil
	}
	f, err := os.Open(l.options.File)
	if errors.Is(err, os.ErrNotExist) {
		return fallback(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("logging: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("logging: read %s: %w", l.options.File, err)
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("logging: %s: more than %d bytes", l.options.File, maxFileSize)
	}
	c, err := readConfiguration(decode(data), l.options.Lookup)
	if err != nil {
		return nil, fmt.Errorf("logging: %s: %w", l.options.File, err)
	}
	return c, nil
}

// decode reads UTF-8, or UTF-16 when its mark is there, as create --encoding UTF-16 writes.
func decode(data []byte) string {
	big := bytes.HasPrefix(data, []byte{0xfe, 0xff})
	if !big && !bytes.HasPrefix(data, []byte{0xff, 0xfe}) {
		return strings.ToValidUTF8(string(data), "?")
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		high, low := data[i], data[i+1]
		if !big {
			high, low = low, high
		}
		units = append(units, uint16(high)<<8|uint16(low))
	}
	return string(utf16.Decode(units))
}

// closeTimeout is how long a stuck output is waited for when it is closed or flushed.
const closeTimeout = 2 * time.Second

// apply makes c the configuration. Appenders that are the same as before stay open.
func (l *Logging) apply(c *configuration) {
	old := l.state.Load()
	next := &state{config: c, overrides: make(map[string]hclog.Level), appenders: make(map[string]*appender)}
	for name, level := range l.overrides {
		next.overrides[name] = level
	}
	var obsolete []*appender
	for name, a := range old.appenders {
		if c.appenders[name] == old.config.appenders[name] {
			next.appenders[name] = a
		} else {
			obsolete = append(obsolete, a)
		}
	}
	var problems []string
	for name, config := range c.appenders {
		if next.appenders[name] != nil || config.kind == nullAppender {
			continue
		}
		a, err := l.open(config)
		if err != nil {
			problems = append(problems, fmt.Sprintf("appender %s: %v; its messages are lost until the file is written anew", name, err))
			continue
		}
		next.appenders[name] = a
	}
	l.state.Store(next)
	closeAll(obsolete)
	log := l.Logger(Server)
	for _, problem := range problems {
		log.Error("logging: " + problem)
	}
	for _, warning := range c.warnings {
		log.Warn("logging: " + l.options.File + ": " + warning)
	}
}

func (l *Logging) open(c appenderConfig) (*appender, error) {
	format, err := parsePattern(c.pattern)
	if err != nil {
		return nil, err
	}
	var s sink
	switch {
	case c.kind == consoleAppender && c.stderr:
		s = console{l.options.Stderr}
	case c.kind == consoleAppender:
		s = console{l.options.Stdout}
	default:
		archive := func(work func()) { l.archiving.Go(work) }
		if s, err = openRolling(c.path, c.truncate, c.rolling, time.Now(), archive); err != nil {
			return nil, err
		}
	}
	return newAppender(format, c.threshold, s), nil
}

func closeAll(appenders []*appender) error {
	deadline := make(chan time.Time)
	timer := time.AfterFunc(closeTimeout, func() { close(deadline) })
	defer timer.Stop()
	var errs []error
	for _, a := range appenders {
		errs = append(errs, a.close(deadline))
	}
	return errors.Join(errs...)
}

// Reload reads the file again. Levels that [Logging.SetLevel] set are gone then. A file that is wrong changes nothing.
func (l *Logging) Reload() error {
	l.changing.Lock()
	defer l.changing.Unlock()
	return l.reload()
}

func (l *Logging) reload() error {
	if l.closed {
		return nil
	}
	l.seen = stampOf(l.options.File)
	c, err := l.read()
	if err != nil {
		return err
	}
	clear(l.overrides)
	l.apply(c)
	select {
	case <-l.rewatch: // an interval that has not been taken yet
	default:
	}
	l.rewatch <- c.monitor
	return nil
}

// watch looks at the file every interval until it is stopped.
func (l *Logging) watch(interval time.Duration) {
	defer close(l.stopped)
	for {
		var tick <-chan time.Time
		if interval > 0 && l.options.File != "" {
			tick = time.After(interval)
		}
		select {
		case <-l.stop:
			return
		case interval = <-l.rewatch:
		case <-tick:
			l.check()
		}
	}
}

// check reloads the file if it has changed. One that is gone or wrong leaves things as they are.
func (l *Logging) check() {
	l.changing.Lock()
	defer l.changing.Unlock()
	stamp := stampOf(l.options.File)
	if stamp == l.seen || !stamp.exists {
		return
	}
	if err := l.reload(); err != nil {
		l.Logger(Server).Warn("the changed file is not used: " + err.Error())
		return
	}
	l.Logger(Server).Info("logging: read " + l.options.File + " again")
}

// SetLevel changes the level of a logger and those below it, until the file is read again. "" is the root logger.
func (l *Logging) SetLevel(name string, level hclog.Level) {
	l.changing.Lock()
	defer l.changing.Unlock()
	l.overrides[name] = level
	old := l.state.Load()
	next := &state{config: old.config, appenders: old.appenders, overrides: make(map[string]hclog.Level)}
	for name, level := range l.overrides {
		next.overrides[name] = level
	}
	l.state.Store(next)
}

// Flush waits until everything logged before has been written, two seconds at most. False means that it has not.
func (l *Logging) Flush() bool {
	deadline := make(chan time.Time)
	timer := time.AfterFunc(closeTimeout, func() { close(deadline) })
	defer timer.Stop()
	done := true
	for _, a := range l.state.Load().appenders {
		done = a.flush(deadline) && done
	}
	return done
}

// Close writes what is left and closes the files, two seconds at most for outputs that are stuck. Messages after it are
// lost.
func (l *Logging) Close() error {
	l.changing.Lock()
	if l.closed {
		l.changing.Unlock()
		return nil
	}
	l.closed = true
	var all []*appender
	for _, a := range l.state.Load().appenders {
		all = append(all, a)
	}
	l.changing.Unlock()
	close(l.stop)
	<-l.stopped
	err := closeAll(all)
	l.archiving.Wait()
	return err
}

// route is what a state means for one logger.
type route struct {
	state   *state
	level   hclog.Level
	outputs []output
}

type output struct {
	*appender
	threshold hclog.Level
}

// route finds the level of the nearest logger that has one, and the appenders from the nearest logger upwards.
func (s *state) route(name string) *route {
	r := &route{state: s, level: hclog.NoLevel}
	additive := true
	for at := name; ; {
		c, configured := s.config.loggers[at]
		if at == "" {
			c, configured = s.config.root, true
		}
		if level, ok := s.overrides[at]; ok && r.level == hclog.NoLevel {
			r.level = level
		}
		if configured && r.level == hclog.NoLevel {
			r.level = c.level
		}
		if configured && additive {
			r.add(c.refs)
			additive = c.additive
		}
		if at == "" {
			return r
		}
		at = at[:max(0, strings.LastIndexByte(at, '.'))]
	}
}

func (r *route) add(refs []appenderRef) {
	for _, ref := range refs {
		if a := r.state.appenders[ref.name]; a != nil {
			r.outputs = append(r.outputs, output{a, ref.threshold})
		}
	}
}
