package logging

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// cron is a schedule of Quartz: seconds, minutes, hours, day of month, month, day of week and maybe year, each "*",
// "?", numbers, names, ranges, steps and lists of these.
type cron struct {
	second, minute, hour, day, month, weekday uint64 // bit n: value n
}

var cronFields = []struct {
	name        string
	first, last int
	names       string
}{
	{"seconds", 0, 59, ""},
	{"minutes", 0, 59, ""},
	{"hours", 0, 23, ""},
	{"day of month", 1, 31, ""},
	{"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
	{"day of week", 1, 7, "SUNMONTUEWEDTHUFRISAT"},
}

func parseCron(text string) (cron, error) {
	fields := strings.Fields(text)
	if len(fields) == 7 && (fields[6] == "*" || fields[6] == "?") {
		fields = fields[:6]
	}
	if len(fields) != 6 {
		return cron{}, fmt.Errorf("schedule %q: %d fields, want 6", text, len(fields))
	}
	var sets [6]uint64
	for i, field := range fields {
		set, err := parseCronField(field, i)
		if err != nil {
			return cron{}, fmt.Errorf("schedule %q: %s: %w", text, cronFields[i].name, err)
		}
		sets[i] = set
	}
	c := cron{sets[0], sets[1], sets[2], sets[3], sets[4], sets[5]}
	if c.next(time.Unix(0, 0)).IsZero() {
		return cron{}, fmt.Errorf("schedule %q never comes", text)
	}
	return c, nil
}

func parseCronField(field string, i int) (uint64, error) {
	f := cronFields[i]
	var set uint64
	for _, item := range strings.Split(field, ",") {
		item, stepText, stepped := strings.Cut(item, "/")
		step := 1
		if stepped {
			var err error
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, fmt.Errorf("step %q is not a number above 0", stepText)
			}
		}
		from, to := f.first, f.last
		if item != "*" && item != "?" {
			low, high, isRange := strings.Cut(item, "-")
			var err error
			if from, err = cronValue(low, i); err != nil {
				return 0, err
			}
			switch {
			case isRange:
				if to, err = cronValue(high, i); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
		}
		if to < from { // around the end: FRI-MON
			to += f.last - f.first + 1
		}
		for v := from; v <= to; v += step {
			set |= 1 << ((v-f.first)%(f.last-f.first+1) + f.first)
		}
	}
	return set, nil
}

func cronValue(text string, i int) (int, error) {
	f := cronFields[i]
	if at := strings.Index(f.names, strings.ToUpper(text)); len(text) == 3 && at >= 0 && at%3 == 0 {
		return at/3 + f.first, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.first || n > f.last {
		return 0, fmt.Errorf("%q is not %d to %d", text, f.first, f.last)
	}
	return n, nil
}

// next is the first time of the schedule after t, in t's location; the zero time when there is none in eight years.
func (c cron) next(t time.Time) time.Time {
	t = t.Truncate(time.Second).Add(time.Second)
	limit := t.AddDate(8, 0, 0)
	for t.Before(limit) {
		y, mo, d := t.Date()
		h, mi, s := t.Clock()
		switch {
		case c.month>>mo&1 == 0:
			t = time.Date(y, mo+1, 1, 0, 0, 0, 0, t.Location())
		case c.day>>d&1 == 0 || c.weekday>>(int(t.Weekday())+1)&1 == 0:
			t = later(t, time.Date(y, mo, d+1, 0, 0, 0, 0, t.Location()))
		case c.hour>>h&1 == 0:
			t = t.Add(time.Hour - time.Duration(mi)*time.Minute - time.Duration(s)*time.Second)
		case c.minute>>mi&1 == 0:
			t = t.Add(time.Duration(wait(c.minute, mi, 60))*time.Minute - time.Duration(s)*time.Second)
		case c.second>>s&1 == 0:
			t = t.Add(time.Duration(wait(c.second, s, 60)) * time.Second)
		default:
			return t
		}
	}
	return time.Time{}
}

// later keeps the search moving where a day has no midnight.
func later(t, next time.Time) time.Time {
	if next.After(t) {
		return next
	}
	return t.Add(time.Hour)
}

// wait is how many steps after at the next member of set comes, or how many are left to size.
func wait(set uint64, at, size int) int {
	rest := set >> at
	if rest == 0 {
		return size - at
	}
	return bits.TrailingZeros64(rest)
}
