package transport

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// logPerSecond bounds the warnings that peers can cause.
const logPerSecond = 20

// A limitedLog is for lines that a peer can cause without being authenticated. Beyond the bound they are counted, and
// the number is told with the first line of a later second.
type limitedLog struct {
	log hclog.Logger

	mu     sync.Mutex
	second time.Time
	lines  int
	missed int
}

func newLimitedLog(log hclog.Logger) *limitedLog { return &limitedLog{log: log} }

func (l *limitedLog) warn(msg string, args ...any) {
	l.mu.Lock()
	now := time.Now()
	if now.Sub(l.second) >= time.Second {
		l.second, l.lines = now, 0
	}
	l.lines++
	if l.lines > logPerSecond {
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
