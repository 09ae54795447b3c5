package zk

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// linesPerSecond bounds the warnings that peers can cause.
const linesPerSecond = 20

// A limitedLog is for lines that a peer can cause. Beyond the bound they are counted, and the number is told with
// the first line of a later second.
type limitedLog struct {
	log hclog.Logger

	mu     sync.Mutex
	second time.Time
	lines  int
	missed int
}

func (l *limitedLog) warn(msg string, args ...any) {
	l.mu.Lock()
	if now := time.Now(); now.Sub(l.second) >= time.Second {
		l.second, l.lines = now, 0
	}
	l.lines++
	if l.lines > linesPerSecond {
		l.missed++
		l.mu.Unlock()
		return
	}
	missed := l.missed
	l.missed = 0
	l.mu.Unlock()
	if missed > 0 {
		args = append(args, "suppressed", missed)
	}
	l.log.Warn(msg, args...)
}
