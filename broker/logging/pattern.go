package logging

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
)

// event is one message on its way to the appenders.
type event struct {
	at      time.Time
	level   hclog.Level
	logger  string
	message string // with its arguments
}

// layout is a compiled conversion pattern of PatternLayout: "%d %-5level [%logger] %msg%n".
type layout struct {
	parts []conversion
}

// conversion is one conversion, or literal text before it.
type conversion struct {
	kind      conversionKind
	literal   string
	date      dateFormat
	precision int // of a logger name: its last so many parts; of a level: its first so many letters; 0: all
	left      bool
	least     int // width in characters
	most      int // 0: any; what is too much goes at the front
}

type conversionKind uint8

const (
	literalText conversionKind = iota
	dateTime
	levelText
	loggerName
	messageText
	lineEnd
	threadName
	processID
	sinceStart
	nothing // diagnostic context, exceptions, markers: there are none
)

// defaultPattern is that of instances made by create.
const defaultPattern = "%d %-5level [%logger] %msg%n"

// conversionNames are the conversion words; the longest that fits counts.
var conversionNames = map[string]conversionKind{
	"d": dateTime, "date": dateTime,
	"p": levelText, "level": levelText,
	"c": loggerName, "logger": loggerName,
	"m": messageText, "msg": messageText, "message": messageText,
	"n": lineEnd,
	"t": threadName, "tn": threadName, "thread": threadName, "threadName": threadName,
	"pid": processID, "processId": processID, "T": processID, "tid": processID, "threadId": processID,
	"r": sinceStart, "relative": sinceStart,
	"x": nothing, "X": nothing, "NDC": nothing, "MDC": nothing, "mdc": nothing, "K": nothing, "map": nothing, "MAP": nothing,
	"ex": nothing, "xEx": nothing, "rEx": nothing, "throwable": nothing, "xThrowable": nothing, "rThrowable": nothing, "exception": nothing, "xException": nothing, "rException": nothing,
	"marker": nothing, "markerSimpleName": nothing,
	"C": nothing, "class": nothing, "F": nothing, "file": nothing, "L": nothing, "line": nothing, "M": nothing, "method": nothing, "l": nothing, "location": nothing,
}

// parsePattern compiles a pattern. The error names what is not known.
func parsePattern(pattern string) (layout, error) {
	var l layout
	literal := func(text string) { l.parts = append(l.parts, conversion{literal: text}) }
	for pattern != "" {
		at := strings.IndexByte(pattern, '%')
		if at < 0 {
			literal(pattern)
			break
		}
		if at > 0 {
			literal(pattern[:at])
		}
		pattern = pattern[at+1:]
		if strings.HasPrefix(pattern, "%") {
			literal("%")
			pattern = pattern[1:]
			continue
		}
		c, rest, err := parseConversion(pattern)
		if err != nil {
			return layout{}, err
		}
		l.parts = append(l.parts, c)
		pattern = rest
	}
	return l, nil
}

// maxWidth bounds the field width of a conversion, in characters.
const maxWidth = 1000

func parseConversion(pattern string) (c conversion, rest string, err error) {
	rest = pattern
	for strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "0") && len(rest) > 1 {
		c.left = c.left || rest[0] == '-'
		rest = rest[1:]
	}
	c.least, rest = leadingNumber(rest)
	if after, ok := strings.CutPrefix(rest, "."); ok {
		after = strings.TrimPrefix(after, "-")
		c.most, rest = leadingNumber(after)
	}
	if c.least > maxWidth || c.most > maxWidth {
		return c, "", fmt.Errorf("layout pattern: width in %%%.20s is more than %d", pattern, maxWidth)
	}
	word := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
	known := false
	for ; word != ""; word = word[:len(word)-1] {
		if c.kind, known = conversionNames[word]; known {
			break
		}
	}
	if !known {
		return c, "", fmt.Errorf("layout pattern: conversion %%%.20s is not known", pattern)
	}
	rest = rest[len(word):]
	var options []string
	for strings.HasPrefix(rest, "{") {
		option, after, ok := strings.Cut(rest[1:], "}")
		if !ok {
			return c, "", fmt.Errorf("layout pattern: %%%s{ without }", word)
		}
		options, rest = append(options, option), after
	}
	options = append(options, "", "")
	switch c.kind {
	case dateTime:
		c.date, err = parseDate(options[0], options[1])
	case loggerName:
		c.precision, _ = strconv.Atoi(options[0])
	case levelText:
		length, _ := strings.CutPrefix(options[0], "length=")
		c.precision, _ = strconv.Atoi(length)
	}
	return c, rest, err
}

func leadingNumber(s string) (n int, rest string) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.Atoi(s[:digits])
	if err != nil && digits > 0 {
		n = maxWidth + 1
	}
	return n, s[digits:]
}

var started = time.Now()

// append writes an event to the end of b.
func (l *layout) append(b []byte, e *event) []byte {
	for i := range l.parts {
		c := &l.parts[i]
		if c.kind == literalText {
			b = append(b, c.literal...)
			continue
		}
		start := len(b)
		b = c.append(b, e)
		if c.least > 0 || c.most > 0 {
			b = c.fit(b, start)
		}
	}
	return b
}

func (c *conversion) append(b []byte, e *event) []byte {
	switch c.kind {
	case dateTime:
		return c.date.append(b, e.at)
	case levelText:
		name := levelName(e.level)
		if c.precision > 0 {
			name = name[:min(c.precision, len(name))]
		}
		return append(b, name...)
	case loggerName:
		return append(b, lastParts(e.logger, c.precision)...)
	case messageText:
		return appendMessage(b, e.message)
	case lineEnd:
		return append(b, '\n')
	case threadName:
		return append(b, "main"...)
	case processID:
		return strconv.AppendInt(b, int64(os.Getpid()), 10)
	case sinceStart:
		return strconv.AppendInt(b, e.at.Sub(started).Milliseconds(), 10)
	}
	return b
}

// lastParts is the end of a dotted name.
func lastParts(name string, n int) string {
	if n <= 0 {
		return name
	}
	at := len(name)
	for ; n > 0; n-- {
		at = strings.LastIndexByte(name[:at], '.')
		if at < 0 {
			return name
		}
	}
	return name[at+1:]
}

// appendMessage writes a message so that nobody can forge a line with what is in it: following lines are indented, and
// control characters are escaped.
func appendMessage(b []byte, message string) []byte {
	for i := 0; i < len(message); i++ {
		switch c := message[i]; {
		case c == '\n':
			if b = append(b, '\n'); i+1 < len(message) {
				b = append(b, '\t')
			}
		case c < ' ' && c != '\t' || c == 0x7f:
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return b
}

// fit pads or cuts what was written from start on.
func (c *conversion) fit(b []byte, start int) []byte {
	width := utf8.RuneCount(b[start:])
	if c.most > 0 && width > c.most {
		cut := start
		for ; width > c.most; width-- {
			_, n := utf8.DecodeRune(b[cut:])
			cut += n
		}
		return append(b[:start], b[cut:]...)
	}
	missing := c.least - width
	if missing <= 0 {
		return b
	}
	blanks := strings.Repeat(" ", missing)
	if c.left {
		return append(b, blanks...)
	}
	return append(b[:start], append([]byte(blanks), b[start:]...)...)
}
