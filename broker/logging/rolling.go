package logging

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// rollingConfig says when a file is put aside and under which name.
type rollingConfig struct {
	pattern   string // filePattern: %d{date pattern} and %i are replaced, .gz compresses
	schedule  string // CronTriggeringPolicy
	onStartup bool   // a time that passed while the broker was down counts
	interval  int    // TimeBasedTriggeringPolicy, in the smallest unit of the date pattern; 0: none
	maxSize   int64  // SizeBasedTriggeringPolicy, bytes; 0: none
	startup   int64  // OnStartupTriggeringPolicy: the size from which on; 0: never
	min, max  int    // of %i
	newest    indexOrder
}

// indexOrder says which number the latest file gets.
type indexOrder uint8

const (
	newestIsMax indexOrder = iota // numbers shift down when max is reached
	newestIsMin                   // all numbers shift up each time
	noMax                         // numbers grow for ever
)

func (r *reader) readRolling(where string, keys section) (rollingConfig, error) {
	c := rollingConfig{min: 1, max: 7, pattern: keys.take("filePattern")}
	if c.pattern == "" {
		return c, errors.New("filePattern is missing")
	}
	if _, err := parseFilePattern(c.pattern); err != nil {
		return c, err
	}
	policies := keys.below("policies")
	delete(policies, "type")
	ids, groups := policies.groups()
	for _, id := range ids {
		if err := r.readPolicy(where+".policies."+id, groups[id], &c); err != nil {
			return c, err
		}
	}
	if policy := keys.below("policy"); len(policy) > 0 { // a single one needs no list
		if err := r.readPolicy(where+".policy", policy, &c); err != nil {
			return c, err
		}
	}
	return c, r.readStrategy(where+".strategy", keys.below("strategy"), &c)
}

func (r *reader) readPolicy(where string, keys section, c *rollingConfig) error {
	switch kind := keys.take("type"); strings.ToLower(kind) {
	case "crontriggeringpolicy":
		c.schedule = keys.take("schedule")
		if _, err := parseCron(c.schedule); err != nil {
			return err
		}
		c.onStartup = strings.EqualFold(keys.take("evaluateOnStartup"), "true")
	case "timebasedtriggeringpolicy":
		c.interval, c.onStartup = 1, true
		if text := keys.take("interval"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > 1_000_000 {
				return fmt.Errorf("interval %q is not a number above 0", text)
			}
			c.interval = n
		}
		if pattern, _ := parseFilePattern(c.pattern); pattern.unit() == 0 {
			return fmt.Errorf("a TimeBasedTriggeringPolicy needs a date in filePattern %q", c.pattern)
		}
		delete(keys, "modulate")
	case "sizebasedtriggeringpolicy":
		size, err := parseSize(keys.take("size"))
		if err != nil {
			return err
		}
		c.maxSize = size
	case "onstartuptriggeringpolicy":
		c.startup = 1
		if text := keys.take("minSize"); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				return fmt.Errorf("minSize %q is not a number of bytes", text)
			}
			c.startup = max(1, n)
		}
	default:
		r.warnings = append(r.warnings, fmt.Sprintf("%s: policy %q is not available", where, kind))
		return nil
	}
	r.ignored(where, keys)
	return nil
}

func (r *reader) readStrategy(where string, keys section, c *rollingConfig) error {
	if kind := keys.take("type"); kind != "" && !strings.EqualFold(kind, "DefaultRolloverStrategy") {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: %q is not available, only DefaultRolloverStrategy", where, kind))
		return nil
	}
	for key, value := range map[string]*int{"min": &c.min, "max": &c.max} {
		if text := keys.take(key); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > 100_000 {
				return fmt.Errorf("%s %q is not 0 to 100000", key, text)
			}
			*value = n
		}
	}
	if c.max < c.min {
		return fmt.Errorf("max %d is below min %d", c.max, c.min)
	}
	switch keys.take("fileIndex") {
	case "min":
		c.newest = newestIsMin
	case "nomax":
		c.newest = noMax
	}
	delete(keys, "compressionLevel")
	r.ignored(where, keys)
	return nil
}

// parseSize reads "10MB", "250 KB", "1024"; the default is that of log4j, 10 MB.
func parseSize(text string) (int64, error) {
	text = strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	if text == "" {
		return 10 << 20, nil
	}
	number := strings.TrimRight(text, "KMGTB")
	unit, ok := map[string]int64{"": 1, "B": 1, "KB": 1 << 10, "K": 1 << 10, "MB": 1 << 20, "M": 1 << 20, "GB": 1 << 30, "G": 1 << 30, "TB": 1 << 40, "T": 1 << 40}[text[len(number):]]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || !(n > 0) || n*float64(unit) > 1<<60 {
		return 0, fmt.Errorf("size %q is not like 250 MB", text)
	}
	return int64(n * float64(unit)), nil
}

