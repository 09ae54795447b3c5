package drill

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed report.html
var reportHTML string

var reportTemplate = template.Must(template.New("report").Parse(reportHTML))

// Places in the picture, in units of its 1000 wide coordinates.
const (
	pageLeft   = 150
	pageRight  = 990
	pageTop    = 32
	rowHeight  = 34
	rateHeight = 60
)

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	if err := reportTemplate.Execute(w, r.page()); err != nil {
		return fmt.Errorf("drill: write report: %w", err)
	}
	return nil
}

// A page is what the template shows.
type page struct {
	Drill, Title, Result, When, Duration, Problem string
	Passed                                        bool
	Cards, Counts                                 []fact
	Violations                                    []string
	Nodes                                         []pageNode

	Left, Height, Bottom, RateTextY, PeakY, GapTextY, EventY, EventTextY int

	Marks    []mark
	Rows     []row
	RatePath string
	Peak     string
	Gaps     []band
	Events   []pageEvent
}

type fact struct {
	Name, Value string
	Bad         bool
}

type pageNode struct{ Node, Name, Version, Policy, State, Sequence string }

type mark struct{ X, Text string }

type row struct {
	Name  string
	TextY int
	Bars  []bar
}

type bar struct {
	Class, X, Width, Title string
	Y                      int
}

type band struct {
	X, Width, Middle, Text, Title string
	Height                        int
}

type pageEvent struct {
	X, At, Text string
	Number      int
}

func (r *Report) page() *page {
	t, v := &r.Timeline, r.Verdict
	p := &page{Drill: r.Drill, Title: strings.ToUpper(r.Drill[:min(1, len(r.Drill))]) + r.Drill[min(1, len(r.Drill)):] + " drill", Result: r.Result(), Passed: r.Passed(), Problem: r.Problem,
		When: t.Began.Format("2006-01-02 15:04:05 MST"), Duration: t.End.Duration().Round(100 * time.Millisecond).String(), Left: pageLeft}
	number := func(name string, n uint64, bad bool) fact { return fact{name, fmt.Sprint(n), bad && n > 0} }
	p.Cards = []fact{
		{"time without service", r.Service.Without().Round(time.Millisecond).String(), false},
		number("lost", v.Broken[Lost], true), number("duplicate", v.Broken[Duplicate], true),
		number("sent", v.Sent, false), number("acknowledged", v.Acknowledged, false), number("received", v.Received, false),
	}
	p.Counts = []fact{
		number("sent", v.Sent, false), number("acknowledged", v.Acknowledged, false), number("refused or rolled back", v.Refused, false),
		number("of which nobody knows", v.Unknown, false), number("repeated, since nobody knew", v.Repeated, false), number("received", v.Received, false),
		number("received and acknowledged", v.Consumed, false), number("delivered again, as is allowed", v.Redelivered, false),
	}
	for _, rule := range Rules() {
		p.Counts = append(p.Counts, number(rule.String(), v.Broken[rule], true))
	}
	p.Counts = append(p.Counts, number("not judged, since their queue could not be drained", v.Unjudged, true))
	for _, x := range v.Violations {
		p.Violations = append(p.Violations, x.String())
	}
	roles := Roles(r.Nodes)
	for i, n := range r.Nodes {
		sequence := ""
		if n.Sequence > 0 {
			sequence = fmt.Sprint(n.Sequence)
		}
		p.Nodes = append(p.Nodes, pageNode{NodeName(n.URL), n.Name, n.Version, n.Policy, roles[i].String(), sequence})
	}
	p.draw(t)
	return p
}

// draw works out where everything is in the picture.
func (p *page) draw(t *Timeline) {
	end := max(t.End, 1)
	x := func(at Time) float64 {
		return pageLeft + float64(min(at, end))/float64(end)*(pageRight-pageLeft)
	}
	text := func(f float64) string { return fmt.Sprintf("%.1f", f) }

	y := pageTop
	for _, n := range t.Nodes {
		line := row{Name: n.Name, TextY: y + 16}
		for _, s := range n.Spans {
			if s.From < s.To {
				line.Bars = append(line.Bars, bar{Class: s.Role.String(), X: text(x(s.From)), Y: y, Width: text(max(x(s.To)-x(s.From)-1, 0.5)),
					Title: fmt.Sprintf("%s: %v from %v to %v", n.Name, s.Role, s.From.Duration(), s.To.Duration())})
			}
		}
		p.Rows = append(p.Rows, line)
		y += rowHeight
	}
	base := y + rateHeight
	p.RateTextY, p.PeakY, p.Bottom, p.GapTextY = y+rateHeight/2, y-2, base, base+16
	p.EventY, p.EventTextY = base+34, base+38
	p.Height = base + 48

	most := 0
	for _, n := range t.Rate {
		most = max(most, n)
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M%d %d", pageLeft, base)
	for i, n := range t.Rate {
		if most > 0 {
			from := pageLeft + float64(i)*(pageRight-pageLeft)/float64(len(t.Rate))
			to := pageLeft + float64(i+1)*(pageRight-pageLeft)/float64(len(t.Rate))
			h := float64(base) - float64(n)/float64(most)*(rateHeight-8)
			fmt.Fprintf(&path, "L%.1f %.1fL%.1f %.1f", from, h, to, h)
		}
	}
	fmt.Fprintf(&path, "L%d %dZ", pageRight, base)
	p.RatePath = path.String()
	if part := end.Duration().Seconds() / float64(max(len(t.Rate), 1)); most > 0 {
		p.Peak = fmt.Sprintf("%.0f/s at most", float64(most)/part)
	}

	length := end.Duration()
	for s, at := step(length, 10), time.Duration(0); at <= length; at += s {
		p.Marks = append(p.Marks, mark{text(x(Time(at / Tick))), shortTime(at)})
	}
	for _, g := range t.Gaps {
		from, to := x(g.From), x(g.To)
		p.Gaps = append(p.Gaps, band{X: text(from), Width: text(max(to-from, 1)), Middle: text((from + to) / 2), Height: base - 24,
			Text: g.Length().Round(10 * time.Millisecond).String(), Title: fmt.Sprintf("no acknowledgement from %v to %v", g.From.Duration(), g.To.Duration())})
	}
	for i, e := range t.Events {
		p.Events = append(p.Events, pageEvent{X: text(x(e.At)), At: fmt.Sprintf("%.1f s", e.At.Duration().Seconds()), Text: e.Text, Number: i + 1})
	}
}
