package logging

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// goldenRows reads a file of tab-separated values.
func goldenRows(t *testing.T, name string) [][]string {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != 3 {
			t.Fatalf("%s: %q", name, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// inUTC makes a pattern print in UTC where it would take the local time.
func inUTC(t *testing.T, pattern string) layout {
	t.Helper()
	l, err := parsePattern(pattern)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	for i := range l.parts {
		if l.parts[i].date.location == time.Local {
			l.parts[i].date.location = time.UTC
		}
	}
	return l
}

func TestPatternsOfLog4j(t *testing.T) {
	for _, row := range goldenRows(t, "patterns.tsv") {
		level, _ := parseLevel(row[1])
		l := inUTC(t, row[0])
		got := string(l.append(nil, &event{at: time.UnixMilli(1767323045678), level: level, logger: Server, message: "AMQ221007: Server is now active"}))
		if want := strings.ReplaceAll(row[2], `\n`, "\n"); got != want {
			t.Errorf("%s: %q, want %q", row[0], got, want)
		}
	}
}

func TestPatternErrors(t *testing.T) {
	for pattern, reason := range map[string]string{
		"%highlight{%m}":          "%highlight",
		"%":                       "not known",
		"%d{yyyy":                 "without }",
		"%d{YYYY}":                `letter 'Y' is not known`,
		"%d{'x}":                  "quote without end",
		"%d{HH}{Moon}":            `time zone "Moon" is not known`,
		"%d{HH}{GMT+99}":          `time zone "GMT+99" is not known`,
		"%9999c":                  "more than 1000",
		"%.99999999999999999999c": "more than 1000",
	} {
		if _, err := parsePattern(pattern); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %s", pattern, err, reason)
		}
	}
}

func TestMessagesCannotForgeLines(t *testing.T) {
	l := inUTC(t, "%-5p %m%n")
	for message, want := range map[string]string{
		"one\ntwo\n":       "WARN  one\n\ttwo\n\n",
		"a\r\x1b[31mb\x7f": "WARN  a\\x0d\\x1b[31mb\\x7f\n",
		"tab\tstays":       "WARN  tab\tstays\n",
	} {
		if got := string(l.append(nil, &event{level: hclog.Warn, message: message})); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func TestSchedulesOfLog4j(t *testing.T) {
	for _, row := range goldenRows(t, "schedules.tsv") {
		c, err := parseCron(row[0])
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		from, err := time.Parse(time.DateTime, row[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := c.next(from).Format(time.DateTime); got != row[2] {
			t.Errorf("%s after %s: %s, want %s", row[0], row[1], got, row[2])
		}
	}
}

// A day that has no midnight, and one with an hour twice, do not stop the search.
func TestScheduleOverClockChange(t *testing.T) {
	for _, c := range []struct{ zone, schedule, from, want string }{
		{"America/Sao_Paulo", "0 0 0 * * ?", "2018-11-03 12:00:00", "2018-11-05 00:00:00"}, // no midnight on the 4th
		{"Europe/Berlin", "0 30 2 * * ?", "2026-03-28 12:00:00", "2026-03-30 02:30:00"},    // no 02:30 on the 29th
		{"Europe/Berlin", "0 0 0 * * ?", "2026-10-25 12:00:00", "2026-10-26 00:00:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		schedule, err := parseCron(c.schedule)
		if err != nil {
			t.Fatal(err)
		}
		from, _ := time.ParseInLocation(time.DateTime, c.from, zone)
		if got := schedule.next(from).Format(time.DateTime); got != c.want {
			t.Errorf("%s, %s after %s: %s, want %s", c.zone, c.schedule, c.from, got, c.want)
		}
	}
}

func TestScheduleErrors(t *testing.T) {
	for _, text := range []string{"", "0 0 0 * *", "60 0 0 * * ?", "x 0 0 * * ?", "0 0 0 L * ?", "0/0 0 0 * * ?", "0 0 0 31 2 ?", "0 0 0 * * ? 2020", "0 0 0 ? * FOO"} {
		if _, err := parseCron(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"": 10 << 20, "1024": 1024, "250MB": 250 << 20, "250 MB": 250 << 20, "1.5 KB": 1536, "2gb": 2 << 30} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"MB", "0", "-5", "10XB", "1MBMB", "9999999999TB"} {
		if _, err := parseSize(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{defaultPattern, "%d{ISO8601}{UTC} %5.10c{2} %%", "%p{length=1}%t", "%-05d{HH ''o'' 'x'}", "%X{a}%ex"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		l, err := parsePattern(pattern)
		if err != nil {
			return
		}
		line := l.append(nil, &event{at: time.Unix(0, 0), level: hclog.Info, logger: Server, message: "m"})
		if len(line) > len(pattern)*maxWidth+1000 {
			t.Fatalf("%q makes %d bytes", pattern, len(line))
		}
	})
}