// filePattern is a compiled filePattern.
type filePattern struct {
	parts []filePart
	index bool // has %i
	gzip  bool
}

type filePart struct {
	literal string
	date    *dateFormat
	index   bool
	width   int // of %i, with leading zeros
}

func parseFilePattern(text string) (filePattern, error) {
	var p filePattern
	if rest, ok := strings.CutSuffix(text, ".gz"); ok {
		p.gzip, text = true, rest
	}
	for text != "" {
		before, rest, ok := strings.Cut(text, "%")
		if before != "" {
			p.parts = append(p.parts, filePart{literal: before})
		}
		if !ok {
			break
		}
		width, rest := leadingNumber(rest)
		switch {
		case strings.HasPrefix(rest, "i") && width <= 10:
			p.parts = append(p.parts, filePart{index: true, width: width})
			p.index = true
			text = rest[1:]
		case strings.HasPrefix(rest, "d{"), strings.HasPrefix(rest, "date{"):
			_, rest, _ = strings.Cut(rest, "{")
			pattern, rest, closed := strings.Cut(rest, "}")
			if !closed {
				return p, fmt.Errorf("filePattern: %%d{%s without }", pattern)
			}
			zone := ""
			if strings.HasPrefix(rest, "{") {
				zone, rest, _ = strings.Cut(rest[1:], "}")
			}
			date, err := parseDate(pattern, zone)
			if err != nil {
				return p, fmt.Errorf("filePattern: %w", err)
			}
			p.parts = append(p.parts, filePart{date: &date})
			text = rest
		default:
			return p, fmt.Errorf("filePattern: %%%.10s is not known, only %%d{…} and %%i", rest)
		}
	}
	return p, nil
}

// name is the file of a date and number, without .gz.
func (p filePattern) name(t time.Time, index int) string {
	var b []byte
	for _, part := range p.parts {
		switch {
		case part.date != nil:
			b = part.date.append(b, t)
		case part.index:
			b = appendNumber(b, index, part.width)
		default:
			b = append(b, part.literal...)
		}
	}
	return string(b)
}

// unit is the letter of the smallest unit of time in the name, 0 without date.
func (p filePattern) unit() byte {
	const fromSmall = "SsmhHdDEMyu"
	smallest := len(fromSmall)
	for _, part := range p.parts {
		if part.date == nil {
			continue
		}
		for _, d := range part.date.parts {
			if at := strings.IndexByte(fromSmall, d.letter); d.letter != 0 && at >= 0 {
				smallest = min(smallest, at)
			}
		}
	}
	if smallest == len(fromSmall) {
		return 0
	}
	return fromSmall[smallest]
}

// boundary is the first time after t, a whole number of units away from the start of t's own, when a new file begins.
func boundary(t time.Time, unit byte, interval int) time.Time {
	y, mo, d := t.Date()
	h, mi, s := t.Clock()
	at := func(y int, mo time.Month, d, h, mi, s int) time.Time {
		return time.Date(y, mo, d, h, mi, s, 0, t.Location())
	}
	switch unit {
	case 'y', 'u':
		return at(y+interval, 1, 1, 0, 0, 0)
	case 'M':
		return at(y, mo+time.Month(interval), 1, 0, 0, 0)
	case 'd', 'D', 'E':
		return at(y, mo, d+interval, 0, 0, 0)
	case 'h', 'H':
		return at(y, mo, d, h+interval, 0, 0)
	case 'm':
		return at(y, mo, d, h, mi+interval, 0)
	default:
		return at(y, mo, d, h, mi, s+interval)
	}
}

// rollingFile is a log file that is put aside by time and size. It is used by one goroutine.
type rollingFile struct {
	path    string
	config  rollingConfig
	pattern filePattern
	cron    cron

	file    *os.File
	size    int64
	rollAt  time.Time // zero: not by time
	archive func(work func())
}

