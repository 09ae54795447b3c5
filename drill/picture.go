package drill

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Picture is the timeline for a terminal: a line for each node, and one for acknowledgements, of so many columns.
//
//	             0s        2s        4s
//	a:61616      ████████████········▒▒▓▓
//	b:61616      ▓▓▓▓▓▓▓▓▓▓▓▓··██████████
//	acknowledged ▇▇▇█▇▇▇▇▇▇▇▂  ▃▇▇▇▇▇█▇▇▇
//	                         ▔▔
//	  1.2s  forceFailover at a:61616
func (t *Timeline) Picture(columns int) string {
	columns = max(columns, 10)
	width := len("acknowledged")
	for _, n := range t.Nodes {
		width = max(width, utf8.RuneCountInString(n.Name))
	}
	var b strings.Builder
	line := func(name, text string) {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-*s %s", width, name, text), " "))
	}
	column := func(i int) Time { return Time(uint64(t.End) * uint64(i) / uint64(columns)) }
	line("", t.scale(columns))
	for _, n := range t.Nodes {
		text := make([]rune, columns)
		for i := range text {
			text[i] = roleMarks[n.at(column(i), column(i+1))]
		}
		line(n.Name, string(text))
	}
	line("acknowledged", bars(resample(t.Rate, columns)))
	line("", t.gapMarks(columns, column))
	var used [len(roleNames)]bool
	for _, n := range t.Nodes {
		for _, s := range n.Spans {
			used[s.Role] = true
		}
	}
	var legend []string
	for _, r := range []Role{Active, Backup, Copying, Away} {
		if used[r] {
			legend = append(legend, fmt.Sprintf("%c %v", roleMarks[r], r))
		}
	}
	if len(t.Gaps) > 0 {
		legend = append(legend, "▔ no acknowledgement")
	}
	line("", strings.Join(legend, "   "))
	for _, e := range t.Events {
		fmt.Fprintf(&b, "%8.1fs  %s\n", e.At.Duration().Seconds(), e.Text)
	}
	return b.String()
}

var roleMarks = [...]rune{Away: '·', Active: '█', Backup: '▓', Copying: '▒'}

// steps are round distances of marks on the scale.
var steps = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour}

// step is the shortest round distance of which a length has no more than so many.
func step(length time.Duration, parts int) time.Duration {
	for _, s := range steps {
		if length <= s*time.Duration(parts) {
			return s
		}
	}
	return steps[len(steps)-1]
}

// scale has a mark every ten columns or more.
func (t *Timeline) scale(columns int) string {
	text := []rune(strings.Repeat(" ", columns+10))
	length := t.End.Duration()
	if length <= 0 {
		return "0s"
	}
	s := step(length, max(columns/10, 1))
	for at := time.Duration(0); at < length; at += s {
		copy(text[int(int64(at)*int64(columns)/int64(length)):], []rune(shortTime(at)))
	}
	return string(text)
}

// shortTime leaves out what is zero.
func shortTime(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// gapMarks underlines the times without service.
func (t *Timeline) gapMarks(columns int, column func(int) Time) string {
	text := []rune(strings.Repeat(" ", columns))
	for i := range text {
		for _, g := range t.Gaps {
			if g.From < column(i+1) && column(i) < g.To {
				text[i] = '▔'
			}
		}
	}
	return string(text)
}

// resample makes so many numbers of a list, each the mean of those it stands for.
func resample(list []int, n int) []float64 {
	out := make([]float64, n)
	if len(list) == 0 {
		return out
	}
	for i := range out {
		from := i * len(list) / n
		to := max((i+1)*len(list)/n, from+1)
		for _, v := range list[from:to] {
			out[i] += float64(v) / float64(to-from)
		}
	}
	return out
}

// bars shows each number by its height.
func bars(list []float64) string {
	var most float64
	for _, v := range list {
		most = max(most, v)
	}
	text := make([]rune, len(list))
	for i, v := range list {
		text[i] = ' '
		if v > 0 {
			text[i] = '▁' + rune(v/most*7)
		}
	}
	return string(text)
}
