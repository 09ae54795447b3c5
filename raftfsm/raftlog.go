package raftfsm

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// raftLog is the log that hashicorp/raft gets. It says the same about a peer that is away many times a second; here each text about one peer, or about none,
// comes once per repeatAfter, with the number of those left out. What it says while the member stops is no news.
type raftLog struct {
	hclog.Logger
	*repeats
}

// repeats are shared by a logger and those that were made of it. Safe for concurrent use.
type repeats struct {
	clock   Clock
	stopped func() bool

	mu   sync.Mutex
	last map[string]*repeat
}

type repeat struct {
	at   time.Time
	left int
}

const (
	repeatAfter = 30 * time.Second
	maxRepeats  = 1024 // texts remembered; then all are forgotten
)

func newRaftLog(log hclog.Logger, clock Clock, stopped func() bool) hclog.Logger {
	return raftLog{log, &repeats{clock: clock, stopped: stopped, last: map[string]*repeat{}}}
}

// Error implements hclog.Logger.
func (l raftLog) Error(text string, args ...any) { l.once(l.Logger.Error, text, args) }

// Warn implements hclog.Logger.
func (l raftLog) Warn(text string, args ...any) { l.once(l.Logger.Warn, text, args) }

// Info implements hclog.Logger.
func (l raftLog) Info(text string, args ...any) { l.once(l.Logger.Info, text, args) }

// With implements hclog.Logger.
func (l raftLog) With(args ...any) hclog.Logger { return raftLog{l.Logger.With(args...), l.repeats} }

// Named implements hclog.Logger.
func (l raftLog) Named(name string) hclog.Logger { return raftLog{l.Logger.Named(name), l.repeats} }

func (l raftLog) once(log func(string, ...any), text string, args []any) {
	if l.stopped() {
		l.Debug(text, args...)
		return
	}
	key := text
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "peer" {
			key += fmt.Sprint(" ", args[i+1])
		}
	}
	left, ok := l.news(key)
	if !ok {
		return
	}
	if left > 0 {
		args = append(args[:len(args):len(args)], "and as often again", left)
	}
	log(text, args...)
}

// news reports whether the text is to be logged, and how often it was left out before.
func (r *repeats) news(key string) (left int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	last := r.last[key]
	switch {
	case last == nil:
		if len(r.last) >= maxRepeats {
			clear(r.last)
		}
		r.last[key] = &repeat{at: now}
		return 0, true
	case now.Sub(last.at) < repeatAfter:
		last.left++
		return 0, false
	}
	left = last.left
	*last = repeat{at: now}
	return left, true
}
