package raftfsm

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A text about one peer comes once in a while; the next one says how many were left out.
func TestRaftLog(t *testing.T) {
	var out strings.Builder
	clock, stopped := &setClock{time.Unix(1000, 0)}, false
	log := newRaftLog(hclog.New(&hclog.LoggerOptions{Output: &out, DisableTime: true}), clock, func() bool { return stopped })
	said := func() string {
		defer out.Reset()
		return out.String()
	}
	for range 3 {
		log.Error("no heartbeat", "peer", "a", "error", "x")
		log.With("k", "v").Error("no heartbeat", "peer", "b")
	}
	if got, want := said(), "[ERROR] no heartbeat: peer=a error=x\n[ERROR] no heartbeat: k=v peer=b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	log.Warn("election")
	log.Info("vote", "term", 3)
	if got, want := said(), "[WARN]  election\n[INFO]  vote: term=3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	clock.at = clock.at.Add(repeatAfter)
	log.Error("no heartbeat", "peer", "a", "error", "y")
	if got, want := said(), "[ERROR] no heartbeat: peer=a error=y and as often again=2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	stopped = true
	log.Error("the listener is closed")
	if got := said(); got != "" {
		t.Errorf("got %q of a member that stops", got)
	}
}
