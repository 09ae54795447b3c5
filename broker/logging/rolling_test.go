package logging

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// logDir is a folder with a file x.log in it.
type logDir struct {
	*testing.T
	dir string
}

func newLogDir(t *testing.T) logDir { return logDir{t, t.TempDir()} }

func (d logDir) open(c rollingConfig, now string) *rollingFile {
	d.Helper()
	if c.max == 0 {
		c.min, c.max = 1, 7
	}
	c.pattern = filepath.Join(d.dir, c.pattern)
	f, err := openRolling(filepath.Join(d.dir, "x.log"), false, c, at(now), func(work func()) { work() })
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { f.close() })
	return f
}

func at(text string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04:05", text, time.Local)
	if err != nil {
		panic(err)
	}
	return t
}

func (d logDir) write(f *rollingFile, text, now string) {
	d.Helper()
	if err := f.write([]byte(text), at(now)); err != nil {
		d.Fatal(err)
	}
}

// expect compares the files of the folder, "name: content" each, line ends as "/".
func (d logDir) expect(want ...string) {
	d.Helper()
	var got []string
	filepath.Walk(d.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.IsDir() {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		var in io.Reader = file
		if strings.HasSuffix(path, ".gz") {
			if in, err = gzip.NewReader(file); err != nil {
				return err
			}
		}
		data, err := io.ReadAll(in)
		got = append(got, strings.TrimPrefix(path, d.dir+"/")+": "+strings.ReplaceAll(string(data), "\n", "/"))
		return err
	})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.Errorf("files %q, want %q", got, want)
	}
}

var daily = rollingConfig{pattern: "x.log.%d{yyyy-MM-dd}", schedule: "0 0 0 * * ?", onStartup: true}

func TestRollDaily(t *testing.T) {
	d := newLogDir(t)
	f := d.open(daily, "2026-01-01 10:00:00")
	d.write(f, "a\n", "2026-01-01 10:00:00")
	d.write(f, "b\n", "2026-01-01 23:59:59")
	d.expect("x.log: a/b/")
	d.write(f, "c\n", "2026-01-02 00:00:00")
	d.expect("x.log: c/", "x.log.2026-01-01: a/b/")
	d.write(f, "d\n", "2026-01-05 09:00:00") // the days between had no messages
	d.expect("x.log: d/", "x.log.2026-01-01: a/b/", "x.log.2026-01-02: c/")
	d.write(f, "e\n", "2026-01-06 00:00:01")
	d.expect("x.log: e/", "x.log.2026-01-01: a/b/", "x.log.2026-01-02: c/", "x.log.2026-01-05: d/")
}

func TestRollWhenOpened(t *testing.T) {
	for _, onStartup := range []bool{true, false} {
		d := newLogDir(t)
		path := filepath.Join(d.dir, "x.log")
		if err := os.WriteFile(path, []byte("old\n"), 0o640); err != nil {
			t.Fatal(err)
		}
		written := at("2026-01-01 22:00:00")
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
		c := daily
		c.onStartup = onStartup
		f := d.open(c, "2026-01-03 08:00:00")
		d.write(f, "new\n", "2026-01-03 08:00:00")
		if onStartup {
			d.expect("x.log: new/", "x.log.2026-01-01: old/")
		} else {
			d.expect("x.log: old/new/")
		}
	}
}

