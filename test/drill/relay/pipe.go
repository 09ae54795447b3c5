package relay

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A pipe is one connection: near is to whoever connected, far to the service.
type pipe struct {
	link   *Link
	near   *net.TCPConn
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	far  *net.TCPConn
	mute [2]bool // nothing goes this way any more, not even the end
	torn bool
}

func newPipe(ctx context.Context, link *Link, near *net.TCPConn) *pipe {
	p := &pipe{link: link, near: near}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// awaitFree waits until a connection can be made on the link.
func (p *pipe) awaitFree() bool {
	for {
		free, changed := p.link.free()
		if free {
			return p.ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			return false
		}
	}
}

// segment is a part of a stream on its way; the last one has end set.
type segment struct {
	bytes []byte
	came  time.Time
	end   error // io.EOF: the stream ended; else it was reset
}

// Bounds of what is on its way in one direction of a connection: what a kernel's socket buffers would hold.
const (
	segmentSize = 16 << 10
	segments    = 16
)

// run carries both directions until both have ended.
func (p *pipe) run(far *net.TCPConn) {
	p.mu.Lock()
	p.far = far
	torn := p.torn
	p.mu.Unlock()
	if torn {
		abort(far)
		return
	}
	closed := context.AfterFunc(p.ctx, func() {
		abort(p.near)
		abort(far)
	})
	defer closed()
	var both sync.WaitGroup
	both.Go(func() { p.direction(Out, p.near, far) })
	both.Go(func() { p.direction(Back, far, p.near) })
	both.Wait()
}

// direction carries what comes from one end to the other.
func (p *pipe) direction(d Direction, from, to *net.TCPConn) {
	queue := make(chan segment, segments)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(queue)
		for {
			b := make([]byte, segmentSize)
			n, err := from.Read(b)
			select {
			case queue <- segment{b[:n], time.Now(), err}:
			case <-p.ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	p.write(d, queue, to)
	for range queue { // until the reader has ended, too
	}
	reading.Wait()
}

// write passes segments on when the rules let them.
func (p *pipe) write(d Direction, queue <-chan segment, to *net.TCPConn) {
	gone := pace{}
	for s := range queue {
		breaks, ok := p.pass(d, &s, &gone)
		switch {
		case !ok:
			return
		case p.isMute(d):
			continue
		}
		if len(s.bytes) > 0 {
			if _, err := to.Write(s.bytes); err != nil {
				continue // the other direction tells why
			}
		}
		switch {
		case breaks:
			p.end()
			return
		case s.end == nil:
		case errors.Is(s.end, io.EOF):
			_ = to.CloseWrite()
		default:
			abort(to)
		}
	}
}

// pace is what a direction of a connection has carried.
type pace struct {
	since int       // the rule's number
	bytes int64     // under that rule
	clear time.Time // when the line is clear of what was sent
}

// pass waits until the segment may be written and tells whether there is still a connection. When the connection breaks here it takes
// away what does not get through.
func (p *pipe) pass(d Direction, s *segment, g *pace) (breaks, ok bool) {
	lost, settled := 0, false
	for {
		r, since, changed := p.link.rule(d)
		if since != g.since {
			*g = pace{since: since, clear: g.clear}
		}
		if !settled && !r.Hold {
			for r.Loss > 0 && rand.Float64() < r.Loss && lost < maxLosses {
				lost++
			}
			settled = true
		}
		now := time.Now()
		due := s.came.Add(r.Delay + retransmission(lost))
		if r.Rate > 0 && g.clear.After(due) {
			due = g.clear
		}
		if !r.Hold && !now.Before(due) {
			if r.Break > 0 && g.bytes+int64(len(s.bytes)) >= r.Break {
				s.bytes = s.bytes[:max(r.Break-g.bytes, 0)]
				return true, true
			}
			g.bytes += int64(len(s.bytes))
			if r.Rate > 0 {
				g.clear = now.Add(time.Duration(float64(len(s.bytes)) / float64(r.Rate) * float64(time.Second)))
			}
			return false, true
		}
		var wait <-chan time.Time
		if !r.Hold {
			wait = time.After(due.Sub(now))
		}
		select {
		case <-wait:
		case <-changed:
		case <-p.ctx.Done():
			return false, false
		}
	}
}

const maxLosses = 5

// retransmission is how late a segment is that was lost so many times.
func retransmission(times int) time.Duration {
	return 200 * time.Millisecond * time.Duration(1<<times-1)
}

func (p *pipe) isMute(d Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mute[d]
}

// reset tears the connection.
func (p *pipe) reset() {
	p.mu.Lock()
	p.torn = true
	far := p.far
	p.mu.Unlock()
	p.cancel()
	abort(p.near)
	if far != nil {
		abort(far)
	}
}

// end ends it in good order, for both ends, though they may be in the middle of something.
func (p *pipe) end() {
	p.mu.Lock()
	p.mute = [2]bool{true, true}
	p.mu.Unlock()
	_ = p.near.CloseWrite()
	_ = p.far.CloseWrite()
}

// halfOpen tears it for one end only.
func (p *pipe) halfOpen(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.far == nil {
		return
	}
	p.mute = [2]bool{true, true}
	if d == Out {
		abort(p.far)
	} else {
		abort(p.near)
	}
}