// openRolling opens the file at the time now. archive runs what compresses an old file.
func openRolling(path string, truncate bool, c rollingConfig, now time.Time, archive func(func())) (*rollingFile, error) {
	f := &rollingFile{path: path, config: c, archive: archive}
	if c.pattern != "" {
		f.pattern, _ = parseFilePattern(c.pattern) // has been checked
	}
	if c.schedule != "" {
		f.cron, _ = parseCron(c.schedule)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > 0 && !truncate {
		if c.startup > 0 && info.Size() >= c.startup {
			if err := f.putAside(info.ModTime()); err != nil {
				return nil, err
			}
		} else if c.onStartup {
			if due := f.nextRoll(info.ModTime()); !due.IsZero() && !due.After(now) {
				if err := f.putAside(due.Add(-1)); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := f.open(truncate); err != nil {
		return nil, err
	}
	f.rollAt = f.nextRoll(now)
	return f, nil
}

func (f *rollingFile) open(truncate bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if truncate {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(f.path, flags, 0o640)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	f.file, f.size = file, info.Size()
	return nil
}

// nextRoll is when what was written at t has to be put aside, zero for never.
func (f *rollingFile) nextRoll(t time.Time) time.Time {
	var next time.Time
	if f.config.schedule != "" {
		next = f.cron.next(t)
	}
	if f.config.interval > 0 {
		if b := boundary(t, f.pattern.unit(), f.config.interval); next.IsZero() || b.Before(next) {
			next = b
		}
	}
	return next
}

// write appends whole lines, putting the file aside before and between them where it is due.
func (f *rollingFile) write(p []byte, now time.Time) error {
	for len(p) > 0 {
		if err := f.rollIfDue(now); err != nil {
			return err
		}
		n := len(p)
		if room := f.config.maxSize - f.size; f.config.maxSize > 0 && int64(n) > room {
			n = max(0, int(room)-1)
			if end := strings.IndexByte(string(p[n:]), '\n'); end >= 0 {
				n += end + 1
			} else {
				n = len(p)
			}
		}
		written, err := f.file.Write(p[:n])
		f.size += int64(written)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (f *rollingFile) rollIfDue(now time.Time) error {
	if f.file == nil { // a roll failed half-way
		if err := f.open(false); err != nil {
			return err
		}
	}
	byTime := !f.rollAt.IsZero() && !now.Before(f.rollAt)
	bySize := f.config.maxSize > 0 && f.size >= f.config.maxSize
	if !byTime && !bySize {
		return nil
	}
	date := now
	if byTime {
		date = f.rollAt.Add(-1)
		f.rollAt = f.nextRoll(now)
	}
	if f.size == 0 {
		return nil
	}
	f.file.Close()
	f.file = nil
	rollErr := f.putAside(date)
	return errors.Join(f.open(false), rollErr)
}

// putAside gives the closed file its name of the date.
func (f *rollingFile) putAside(date time.Time) error {
	target, err := f.target(date)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	if err := os.Rename(f.path, target); err != nil {
		return err
	}
	if f.pattern.gzip {
		f.archive(func() { compressFile(target) })
	}
	return nil
}

// target makes the name free for the latest old file.
func (f *rollingFile) target(date time.Time) (string, error) {
	name := func(i int) string { return f.pattern.name(date, i) }
	if !f.pattern.index {
		target := name(0)
		for i := 2; f.exists(target) && i < 1000; i++ { // log4j would lose the one that is there
			target = name(0) + "." + strconv.Itoa(i)
		}
		return target, nil
	}
	c := f.config
	switch c.newest {
	case newestIsMin:
		last := c.min
		for last < c.max && f.exists(name(last)) {
			last++
		}
		for i := last; i > c.min; i-- {
			if err := f.move(name(i-1), name(i)); err != nil {
				return "", err
			}
		}
		return name(c.min), nil
	case noMax:
		i := c.min
		for f.exists(name(i)) {
			i++
		}
		return name(i), nil
	default:
		i := c.min
		for i <= c.max && f.exists(name(i)) {
			i++
		}
		if i <= c.max {
			return name(i), nil
		}
		for i := c.min; i < c.max; i++ {
			if err := f.move(name(i+1), name(i)); err != nil {
				return "", err
			}
		}
		return name(c.max), nil
	}
}

func (f *rollingFile) exists(name string) bool {
	for _, suffix := range []string{"", ".gz"} {
		if _, err := os.Lstat(name + suffix); err == nil {
			return true
		}
	}
	return false
}

// move replaces what is at to, compressed or not.
func (f *rollingFile) move(from, to string) error {
	for _, suffix := range []string{"", ".gz"} {
		err := os.Rename(from+suffix, to+suffix)
		if errors.Is(err, os.ErrNotExist) {
			err = os.Remove(to + suffix)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *rollingFile) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// compressFile replaces a file by its .gz. What goes wrong leaves the file as it is.
func compressFile(name string) {
	if err := gzipFile(name, name+".gz"); err != nil {
		os.Remove(name + ".gz")
		return
	}
	os.Remove(name)
}

func gzipFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	defer out.Close()
	z := gzip.NewWriter(out)
	if _, err := io.Copy(z, in); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return out.Sync()
}
