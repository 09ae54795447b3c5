package raftfsm

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// link is one RPC connection to another member, from our side: any number of requests at once.
type link struct {
	conn net.Conn
	done chan struct{} // closed when the connection has ended; err is set then

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan frame
	err     error
	mute    time.Time // since when a request waits and nothing was heard; zero: nothing is missed

	writing sync.Mutex
}

func newLink(c net.Conn) *link {
	return &link{conn: c, done: make(chan struct{}), waiting: map[uint64]chan frame{}}
}

// run reads replies until the connection ends.
func (l *link) run() {
	var err error
	for err == nil {
		var f frame
		if f, err = readFrame(l.conn); err == nil {
			err = l.take(f)
		}
	}
	l.conn.Close()
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	close(l.done)
}

func (l *link) take(f frame) error {
	if f.Kind != kindReply {
		return fmt.Errorf("%w: kind %d is no reply", errFrame, f.Kind)
	}
	l.mu.Lock()
	ch := l.waiting[f.ID]
	delete(l.waiting, f.ID)
	l.mute = time.Time{}
	l.mu.Unlock()
	if ch != nil { // else its caller has given up
		ch <- f
	}
	return nil
}

// ask sends a request and waits for the reply. An error that wraps errNotLeader, errBusy or ErrRefused says that nothing was done; every
// other, that nobody knows.
func (l *link) ask(ctx context.Context, k kind, body []byte) ([]byte, error) {
	ch := make(chan frame, 1)
	l.mu.Lock()
	l.next++
	id := l.next
	l.waiting[id] = ch
	if l.mute.IsZero() {
		l.mute = time.Now()
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	if err := l.write(ctx, frame{k, id, body}); err != nil {
		l.conn.Close()
		return nil, err
	}
	select {
	case f := <-ch:
		return answer(f.Body)
	case <-l.done:
		return nil, fmt.Errorf("connection lost: %w", l.err)
	case <-ctx.Done():
		l.closeIfMute()
		return nil, ctx.Err()
	}
}

// maxMute is how long a peer may leave all requests unanswered before its connection is taken for one that leads nowhere: half
// open, it would swallow requests until TCP gives up, which takes a quarter of an hour.
const maxMute = 2 * time.Second

func (l *link) closeIfMute() {
	l.mu.Lock()
	mute := !l.mute.IsZero() && time.Since(l.mute) >= maxMute
	l.mu.Unlock()
	if mute {
		l.conn.Close()
	}
}

// write gives up, and the connection with it, when ctx's deadline or writeTimeout has passed.
func (l *link) write(ctx context.Context, f frame) error {
	b := f.append(make([]byte, 0, 4+frameHead+len(f.Body)))
	l.writing.Lock()
	defer l.writing.Unlock()
	deadline := time.Now().Add(writeTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	_ = l.conn.SetWriteDeadline(deadline)
	_, err := l.conn.Write(b)
	return err
}

// answer turns a reply into its body or an error.
func answer(reply []byte) ([]byte, error) {
	code, body, err := decodeReply(reply)
	if err != nil {
		return nil, err
	}
	text := string(body[:min(len(body), 4*maxName)])
	switch code {
	case replyOK:
		return body, nil
	case replyNotLeader:
		return nil, fmt.Errorf("%w: %s", errNotLeader, text)
	case replyRefused:
		return nil, fmt.Errorf("%w: %s", ErrRefused, text)
	case replyBusy:
		return nil, fmt.Errorf("%w: %s", errBusy, text)
	case replyRemoved:
		return nil, ErrRemoved
	default:
		return nil, fmt.Errorf("%w: %s", ErrUnknown, text)
	}
}

// links are the member's connections to others, by address, made when they are needed.
type links struct {
	port *port
	ctx  context.Context

	mu      sync.Mutex
	open    map[string]*link
	running sync.WaitGroup
}

// to is the connection to an address. Two that dial at once may make two; the later stays.
func (ls *links) to(ctx context.Context, address string) (*link, error) {
	ls.mu.Lock()
	l := ls.open[address]
	ls.mu.Unlock()
	if l != nil {
		select {
		case <-l.done:
		default:
			return l, nil
		}
	}
	c, err := ls.port.dial(ctx, address, serviceRPC)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	l = newLink(c)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.ctx.Err() != nil {
		c.Close()
		return nil, ErrStopped
	}
	ls.open[address] = l
	ls.running.Go(func() {
		l.run()
		ls.mu.Lock()
		defer ls.mu.Unlock()
		if ls.open[address] == l {
			delete(ls.open, address)
		}
	})
	return l, nil
}

// ask sends a request to the member at an address. An error of connecting wraps errNotLeader: nothing was done.
func (ls *links) ask(ctx context.Context, address string, k kind, body []byte) ([]byte, error) {
	l, err := ls.to(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLeader, err)
	}
	return l.ask(ctx, k, body)
}
