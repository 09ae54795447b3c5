//go:build linux

package partition

import (
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/saranga-mq/saranga/drill"
)

// history has one producer with sends acknowledged by p, each asked at that second and answered 10 ms later.
func history(seconds ...float64) *drill.History {
	h := drill.NewHistory()
	term := h.Term(drill.TermInfo{Node: "p", Sequence: 1})
	x := h.AddProducer(drill.Producer{Name: "x", Address: "a"})
	at := func(s float64) drill.Time { return drill.Time(s * float64(time.Second/drill.Tick)) }
	for _, s := range seconds {
		x.Answer(x.Send(at(s)), drill.Acknowledged, term, at(s+0.01))
	}
	return h
}

func TestSilence(t *testing.T) {
	h := history(1, 2, 5, 5.5, 20)
	for to, want := range map[time.Duration]time.Duration{10 * time.Second: 4490 * time.Millisecond, 6 * time.Second: 3 * time.Second} {
		if got := silence(h, time.Second, to); (got - want).Abs() > drill.Tick {
			t.Errorf("%v without service until %v, want %v", got, to, want)
		}
	}
}

// TestPastLease: an acknowledgement is found that a broker gave when it had long been cut off from the members.
func TestPastLease(t *testing.T) {
	began := time.Now()
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	cut := func(from, to float64, links ...string) (list []span) {
		for i := 0; i < len(links); i += 2 {
			list = append(list, span{Link{links[i], links[i+1]}, at(from), at(to)})
		}
		return list
	}
	alone := []string{"p", "m1", "m2", "p", "p", "m3"} // one direction each is enough
	for _, c := range []struct {
		name     string
		embedded bool
		cuts     []span
		asked    []float64
		bad      bool
	}{
		{"no cut", false, nil, []float64{1, 20}, false},
		{"within the lease", false, cut(2, 10, alone...), []float64{1, 3, 5.9}, false},
		{"after the lease", false, cut(2, 10, alone...), []float64{1, 3, 7}, true},
		{"healed", false, cut(2, 10, alone...), []float64{1, 10.1}, false},
		{"one member is left", false, cut(2, 10, alone[:4]...), []float64{7}, false},
		{"one member is left, which is alone", false, append(cut(2, 10, alone[:4]...), cut(2, 10, "m3", "m1", "m3", "m2")...), []float64{7}, true},
		{"in two parts", false, append(cut(2, 5, alone...), cut(4, 10, alone...)...), []float64{8}, true},
		{"with its own member", true, cut(2, 10, "p", "b", "m3", "p"), []float64{7}, true},
		{"with its own member and another", true, cut(2, 10, "p", "b"), []float64{7}, false},
	} {
		w := &world{plan: Plan{Session: 4 * time.Second, Embedded: c.embedded}, cuts: c.cuts}
		if got := w.pastLease(history(c.asked...), began); (len(got) > 0) != c.bad {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestModel: histories of lock and counter that one copy can and cannot have.
func TestModel(t *testing.T) {
	op := func(begin int64, in operation, out answered, end int64) porcupine.Operation {
		return porcupine.Operation{Input: in, Call: begin, Output: out, Return: end}
	}
	read := func(begin int64, version int32, value, end int64) porcupine.Operation {
		return op(begin, operation{op: "read"}, answered{version: version, value: value}, end)
	}
	set := func(begin int64, version int32, value int64, done bool, end int64) porcupine.Operation {
		return op(begin, operation{op: "set", version: version, value: value}, answered{done: done}, end)
	}
	lost := func(begin int64, in operation) porcupine.Operation {
		return op(begin, in, answered{unknown: true}, math.MaxInt64)
	}
	lock := func(begin int64, session int, done bool, end int64) porcupine.Operation {
		return op(begin, operation{op: "lock", session: session}, answered{done: done}, end)
	}
	release := func(begin int64, session int, end int64) porcupine.Operation {
		return op(begin, operation{op: "release", session: session}, answered{done: true}, end)
	}
	for _, c := range []struct {
		name    string
		history []porcupine.Operation
		want    bool
	}{
		{"a good counter", []porcupine.Operation{set(0, 0, 7, true, 10), read(20, 1, 7, 30), set(40, 0, 8, false, 50)}, true},
		{"a stale read", []porcupine.Operation{set(0, 0, 7, true, 10), read(20, 0, 0, 30)}, false},
		{"a lost update", []porcupine.Operation{set(0, 0, 7, true, 10), set(20, 0, 8, true, 30)}, false},
		{"an update without an answer that was done later", []porcupine.Operation{lost(0, operation{op: "set", value: 7}), read(10, 0, 0, 20), read(30, 1, 7, 40)}, true},
		{"and was not done", []porcupine.Operation{lost(0, operation{op: "set", value: 7}), set(10, 0, 8, true, 20), read(30, 1, 8, 40)}, true},
		{"and was done twice", []porcupine.Operation{lost(0, operation{op: "set", value: 7}), read(10, 1, 7, 20), read(30, 2, 7, 40)}, false},
		{"a good lock", []porcupine.Operation{lock(0, 1, true, 10), lock(20, 2, false, 30), release(40, 1, 50), lock(60, 2, true, 70)}, true},
		{"two holders", []porcupine.Operation{lock(0, 1, true, 10), lock(20, 2, true, 30), release(40, 1, 50)}, false},
		{"a lock that ended with its session", []porcupine.Operation{lock(0, 1, true, 10), lost(15, operation{op: "release", session: 1}), lock(20, 2, true, 30)}, true},
		{"before its session's last sign of life", []porcupine.Operation{lock(0, 1, true, 10), lock(20, 2, true, 30), lost(35, operation{op: "release", session: 1})}, false},
		{"a lock without an answer that is held", []porcupine.Operation{lost(0, operation{op: "lock", session: 1}), lock(20, 2, false, 30), lost(5, operation{op: "release", session: 1}), lock(40, 2, true, 50)}, true},
		{"and whose session goes on elsewhere", []porcupine.Operation{lock(0, 2, false, 10)}, false},
	} {
		if got := porcupine.CheckOperations(one, c.history); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
