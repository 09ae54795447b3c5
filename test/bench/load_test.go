package main

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
)

func TestGCCPU(t *testing.T) {
	// Lines of GODEBUG=gctrace=1 of Go 1.26, among those of a broker.
	log := `2025-03-09 14:05:00 INFO acceptor started
gc 1 @0.010s 2%: 0.018+1.2+0.003 ms clock, 0.036+0.5/1.1/0.2+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 2 @0.500s 1%: 1+10+1 ms clock, 2+3/4/0+1 ms cpu, 40->40->10 MB, 40 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
scvg: whatever
`
	got, err := gcCPU(strings.NewReader(log))
	if want := 11842 * time.Microsecond; err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if got, err := gcCPU(strings.NewReader("gc 3 @1s 0%: 1+1+1 ms clock, 1+x/1/1+1 ms cpu, 4->4->1 MB\n")); err == nil {
		t.Errorf("a line that is none gave %v", got)
	}
}

func TestStampIsInTheBody(t *testing.T) {
	encoded := newBuilder("q", 32, true).AppendTo(nil)
	if got := stamped(encoded, time.Now()); got != 0 {
		t.Errorf("a message without a stamp took %v", got)
	}
	sent := time.Unix(1000, 5)
	stamp(encoded, sent)
	if got := stamped(encoded, sent.Add(7*time.Millisecond)); got != 7*time.Millisecond {
		t.Errorf("took %v, want 7ms", got)
	}
	m, err := message.ParseCore(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.BigEndian.Uint64(m.Body()); int64(got) != sent.UnixNano() || len(m.Body()) != 32 || !m.IsDurable() {
		t.Errorf("body of %d bytes begins with %d", len(m.Body()), got)
	}
}

// The sender never has more on the way than the window holds, and is woken as often as it waits.
func TestWindow(t *testing.T) {
	const size, messages = 10, 10_000
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	w := newWindow(size)
	onTheWay := make(chan struct{}, messages)
	go func() {
		for range messages {
			<-onTheWay
			w.receive()
		}
	}()
	for range messages {
		if w.full() && !w.wait(ctx) {
			t.Fatalf("the sender was not woken after %d messages, %d received", w.sent, w.received.Load())
		}
		w.sent++
		if most := w.sent - w.received.Load(); most > size {
			t.Fatalf("%d messages on the way", most)
		}
		onTheWay <- struct{}{}
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := newWindow(2)
	w.sent = 2
	if w.wait(ctx) {
		t.Error("the wait ended with room, and there is none")
	}
}

func TestTimes(t *testing.T) {
	l := newTimes()
	for n := 1; n <= 1000; n++ {
		l.add(time.Duration(n) * time.Microsecond)
	}
	v := values{}
	l.into(v)
	for metric, want := range (values{metricP50: 500, metricP99: 990, metricP999: 999}) {
		if got := v[metric]; got < want*.999 || got > want*1.001 {
			t.Errorf("%s %v, want %v", metric, got, want)
		}
	}
	l.add(time.Hour)
	if got := l.at(100); got < 59e6 || got > 60.1e6 {
		t.Errorf("an hour counts as %v µs, want a minute", got)
	}
}

func TestOptions(t *testing.T) {
	for args, wants := range map[string]bool{"": true, "-quick": true, "-rows core,idle -rounds 1": true, "-rows nothing": false, "-only somebody": false, "-rounds 0": false, "-seconds 0.1": false, "more": false} {
		o, err := parseOptions(strings.Fields(args))
		if (err == nil) != wants {
			t.Errorf("%q: %+v, %v", args, o, err)
		}
	}
	// Only a complete run is published.
	for args, want := range map[string]string{"": "docs/bench", "-quick": "", "-rows core": "", "-rows core -out x": "x", "-only saranga": ""} {
		if o, err := parseOptions(strings.Fields(args)); err != nil || o.out != want {
			t.Errorf("%q goes to %q, %v; want %q", args, o.out, err, want)
		}
	}
}
