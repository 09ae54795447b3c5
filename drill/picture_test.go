package drill

import (
	"slices"
	"testing"
	"time"
)

const second = Time(time.Second / Tick)

// failedOver is a timeline of ten seconds.
func failedOver() Timeline {
	return Timeline{
		Began: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), End: 10 * second,
		Nodes: []NodeLine{
			{"a:61616", []Span{{Active, 0, 4 * second}, {Away, 4 * second, 7 * second}, {Copying, 7 * second, 8 * second}, {Backup, 8 * second, 10 * second}}},
			{"b.example.com:61616", []Span{{Backup, 0, 5 * second}, {Active, 5 * second, 10 * second}}},
		},
		Events: []Event{{4 * second, "forceFailover at a:61616"}, {5*second + 600, "b.example.com:61616 is active"}},
		Gaps:   []Gap{{4 * second, 5 * second}},
		Rate:   []int{70, 70, 70, 70, 0, 70, 10, 70, 70, 70},
	}
}

func TestPicture(t *testing.T) {
	timeline := failedOver()
	const want = `
                    0s        2s        4s        6s        8s
a:61616             ████████████████████···············▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓
b.example.com:61616 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓█████████████████████████
acknowledged        ████████████████████     █████▂▂▂▂▂███████████████
                                        ▔▔▔▔▔
                    █ active   ▓ backup   ▒ copying   · down   ▔ no acknowledgement
     4.0s  forceFailover at a:61616
     5.1s  b.example.com:61616 is active
`
	if got := "\n" + timeline.Picture(50); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
	for _, columns := range []int{-1, 1, 11, 1000} {
		timeline.Picture(columns)
		(&Timeline{}).Picture(columns)
	}
}

func TestBecome(t *testing.T) {
	var l NodeLine
	for _, x := range []struct {
		r  Role
		at Time
	}{{Away, 0}, {Away, 3}, {Active, 5}, {Active, 9}, {Away, 12}} {
		l.become(x.r, x.at)
	}
	if want := []Span{{Away, 0, 5}, {Active, 5, 12}, {Away, 12, 12}}; !slices.Equal(l.Spans, want) {
		t.Errorf("%v, want %v", l.Spans, want)
	}
}

// TestMeasure: the longest time without an acknowledgement, less what is normal.
func TestMeasure(t *testing.T) {
	for _, x := range []struct {
		name    string
		at      []Time // when sends were acknowledged, ticks
		until   Time
		normal  time.Duration
		longest Gap
		without time.Duration
		gaps    []Gap
	}{
		{"nothing", nil, 0, 0, Gap{}, 0, nil},
		{"one", []Time{7}, 0, 0, Gap{}, 0, nil},
		{"even", []Time{0, 100, 200, 300}, 300, 10 * time.Millisecond, Gap{0, 100}, 0, nil},
		{"a gap", []Time{0, 100, 200, 20200, 20300, 20400}, 20400, 10 * time.Millisecond, Gap{200, 20200}, 1990 * time.Millisecond, []Gap{{200, 20200}}},
		{"no service at the end", []Time{0, 100, 200, 300}, 50300, 10 * time.Millisecond, Gap{300, 50300}, 4990 * time.Millisecond, []Gap{{300, 50300}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := NewHistory()
			for range 2 { // of two clients, in turn
				h.AddProducer(Producer{})
			}
			for i, at := range x.at {
				p := h.Producers[i%2]
				p.Answer(p.Send(at), Acknowledged, 0, at)
			}
			p := h.Producers[0]
			p.Answer(p.Send(1000), Refused, 0, 1000)
			s := Measure(h, x.until)
			if s.Normal != x.normal || s.Longest != x.longest || s.Without() != x.without || !slices.Equal(s.Gaps, x.gaps) {
				t.Errorf("%+v, without service %v", s, s.Without())
			}
		})
	}
}

func TestStep(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{time.Second: 100 * time.Millisecond, 9 * time.Second: time.Second, 11 * time.Second: 2 * time.Second, time.Hour: 10 * time.Minute, 1000 * time.Hour: 24 * time.Hour} {
		if got := step(length, 10); got != want {
			t.Errorf("%v: %v, want %v", length, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 90 * time.Second: "1m30s", time.Minute: "1m", 2 * time.Hour: "2h", 200 * time.Millisecond: "200ms"} {
		if got := shortTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
