package logging

import (
	"fmt"
	"io"
	"log"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"
)

// logger is an hclog.Logger with the name of a log4j logger.
type logger struct {
	owner   *Logging
	name    string
	implied []any

	route *atomic.Pointer[route] // shared by loggers of the same name that With made
}

// Logger gives the logger of a name; "" is the root logger. Its messages are printed with their arguments as
// "message key=value". SetLevel on it is [Logging.SetLevel]; Named appends to the name with a dot.
func (l *Logging) Logger(name string) hclog.Logger {
	return &logger{owner: l, name: name, route: new(atomic.Pointer[route])}
}

// current is the route of the present configuration.
func (g *logger) current() *route {
	s := g.owner.state.Load()
	r := g.route.Load()
	if r == nil || r.state != s {
		r = s.route(g.name)
		g.route.Store(r)
	}
	return r
}

func (g *logger) enabled(level hclog.Level) bool { return level >= g.current().level }

func (g *logger) Log(level hclog.Level, msg string, args ...any) {
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	r := g.current()
	if level < r.level || level == hclog.Off {
		return
	}
	e := event{at: time.Now(), level: level, logger: g.name, message: msg}
	if len(g.implied) > 0 || len(args) > 0 {
		e.message = string(appendArgs(appendArgs([]byte(msg), g.implied), args))
	}
	for _, o := range r.outputs {
		if level >= o.threshold {
			o.log(&e)
		}
	}
}

func (g *logger) Trace(msg string, args ...any) { g.Log(hclog.Trace, msg, args...) }
func (g *logger) Debug(msg string, args ...any) { g.Log(hclog.Debug, msg, args...) }
func (g *logger) Info(msg string, args ...any)  { g.Log(hclog.Info, msg, args...) }
func (g *logger) Warn(msg string, args ...any)  { g.Log(hclog.Warn, msg, args...) }
func (g *logger) Error(msg string, args ...any) { g.Log(hclog.Error, msg, args...) }

func (g *logger) IsTrace() bool { return g.enabled(hclog.Trace) }
func (g *logger) IsDebug() bool { return g.enabled(hclog.Debug) }
func (g *logger) IsInfo() bool  { return g.enabled(hclog.Info) }
func (g *logger) IsWarn() bool  { return g.enabled(hclog.Warn) }
func (g *logger) IsError() bool { return g.enabled(hclog.Error) }

func (g *logger) ImpliedArgs() []any { return g.implied }
func (g *logger) Name() string       { return g.name }

func (g *logger) With(args ...any) hclog.Logger {
	with := *g
	with.implied = append(slices.Clip(g.implied), args...)
	return &with
}

func (g *logger) Named(name string) hclog.Logger {
	if g.name != "" {
		name = g.name + "." + name
	}
	return g.ResetNamed(name)
}

func (g *logger) ResetNamed(name string) hclog.Logger {
	return &logger{owner: g.owner, name: name, implied: g.implied, route: new(atomic.Pointer[route])}
}

func (g *logger) SetLevel(level hclog.Level) { g.owner.SetLevel(g.name, level) }
func (g *logger) GetLevel() hclog.Level      { return g.current().level }

func (g *logger) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(g.StandardWriter(o), "", 0)
}

func (g *logger) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	if o == nil {
		o = &hclog.StandardLoggerOptions{}
	}
	return &standardWriter{g, *o}
}

// standardWriter makes a message of each write of the standard library's logger.
type standardWriter struct {
	to      *logger
	options hclog.StandardLoggerOptions
}

func (w *standardWriter) Write(p []byte) (int, error) {
	text := strings.TrimRight(string(p), "\n")
	level := w.options.ForceLevel
	if level == hclog.NoLevel && (w.options.InferLevels || w.options.InferLevelsWithTimestamp) {
		if prefix, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "] "); ok && text[0] == '[' {
			if inferred := hclog.LevelFromString(prefix); inferred != hclog.NoLevel {
				level, text = inferred, rest
			}
		}
	}
	w.to.Log(level, text)
	return len(p), nil
}

// appendArgs writes pairs as " key=value".
func appendArgs(b []byte, args []any) []byte {
	for len(args) > 0 {
		key := any("EXTRA_VALUE_AT_END")
		value := args[0]
		if len(args) > 1 {
			key, value = args[0], args[1]
		}
		args = args[min(2, len(args)):]
		if stack, ok := value.(hclog.CapturedStacktrace); ok {
			b = append(append(b, '\n'), stack...)
			continue
		}
		b = append(b, ' ')
		b = fmt.Append(b, key)
		b = append(b, '=')
		b = appendValue(b, value)
	}
	return b
}

func appendValue(b []byte, value any) []byte {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case hclog.Format:
		if len(v) > 0 {
			text = fmt.Sprintf(fmt.Sprint(v[0]), v[1:]...)
		}
	case hclog.Hex:
		return fmt.Appendf(b, "%#x", v)
	case hclog.Octal:
		return fmt.Appendf(b, "%#o", v)
	case hclog.Binary:
		return fmt.Appendf(b, "%#b", v)
	default:
		text = fmt.Sprint(v)
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.AppendQuote(b, text)
	}
	return append(b, text...)
}
