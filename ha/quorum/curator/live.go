package curator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A live is what a manager has between Start and Stop.
type live struct {
	o           *Options
	session     Session
	unavailable chan struct{} // closed by keep when the session is lost
	none        chan struct{} // closed: what Lock.Lost is without a holding
	stop        chan struct{}
	done        chan struct{} // keep has ended
	ctx         context.Context
	cancel      context.CancelFunc

	mu      sync.Mutex
	locks   map[string]*Lock
	longs   map[string]*Long
	orphans []orphan
}

// An orphan is a node of ours that should not be there, or may not be: its name begins with prefix.
type orphan struct{ dir, prefix string }

func (s *live) lock(id, dir string) *Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.locks[id]
	if !ok {
		l = &Lock{id: id, dir: dir, live: s, busy: make(chan struct{}, 1)}
		if s.locks == nil {
			s.locks = map[string]*Lock{}
		}
		s.locks[id] = l
	}
	return l
}

func (s *live) long(id, dir string) *Long {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.longs[id]
	if !ok {
		l = &Long{id: id, path: dir + "/activation-sequence", live: s}
		if s.longs == nil {
			s.longs = map[string]*Long{}
		}
		s.longs[id] = l
	}
	return l
}

// renewals is how many writes of a lease fit into the session time.
const renewals = 9

// keep renews leases and clears away orphans until the session is lost or the manager stopped; then no lock is held.
func (s *live) keep() {
	defer close(s.done)
	tick := time.NewTicker(max(s.session.Timeout()/renewals, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.session.Moved():
		case <-s.session.Lost():
			s.o.Log.Warn("the session of the lock manager is lost")
			close(s.unavailable) // first: TryLock looks at it after it has stored a holding
			s.each(func(l *Lock, h *holding) { l.lose(h) })
			return
		case <-s.stop:
			s.each(func(l *Lock, h *holding) { l.held.CompareAndSwap(h, nil) })
			return
		}
		// A server may have granted less when the session moved to it.
		s.each(func(_ *Lock, h *holding) { h.clamp(s.lease(s.o.Now())) })
		s.each(func(l *Lock, h *holding) { l.renew(s.ctx, h) })
		if err := s.sweep(s.ctx); err != nil {
			s.o.Log.Debug("nodes of earlier attempts could not be removed yet", "error", err)
		}
	}
}

// each calls f for every lock that is held.
func (s *live) each(f func(*Lock, *holding)) {
	s.mu.Lock()
	locks := make([]*Lock, 0, len(s.locks))
	for _, l := range s.locks {
		locks = append(locks, l)
	}
	s.mu.Unlock()
	for _, l := range locks {
		if h := l.held.Load(); h != nil {
			f(l, h)
		}
	}
}

// retry does an operation again while its answer is lost, as often as is configured.
func (s *live) retry(ctx context.Context, op func() error) error {
	for n := 0; ; n++ {
		err := op()
		if !errors.Is(err, ErrDisconnected) || s.o.Retries >= 0 && n >= s.o.Retries {
			return err
		}
		t := time.NewTimer(s.o.RetryPause)
		select {
		case <-t.C:
		case <-s.session.Lost():
			t.Stop()
			return err
		case <-s.stop:
			t.Stop()
			return err
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// protect begins the name of a node whose creation may be repeated.
func protect() string { return "_c_" + newUUID() + "-" }

// create makes a protected ephemeral sequential node and its folders, and returns its name. After an error there is none, or
// it is an orphan.
func (s *live) create(ctx context.Context, dir, base string, data []byte) (name string, err error) {
	prefix := protect()
	sent := false
	err = s.retry(ctx, func() error {
		if sent { // perhaps it is there
			found, err := s.find(ctx, dir, prefix)
			if err != nil || found != "" {
				name = found
				return err
			}
		}
		return s.inFolder(ctx, dir, func() error {
			sent = true
			p, err := s.session.Create(ctx, dir+"/"+prefix+base, data, EphemeralSequential)
			name = path.Base(p)
			return err
		})
	})
	if err != nil {
		if sent && !errors.Is(err, ErrSessionLost) {
			s.abandon(dir, prefix)
		}
		return "", fmt.Errorf("make node in %s: %w", dir, err)
	}
	return name, nil
}

// find returns the name of the node that begins so, "" if there is none. It is for nodes whose creation had no answer: after the
// sync that can't be under way any more.
func (s *live) find(ctx context.Context, dir, prefix string) (string, error) {
	if err := s.session.Sync(ctx, dir); err != nil {
		return "", err
	}
	names, err := s.session.Children(ctx, dir)
	if err != nil && !errors.Is(err, ErrNoNode) {
		return "", err
	}
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			return n, nil
		}
	}
	return "", nil
}

// foldersTries bounds how often folders are made for one node: the store may remove an empty container any time.
const foldersTries = 3

// inFolder does what needs the folder, and makes that when it is missing.
func (s *live) inFolder(ctx context.Context, dir string, op func() error) error {
	for n := 0; ; n++ {
		err := op()
		if !errors.Is(err, ErrNoNode) || n == foldersTries {
			return err
		}
		if err := s.mkdir(ctx, dir); err != nil {
			return err
		}
	}
}

// mkdir makes a container, first those above it that are missing.
func (s *live) mkdir(ctx context.Context, dir string) error {
	_, err := s.session.Create(ctx, dir, nil, Container)
	if errors.Is(err, ErrNoNode) && path.Dir(dir) != "/" {
		if err := s.mkdir(ctx, path.Dir(dir)); err != nil {
			return err
		}
		_, err = s.session.Create(ctx, dir, nil, Container)
	}
	if errors.Is(err, ErrNodeExists) {
		return nil
	}
	return err
}

// remove removes a node, now or later. The error says that it is later.
func (s *live) remove(ctx context.Context, dir, name string) error {
	err := s.session.Delete(ctx, dir+"/"+name)
	if err == nil || errors.Is(err, ErrNoNode) {
		return nil
	}
	if !errors.Is(err, ErrSessionLost) {
		s.abandon(dir, name)
	}
	return fmt.Errorf("remove node %s/%s: %w", dir, name, err)
}

func (s *live) abandon(dir, prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orphans = append(s.orphans, orphan{dir, prefix})
}

// sweep removes the orphans. Those that could not be removed are left for the next time.
func (s *live) sweep(ctx context.Context) error {
	s.mu.Lock()
	orphans := s.orphans
	s.orphans = nil
	s.mu.Unlock()
	for i, o := range orphans {
		name, err := s.find(ctx, o.dir, o.prefix)
		if err == nil && name != "" {
			err = s.session.Delete(ctx, o.dir+"/"+name)
		}
		if err != nil && !errors.Is(err, ErrNoNode) {
			s.mu.Lock()
			s.orphans = append(s.orphans, orphans[i:]...)
			s.mu.Unlock()
			return fmt.Errorf("remove node %s/%s: %w", o.dir, o.prefix, err)
		}
	}
	return nil
}

// newUUID is a random UUID as text.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// lease is when a lease ends whose write was sent at that time.
func (s *live) lease(sent quorum.Instant) quorum.Instant {
	return sent.Add(s.session.Lease())
}
