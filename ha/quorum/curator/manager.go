package curator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// Options are what recipes need beside a session.
type Options struct {
	Namespace  string        // folder of everything; "": the root
	Retries    int           // how often an operation is tried again after a lost connection; negative: for ever
	RetryPause time.Duration // before each of them
	Log        hclog.Logger  // nil: nothing is logged
	Now        func() quorum.Instant
}

// A Manager is the quorum.Manager over the sessions that connect makes.
type Manager struct {
	o       Options
	connect func(context.Context) (Session, error)

	life sync.Mutex // held by Start and Stop

	mu   sync.Mutex
	live *live // nil: not started
}

// New makes a manager. connect returns when there is a session, or with the context's cause.
func New(o Options, connect func(context.Context) (Session, error)) (*Manager, error) {
	if o.Namespace != "" {
		if err := checkPath("/" + o.Namespace); err != nil {
			return nil, fmt.Errorf("namespace: %w", err)
		}
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Now == nil {
		o.Now = quorum.Now
	}
	return &Manager{o: o, connect: connect}, nil
}

// Start implements quorum.Manager. A Stop waits for it: end it with the context.
func (m *Manager) Start(ctx context.Context) error {
	m.life.Lock()
	defer m.life.Unlock()
	if m.live != nil {
		return nil
	}
	s, err := m.connect(ctx)
	if err != nil {
		return fmt.Errorf("start lock manager: %w", err)
	}
	l := &live{o: &m.o, session: s, unavailable: make(chan struct{}), none: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{})}
	close(l.none)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go l.keep()
	m.mu.Lock()
	m.live = l
	m.mu.Unlock()
	return nil
}

// Stop implements quorum.Manager.
func (m *Manager) Stop() {
	m.life.Lock()
	defer m.life.Unlock()
	m.mu.Lock()
	l := m.live
	m.live = nil
	m.mu.Unlock()
	if l == nil {
		return
	}
	close(l.stop)
	l.cancel()
	<-l.done
	l.session.Close()
}

// Unavailable implements quorum.Manager.
func (m *Manager) Unavailable() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live == nil {
		return nil
	}
	return m.live.unavailable
}

// Lock implements quorum.Manager.
func (m *Manager) Lock(id string) (quorum.Lock, error) {
	l, dir, err := m.dir(id)
	if err != nil {
		return nil, err
	}
	return l.lock(id, dir), nil
}

// Long implements quorum.Manager.
func (m *Manager) Long(id string) (quorum.Long, error) {
	l, dir, err := m.dir(id)
	if err != nil {
		return nil, err
	}
	return l.long(id, dir), nil
}

// dir returns the folder of an id.
func (m *Manager) dir(id string) (*live, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live == nil {
		return nil, "", quorum.ErrNotStarted
	}
	dir := "/" + id
	if m.o.Namespace != "" {
		dir = "/" + m.o.Namespace + dir
	}
	if err := checkPath(dir); err != nil {
		return nil, "", fmt.Errorf("%w: %w", quorum.ErrBadID, err)
	}
	return m.live, dir, nil
}

var errBadPath = errors.New("not a path of nodes")

// checkPath refuses what ZooKeeper refuses as a path.
func checkPath(p string) error {
	for part := range strings.SplitSeq(p[1:], "/") {
		bad := part == "" || part == "." || part == ".." || strings.ContainsFunc(part, func(r rune) bool {
			return r < 0x20 || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r && r <= 0xffff
		})
		if bad {
			return fmt.Errorf("%q: %w", p, errBadPath)
		}
	}
	return nil
}
