package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// markdown is the report as a page.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Saranga and Artemis, %s\n\n", r.Began.Format("2 January 2006, 15:04"))
	m := r.Machine
	fmt.Fprintf(&b, "%d cores (%s), %d MiB, %s %s, %s. %s, Artemis %s on Java %s.\n", m.Cores, m.CPU, m.Memory>>20, m.System, m.Kernel, m.Go, m.Saranga, m.Artemis, m.Java)
	fmt.Fprintf(&b, "%d interleaved rounds, %v each; the run took %v, load of the machine before it %s.\n\n", r.Options.Rounds, r.Options.Length, r.Ended.Sub(r.Began).Round(time.Second), m.Load)
	b.WriteString("Figures are medians, in brackets the least and the most of the rounds. The ratio is Saranga : Artemis, the median of the rounds' own ratios.\n\n")
	b.WriteString("| row | | Saranga | Artemis | ratio | target | |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, row := range r.Rows {
		title := row.Title
		for _, l := range row.Lines {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", title, l.Label, spread(l.Saranga), spread(l.Artemis), ratio(l.Ratio), l.Target, l.Result)
			title = ""
		}
	}
	r.failures(&b)
	return b.String()
}

// failures lists what did not work.
func (r *report) failures(b *strings.Builder) {
	var list []string
	for _, row := range r.Rows {
		for _, m := range row.Rounds {
			if m.Error != "" {
				list = append(list, fmt.Sprintf("%s, %s, round %d: %s", row.Title, m.Broker, m.Round+1, m.Error))
			}
		}
	}
	for _, text := range append(list, r.Notes...) {
		fmt.Fprintf(b, "\n- %s", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
	}
	if len(list)+len(r.Notes) > 0 {
		b.WriteByte('\n')
	}
}

// target is what a check asks for, empty if nothing.
func (c check) target() string {
	var all []string
	if c.atLeast > 0 {
		all = append(all, "≥ "+number(c.atLeast)+"×")
	}
	if c.atMost > 0 {
		all = append(all, "≤ "+fraction(c.atMost))
	}
	if c.most > 0 {
		all = append(all, "≤ "+number(c.most))
	}
	return strings.Join(all, ", ")
}

func spread(s *summary) string {
	switch {
	case s == nil:
		return "–"
	case s.Rounds == 1 || s.Lowest == s.Most:
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Lowest), number(s.Most))
}

func ratio(s *summary) string {
	if s == nil {
		return "–"
	}
	return fraction(s.Median)
}

// fraction writes a ratio: 4.3×, 1/8.2.
func fraction(v float64) string {
	if v >= 1 || v <= 0 {
		return number(v) + "×"
	}
	return "1/" + number(1/v)
}

// number writes three digits that count, and thousands in groups.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		text := strconv.FormatFloat(v, 'f', 0, 64)
		for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
			text = text[:at] + "," + text[at:]
		}
		return text
	}
	decimals := 2
	switch a := math.Abs(v); {
	case a >= 100:
		decimals = 0
	case a >= 10:
		decimals = 1
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// newestLine begins the line of docs/benchmarks.md that names the newest result.
const newestLine = "Newest result: "

// linkNewest lets the page link the result.
func linkNewest(page, result string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	link, err := filepath.Rel(filepath.Dir(page), result)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, newestLine) {
			name := strings.TrimSuffix(filepath.Base(link), ".md")
			lines[i] = fmt.Sprintf("%s[%s](%s)", newestLine, name, filepath.ToSlash(link))
			return os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644)
		}
	}
	return fmt.Errorf("%s has no line %q", page, newestLine)
}