func TestNotRolledWhenOpenedOnTheSameDay(t *testing.T) {
	d := newLogDir(t)
	path := filepath.Join(d.dir, "x.log")
	if err := os.WriteFile(path, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	written := at("2026-01-03 01:00:00")
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
	d.open(daily, "2026-01-03 08:00:00")
	d.expect("x.log: old/")
	startup := daily
	startup.startup = 5
	d.open(startup, "2026-01-03 08:00:00") // 4 bytes are too few
	d.expect("x.log: old/")
	startup.startup = 4
	d.open(startup, "2026-01-03 08:00:00")
	d.expect("x.log: ", "x.log.2026-01-03: old/")
}

func TestRollBySize(t *testing.T) {
	for _, c := range []struct {
		order indexOrder
		want  []string
	}{
		{newestIsMax, []string{"x.log: 5/", "x.log.1: 3/3/", "x.log.2: 4/4/"}},
		{newestIsMin, []string{"x.log: 5/", "x.log.1: 4/4/", "x.log.2: 3/3/"}},
		{noMax, []string{"x.log: 5/", "x.log.1: 1/1/", "x.log.2: 2/2/", "x.log.3: 3/3/", "x.log.4: 4/4/"}},
	} {
		d := newLogDir(t)
		f := d.open(rollingConfig{pattern: "x.log.%i", maxSize: 4, min: 1, max: 2, newest: c.order}, "2026-01-01 10:00:00")
		d.write(f, "1\n1\n2\n2\n3\n3\n", "2026-01-01 10:00:00") // one write is spread over files by lines
		d.write(f, "4\n", "2026-01-01 10:00:00")
		d.write(f, "4\n", "2026-01-01 10:00:00")
		d.write(f, "5\n", "2026-01-01 10:00:00")
		d.expect(c.want...)
	}
}

func TestLongLinesStayWhole(t *testing.T) {
	d := newLogDir(t)
	f := d.open(rollingConfig{pattern: "x.log.%i", maxSize: 4}, "2026-01-01 10:00:00")
	d.write(f, "a\nlonger than four\nb\n", "2026-01-01 10:00:00")
	d.expect("x.log: b/", "x.log.1: a/longer than four/")
}

func TestCompressed(t *testing.T) {
	d := newLogDir(t)
	f := d.open(rollingConfig{pattern: "old/%d{yyyy}/x-%2i.gz", maxSize: 1, min: 1, max: 2}, "2026-01-01 10:00:00")
	for _, text := range []string{"1\n", "2\n", "3\n", "4\n"} {
		d.write(f, text, "2026-01-01 10:00:00")
	}
	d.expect("old/2026/x-01.gz: 2/", "old/2026/x-02.gz: 3/", "x.log: 4/")
}

func TestRollByUnits(t *testing.T) {
	for _, c := range []struct {
		date     string
		interval int
		same     string // still in the file of 2026-01-01 10:20:30
		next     string
		name     string
	}{
		{"yyyy", 1, "2026-12-31 23:59:59", "2027-01-01 00:00:00", "2026"},
		{"yyyy-MM", 2, "2026-02-28 23:59:59", "2026-03-01 00:00:00", "2026-02"},
		{"yyyy-MM-dd", 1, "2026-01-01 23:59:59", "2026-01-02 00:00:00", "2026-01-01"},
		{"dd.HH", 1, "2026-01-01 10:59:59", "2026-01-01 11:00:00", "01.10"},
		{"HH-mm", 5, "2026-01-01 10:24:59", "2026-01-01 10:25:00", "10-24"},
		{"HH-mm-ss", 1, "2026-01-01 10:20:30", "2026-01-01 10:20:31", "10-20-30"},
	} {
		d := newLogDir(t)
		f := d.open(rollingConfig{pattern: "x.%d{" + c.date + "}", interval: c.interval}, "2026-01-01 10:20:30")
		d.write(f, "a\n", "2026-01-01 10:20:30")
		d.write(f, "b\n", c.same)
		d.expect("x.log: a/b/")
		d.write(f, "c\n", c.next)
		d.expect("x."+c.name+": a/b/", "x.log: c/")
	}
}

// Two files of one day: the second does not take the place of the first.
func TestNothingIsOverwritten(t *testing.T) {
	d := newLogDir(t)
	f := d.open(rollingConfig{pattern: "x.%d{yyyy-MM-dd}", maxSize: 1}, "2026-01-01 10:00:00")
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		d.write(f, text, "2026-01-01 10:00:00")
	}
	d.expect("x.2026-01-01: 1/", "x.2026-01-01.2: 2/", "x.log: 3/")
}

// A name that cannot be given costs nothing but the roll.
func TestRollFails(t *testing.T) {
	d := newLogDir(t)
	f := d.open(rollingConfig{pattern: "no/%i", maxSize: 1}, "2026-01-01 10:00:00")
	if err := os.WriteFile(filepath.Join(d.dir, "no"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	d.write(f, "1\n", "2026-01-01 10:00:00")
	if err := f.write([]byte("2\n"), at("2026-01-01 10:00:00")); err == nil {
		t.Error("a folder that is a file is no error")
	}
	if err := os.Remove(filepath.Join(d.dir, "no")); err != nil {
		t.Fatal(err)
	}
	d.write(f, "3\n", "2026-01-01 10:00:00")
	d.expect("no/1: 1/", "x.log: 3/")
}
