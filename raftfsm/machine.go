package raftfsm

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// Listener hears of what a member applies, in the critical section that applies it: entries come one after another in their order, and no
// read runs meanwhile. It must not block nor call the member.
type Listener interface {
	// Applied is called for each command. r is valid during the call.
	Applied(r *tree.Result)
	// Restored is called when a snapshot has replaced the state: there were no results for what is new in it.
	Restored()
}

// machine is the state with all that waits for it: hashicorp/raft's FSM.
type machine struct {
	origin  uint64                   // of this member's commands
	failed  func(error)              // this version cannot go on
	applied func(index, term uint64) // tells followers, under mu

	applies atomic.Int64 // zxid of state, to be read without mu

	mu        sync.Mutex
	state     *tree.State
	broken    error // nothing is applied any more
	listeners []Listener
	waiting   map[claim]*waiter
}

// claim is how a result finds whoever waits for it.
type claim struct {
	kind    tree.Kind
	session int64
	owner   uint64
	request uint64
}

// waiter waits for one result.
type waiter struct {
	done    chan struct{}
	outcome tree.Outcome
	err     error // the result is lost
}

func newMachine() *machine {
	return &machine{state: tree.New(), waiting: map[claim]*waiter{}}
}

// wait registers a waiter; forget must follow.
func (m *machine) wait(c claim) (*waiter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, m.broken
	}
	if m.waiting[c] != nil {
		return nil, ErrInUse
	}
	w := &waiter{done: make(chan struct{})}
	m.waiting[c] = w
	return w, nil
}

func (m *machine) forget(c claim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waiting, c)
}

func (m *machine) listen(l Listener) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := &registered{l}
	m.listeners = append(m.listeners, entry)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, other := range m.listeners {
			if other == entry {
				m.listeners = append(m.listeners[:i:i], m.listeners[i+1:]...)
				return
			}
		}
	}
}

// registered gives each registration an identity of its own.
type registered struct{ Listener }

func (m *machine) read(f func(*tree.View)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.state.View)
}

// stop gives up all waiters and refuses new ones.
func (m *machine) stop(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken == nil {
		m.broken = err
	}
	m.giveUp(err)
}

func (m *machine) giveUp(err error) {
	for c, w := range m.waiting {
		w.err = err
		close(w.done)
		delete(m.waiting, c)
	}
}

// Apply implements raft.FSM.
func (m *machine) Apply(l *raft.Log) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	r := m.state.Apply(l.Index, l.Term, l.Data)
	if r.Fatal != nil {
		m.broken = fmt.Errorf("%w. This version cannot be a member of the group any more; run the version that the others run", r.Fatal)
		m.giveUp(m.broken)
		m.failed(m.broken)
		return m.broken
	}
	m.applies.Store(m.state.Zxid())
	for _, listener := range m.listeners {
		listener.Applied(&r)
	}
	c := claim{r.Kind, r.Session, r.Owner, r.Request}
	if w := m.waiting[c]; w != nil && r.Origin == m.origin {
		w.outcome = r.Outcome
		close(w.done)
		delete(m.waiting, c)
	}
	m.applied(l.Index, l.Term)
	return nil
}

// Snapshot implements raft.FSM.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, m.broken
	}
	return snapshot{m.state.Snapshot()}, nil
}

type snapshot struct{ *tree.Snapshot }

// Persist implements raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.WriteTo(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s snapshot) Release() {}

// errRestored: what became of a proposal is in the snapshot, but not that it was this one.
var errRestored = fmt.Errorf("%w: a snapshot replaced the state", ErrUnknown)

// Restore implements raft.FSM.
func (m *machine) Restore(r io.ReadCloser) error {
	defer r.Close()
	restored, err := tree.Read(r)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = restored
	m.applies.Store(restored.Zxid())
	m.giveUp(errRestored)
	for _, listener := range m.listeners {
		listener.Restored()
	}
	return nil
}
