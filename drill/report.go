package drill

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// A Report is what there is to tell of a drill.
type Report struct {
	Drill    string // "failover", …
	Problem  string // why it failed, beside what Verdict says; empty: it did not
	Verdict  *Verdict
	Service  Service
	Timeline Timeline
	Nodes    []Status // at the beginning
}

// rateParts is into how many parts Rate has the time divided.
const rateParts = 200

// NewReport sums up a drill: until is when the producers were told to stop.
func NewReport(drill string, h *History, began time.Time, until Time, nodes []Status, lines []NodeLine, events []Event) *Report {
	r := &Report{Drill: drill, Verdict: Check(h), Service: Measure(h, until), Nodes: nodes}
	end := max(until, 1)
	for _, l := range lines {
		if n := len(l.Spans); n > 0 {
			end = max(end, l.Spans[n-1].To)
		}
	}
	r.Timeline = Timeline{Began: began, End: end, Nodes: lines, Events: events, Gaps: r.Service.Gaps, Rate: rates(acknowledgements(h), end, rateParts)}
	return r
}

// Passed tells whether nothing is wrong.
func (r *Report) Passed() bool { return r.Problem == "" && r.Verdict.OK() }

// Result is PASSED or FAILED.
func (r *Report) Result() string {
	if r.Passed() {
		return "PASSED"
	}
	return "FAILED"
}

// Text is the report for a terminal.
func (r *Report) Text(columns int) string {
	text := r.Timeline.Picture(columns) + "\n"
	v := r.Verdict
	row := func(name string, format string, args ...any) {
		text += fmt.Sprintf("%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("time without service", "%v", r.Service.Without().Round(time.Millisecond))
	row("sent", "%d, of which acknowledged %d, refused or rolled back %d, unknown %d, repeated %d", v.Sent, v.Acknowledged, v.Refused, v.Unknown, v.Repeated)
	row("received", "%d, of which acknowledged %d, delivered again as allowed %d", v.Received, v.Consumed, v.Redelivered)
	row("lost", "%d", v.Broken[Lost])
	row("duplicate", "%d", v.Broken[Duplicate])
	for _, rule := range Rules() {
		if n := v.Broken[rule]; n > 0 && rule != Lost && rule != Duplicate {
			row(rule.String(), "%d", n)
		}
	}
	if v.Unjudged > 0 {
		row("not judged", "%d acknowledged messages are in queues that could not be drained", v.Unjudged)
	}
	for _, x := range v.Violations {
		text += "  " + x.String() + "\n"
	}
	if r.Problem != "" {
		text += "  " + r.Problem + "\n"
	}
	return text + r.Drill + " drill: " + r.Result() + "\n"
}

// WriteJSON writes the report as JSON. Times are in ms.
func (r *Report) WriteJSON(w io.Writer) error {
	broken := map[string]uint64{}
	for _, rule := range Rules() {
		broken[rule.String()] = r.Verdict.Broken[rule]
	}
	violations := make([]string, 0, len(r.Verdict.Violations))
	for _, x := range r.Verdict.Violations {
		violations = append(violations, x.String())
	}
	ms := func(t Time) float64 { return float64(t) / float64(time.Millisecond/Tick) }
	type span struct {
		Role Role    `json:"role"`
		From float64 `json:"from"`
		To   float64 `json:"to"`
	}
	type line struct {
		Name  string `json:"name"`
		Spans []span `json:"spans"`
	}
	type event struct {
		At   float64 `json:"at"`
		Text string  `json:"text"`
	}
	type gap struct {
		From float64 `json:"from"`
		To   float64 `json:"to"`
	}
	lines, events, gaps := []line{}, []event{}, []gap{}
	for _, n := range r.Timeline.Nodes {
		l := line{Name: n.Name}
		for _, s := range n.Spans {
			l.Spans = append(l.Spans, span{s.Role, ms(s.From), ms(s.To)})
		}
		lines = append(lines, l)
	}
	for _, e := range r.Timeline.Events {
		events = append(events, event{ms(e.At), e.Text})
	}
	for _, g := range r.Service.Gaps {
		gaps = append(gaps, gap{ms(g.From), ms(g.To)})
	}
	nodes := slices.Clone(r.Nodes)
	for i := range nodes {
		nodes[i].URL = NodeName(nodes[i].URL) // a URL may hold a password
	}
	v := r.Verdict
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{
		"drill": r.Drill, "passed": r.Passed(), "problem": r.Problem, "began": r.Timeline.Began, "duration": ms(r.Timeline.End),
		"timeWithoutService": float64(r.Service.Without()) / float64(time.Millisecond), "gaps": gaps,
		"sent": v.Sent, "acknowledged": v.Acknowledged, "refused": v.Refused, "unknown": v.Unknown, "repeated": v.Repeated,
		"received": v.Received, "consumed": v.Consumed, "redelivered": v.Redelivered, "lost": v.Broken[Lost], "duplicated": v.Broken[Duplicate],
		"broken": broken, "notJudged": v.Unjudged, "violations": violations,
		"nodes": nodes, "timeline": lines, "events": events,
	})
}
