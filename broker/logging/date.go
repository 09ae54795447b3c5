package logging

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dateFormat is a date pattern of Java, compiled: "yyyy-MM-dd HH:mm:ss,SSS".
type dateFormat struct {
	parts    []datePart
	location *time.Location
}

// datePart is a run of one pattern letter, or literal text.
type datePart struct {
	letter  byte // 0: literal
	count   int
	literal string
}

// namedDates are the names that PatternLayout has for patterns.
var namedDates = map[string]string{
	"":                               "yyyy-MM-dd HH:mm:ss,SSS",
	"DEFAULT":                        "yyyy-MM-dd HH:mm:ss,SSS",
	"DEFAULT_MICROS":                 "yyyy-MM-dd HH:mm:ss,SSSSSS",
	"DEFAULT_NANOS":                  "yyyy-MM-dd HH:mm:ss,SSSSSSSSS",
	"DEFAULT_PERIOD":                 "yyyy-MM-dd HH:mm:ss.SSS",
	"ISO8601":                        "yyyy-MM-dd'T'HH:mm:ss,SSS",
	"ISO8601_BASIC":                  "yyyyMMdd'T'HHmmss,SSS",
	"ISO8601_PERIOD":                 "yyyy-MM-dd'T'HH:mm:ss.SSS",
	"ISO8601_OFFSET_DATE_TIME_HH":    "yyyy-MM-dd'T'HH:mm:ss,SSSx",
	"ISO8601_OFFSET_DATE_TIME_HHMM":  "yyyy-MM-dd'T'HH:mm:ss,SSSxx",
	"ISO8601_OFFSET_DATE_TIME_HHCMM": "yyyy-MM-dd'T'HH:mm:ss,SSSxxx",
	"ABSOLUTE":                       "HH:mm:ss,SSS",
	"ABSOLUTE_PERIOD":                "HH:mm:ss.SSS",
	"DATE":                           "dd MMM yyyy HH:mm:ss,SSS",
	"COMPACT":                        "yyyyMMddHHmmssSSS",
}

const dateLetters = "yuMdHhmsSnaEDXxZz"

// Letters of the patterns UNIX and UNIX_MILLIS, which are no letters of Java.
const (
	unixSeconds = 1
	unixMillis  = 2
)

func parseDate(pattern, zone string) (dateFormat, error) {
	f := dateFormat{location: time.Local}
	if zone != "" {
		location, err := parseZone(zone)
		if err != nil {
			return f, err
		}
		f.location = location
	}
	if named, ok := namedDates[pattern]; ok {
		pattern = named
	}
	switch pattern {
	case "UNIX":
		f.parts = []datePart{{letter: unixSeconds}}
		return f, nil
	case "UNIX_MILLIS":
		f.parts = []datePart{{letter: unixMillis}}
		return f, nil
	}
	for pattern != "" {
		c := pattern[0]
		switch {
		case c == '\'':
			if strings.HasPrefix(pattern, "''") {
				f.literal("'")
				pattern = pattern[2:]
				continue
			}
			text, rest, ok := strings.Cut(pattern[1:], "'")
			if !ok {
				return f, fmt.Errorf("date pattern: quote without end in %q", pattern)
			}
			f.literal(text)
			pattern = rest
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			if strings.IndexByte(dateLetters, c) < 0 {
				return f, fmt.Errorf("date pattern: letter %q is not known", c)
			}
			n := len(pattern) - len(strings.TrimLeft(pattern, string(c)))
			f.parts = append(f.parts, datePart{letter: c, count: min(n, 9)})
			pattern = pattern[n:]
		default:
			f.literal(pattern[:1])
			pattern = pattern[1:]
		}
	}
	return f, nil
}

func (f *dateFormat) literal(text string) { f.parts = append(f.parts, datePart{literal: text}) }

// parseZone reads "UTC", "Europe/Berlin" or "GMT+2", "GMT-03:30".
func parseZone(name string) (*time.Location, error) {
	if offset, ok := strings.CutPrefix(name, "GMT"); ok && offset != "" {
		hours, minutes, _ := strings.Cut(offset[1:], ":")
		h, err := strconv.Atoi(hours)
		m := 0
		if err == nil && minutes != "" {
			m, err = strconv.Atoi(minutes)
		}
		if err != nil || h > 18 || m > 59 || offset[0] != '+' && offset[0] != '-' {
			return nil, fmt.Errorf("time zone %q is not known", name)
		}
		seconds := h*3600 + m*60
		if offset[0] == '-' {
			seconds = -seconds
		}
		return time.FixedZone(name, seconds), nil
	}
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("time zone %q is not known", name)
	}
	return location, nil
}

// append writes the time to the end of b.
func (f *dateFormat) append(b []byte, t time.Time) []byte {
	t = t.In(f.location)
	for i := range f.parts {
		p := &f.parts[i]
		switch p.letter {
		case 0:
			b = append(b, p.literal...)
		case 'y', 'u':
			year := t.Year()
			if p.count == 2 {
				year %= 100
			}
			b = appendNumber(b, year, p.count)
		case 'M':
			switch {
			case p.count < 3:
				b = appendNumber(b, int(t.Month()), p.count)
			case p.count == 3:
				b = append(b, t.Month().String()[:3]...)
			default:
				b = append(b, t.Month().String()...)
			}
		case 'd':
			b = appendNumber(b, t.Day(), p.count)
		case 'D':
			b = appendNumber(b, t.YearDay(), p.count)
		case 'H':
			b = appendNumber(b, t.Hour(), p.count)
		case 'h':
			b = appendNumber(b, (t.Hour()+11)%12+1, p.count)
		case 'm':
			b = appendNumber(b, t.Minute(), p.count)
		case 's':
			b = appendNumber(b, t.Second(), p.count)
		case 'S', 'n':
			fraction := t.Nanosecond()
			for range 9 - p.count {
				fraction /= 10
			}
			b = appendNumber(b, fraction, p.count)
		case 'a':
			b = t.AppendFormat(b, "PM")
		case 'E':
			layout := "Mon"
			if p.count > 3 {
				layout = "Monday"
			}
			b = t.AppendFormat(b, layout)
		case 'X':
			b = t.AppendFormat(b, [...]string{"Z07", "Z0700", "Z07:00"}[min(p.count, 3)-1])
		case 'x':
			b = t.AppendFormat(b, [...]string{"-07", "-0700", "-07:00"}[min(p.count, 3)-1])
		case 'Z':
			b = t.AppendFormat(b, "-0700")
		case 'z':
			b = t.AppendFormat(b, "MST")
		case unixSeconds:
			b = strconv.AppendInt(b, t.Unix(), 10)
		case unixMillis:
			b = strconv.AppendInt(b, t.UnixMilli(), 10)
		}
	}
	return b
}

func appendNumber(b []byte, n, width int) []byte {
	var digits [20]byte
	i := len(digits)
	for n > 0 || i == len(digits) {
		i--
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	for len(digits)-i < width {
		i--
		digits[i] = '0'
	}
	return append(b, digits[i:]...)
}
