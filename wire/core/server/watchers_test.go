package server

import (
	"testing"
	"time"
)

// TestWatchers: so many connections may watch without a login; then the oldest gives way, if it had its time.
func TestWatchers(t *testing.T) {
	var w watchers
	begin := time.Unix(0, 0)
	list := make([]*conn, maxWatchers+2)
	for i := range list {
		list[i] = new(conn)
	}
	for i, c := range list[:maxWatchers] {
		if in, out := w.add(c, begin.Add(time.Duration(i))); !in || out != nil {
			t.Fatalf("connection %d: %v", i, in)
		}
	}
	if in, out := w.add(list[0], begin.Add(time.Hour)); !in || out != nil {
		t.Error("one that subscribes again is taken for another one")
	}
	one, two := list[maxWatchers], list[maxWatchers+1]
	if in, out := w.add(one, begin.Add(displaceAge-1)); in || out != nil {
		t.Error("one more was taken in")
	}
	if in, out := w.add(one, begin.Add(displaceAge)); !in || out != list[0] {
		t.Error("the oldest did not give way")
	}
	if in, _ := w.add(two, begin.Add(displaceAge)); in {
		t.Error("the second oldest gave way before its time")
	}
	w.remove(list[500]) // logged in
	if in, out := w.add(two, begin.Add(displaceAge)); !in || out != nil {
		t.Error("there was room")
	}
	if len(w.queue) != maxWatchers {
		t.Errorf("%d watch", len(w.queue))
	}
}
