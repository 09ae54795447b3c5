package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

func TestGroupOfPairs(t *testing.T) {
	o, err := parseOptions([]string{"-rows", "core,pairs,idle"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.Rows); n < 5 || o.Rows[0] != "core" || o.Rows[n-1] != "idle" {
		t.Fatalf("rows %q", o.Rows)
	}
	for _, name := range o.Rows[1 : len(o.Rows)-1] {
		if !strings.HasPrefix(name, "pair-") || !slices.Contains(rowNames(), name) {
			t.Errorf("%q is no row of a pair", name)
		}
	}
	if _, err := parseOptions([]string{"-rows", "pair"}); err == nil {
		t.Error("a name that is none was taken")
	}
}

func TestProberTellsTheLongestOutage(t *testing.T) {
	p := &prober{}
	at := time.Unix(1000, 0)
	for _, ms := range []int{0, 2, 4, 504, 506} {
		p.answered(at.Add(time.Duration(ms) * time.Millisecond))
	}
	if p.longest != 500*time.Millisecond || p.count() != 5 {
		t.Errorf("%v, %d answers", p.longest, p.count())
	}
	p.reset() // the last answer before counts still
	p.answered(at.Add(516 * time.Millisecond))
	if p.longest != 10*time.Millisecond {
		t.Errorf("after a reset %v, want 10ms", p.longest)
	}
}

// What an earlier process has printed does not count.
func TestNodeSaid(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	before, after := "AMQ221024 one\n", "AMQ221007\nAMQ221024 two\nAMQ221024 three\n"
	if err := os.WriteFile(log, []byte(before+after), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &haNode{log: log, from: int64(len(before)), instance: peers.Instance{Dir: "x"}}
	if got := n.said(codeSynced); got != 2 {
		t.Errorf("said %d times, want 2", got)
	}
	if _, err := n.says(t.Context(), codeFile); err == nil || !strings.Contains(err.Error(), "two") {
		t.Errorf("a node that does not run: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	n.exited = make(chan struct{})
	cause := errors.New("enough")
	cancel(cause)
	if _, err := n.says(ctx, codeFile); !errors.Is(err, cause) {
		t.Errorf("%v, want %v", err, cause)
	}
	if _, err := n.says(t.Context(), codeActive); err != nil {
		t.Error(err)
	}
}

func TestActivationSequence(t *testing.T) {
	n := &haNode{instance: peers.Instance{Dir: t.TempDir()}}
	if got := n.sequence(); got != -1 {
		t.Errorf("%d without a file", got)
	}
	file := filepath.Join(n.instance.Dir, "data", "journal", "server.activation.sequence")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte{0, 0, 0, 0, 0, 0, 1, 2}, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := n.sequence(); got != 258 {
		t.Errorf("%d, want 258", got)
	}
}

func TestRoundTrips(t *testing.T) {
	if p50, err := roundTrips(1300, 32); err != nil || p50 <= 0 || p50 > 1e6 {
		t.Errorf("%v µs, %v", p50, err)
	}
}

func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"a": 10, "sub/b": 100, "sub/sub/c": 1} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := sizeOf(dir); err != nil || got != 111 {
		t.Errorf("%d, %v", got, err)
	}
}

func TestMeasuredOnce(t *testing.T) {
	for _, r := range rows {
		want := 3
		if r.name == longRow {
			want = 1
		}
		if got := r.rounds(3); got != want {
			t.Errorf("%s: %d rounds, want %d", r.name, got, want)
		}
	}
}
