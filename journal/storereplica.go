package journal

import (
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/large"
	"github.com/saranga-mq/saranga/journal/paging"
)

// The store's seam for a replica. A synchronisation goes through these steps:
//
//	Attach     the tap sees everything from here on, the snapshot holds everything before; waiters are told as before
//	Gate       the replica is about to have everything: from here on waiters need Confirm, too
//	Confirm    as the replica answers
//	Detach     the replica is lost: waiters that it did not confirm, and later ones, are held
//	Release    they are told, and from here on all are without a replica; or
//	Abandon    they never are
//
// The stream is what the tap sees, in the order in which it sees it: both journals and the bodies. What depends on something
// else comes after it: a record that refers to a body after the body's end, a record with a new id after the reservation of
// the id. A cut of it is therefore what this node's disk could hold after a crash.

// JournalID names a journal of the store, with the values of the replication protocol.
type JournalID int8

const (
	BindingsJournal JournalID = 0
	MessagesJournal JournalID = 1
)

func (id JournalID) String() string {
	if id == BindingsJournal {
		return "bindings"
	}
	return "messages"
}

// A StoreTap sees what a store does: the sending end of a replication stream. Appended, Flush and Full are as in Tap; each
// journal calls them under a lock of its own.
type StoreTap interface {
	Appended(JournalID, Mark, *Record)
	Flush()
	Full() bool
	large.Tap
}

// journalTap is a store's tap as one of its journals sees it.
type journalTap struct {
	StoreTap
	id JournalID
}

func (t journalTap) Appended(m Mark, r *Record) { t.StoreTap.Appended(t.id, m, r) }

// ErrAttached: there is a tap already.
var ErrAttached = errors.New("a replica is attached")

// A Snapshot is what a store held when a tap was attached. Its files stay as they are until Close.
type Snapshot struct {
	s        *Store
	Messages []FileInfo // complete files, by id
	Bindings []FileInfo
	Bodies   []*large.Body // each with a hold, which is the taker's who puts nil in its place
	Pages    []*paging.Folder
}

// Open opens a journal file of the snapshot.
func (sn *Snapshot) Open(id JournalID, f FileInfo) (fs.File, error) {
	j := sn.s.journal(id)
	file, err := j.o.FS.OpenRead(j.o.path(f.Name))
	if err != nil {
		return nil, fmt.Errorf("journal: open %s: %w", j.o.path(f.Name), err)
	}
	return file, nil
}

// Close lets the files go.
func (sn *Snapshot) Close() {
	for _, b := range sn.Bodies {
		if b != nil {
			b.Release()
		}
	}
	sn.Bodies = nil
	sn.s.messages.Unpin()
	sn.s.bindings.Unpin()
}

func (s *Store) journal(id JournalID) *Journal {
	if id == BindingsJournal {
		return s.bindings
	}
	return s.messages
}

// Compact compacts both journals, so that there is less to copy. It may take long; appends go on.
func (s *Store) Compact() error {
	return errors.Join(s.messages.Compact(), s.bindings.Compact())
}

// Barrier stops all appends, waits until both journals are synced, begins new files in both, calls f, and lets appends go on. The
// files it is given are complete.
func (s *Store) Barrier(f func(messages, bindings []FileInfo) error) error {
	// The messages first: an append may wait for a reservation of ids in the bindings, but not the other way round.
	return s.messages.Barrier(func(messages []FileInfo) error {
		return s.bindings.Barrier(func(bindings []FileInfo) error { return f(messages, bindings) })
	})
}

// Attach lets t see everything from now on, and returns what was before. begin is called in between, with all appends stopped
// and the folder of large messages locked: it must be short.
func (s *Store) Attach(t StoreTap, begin func(*Snapshot)) (*Snapshot, error) {
	pages, _, err := paging.Folders(s.o.FS, s.o.Paging)
	if err != nil {
		return nil, err
	}
	sn := &Snapshot{s: s, Pages: pages}
	err = s.Barrier(func(messages, bindings []FileInfo) error {
		sn.Messages, sn.Bindings = messages, bindings
		if s.messages.tapped() {
			return ErrAttached
		}
		if err := s.bodies.Attach(t, func(bodies []*large.Body) {
			sn.Bodies = bodies
			begin(sn)
		}); err != nil {
			return err
		}
		s.messages.Pin()
		s.bindings.Pin()
		s.messages.Attach(journalTap{t, MessagesJournal})
		s.bindings.Attach(journalTap{t, BindingsJournal})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sn, nil
}

// Gate lets waiters from here on be told only when they are confirmed, if f agrees, which is called at that point of the
// stream with both append locks held.
func (s *Store) Gate(f func() bool) {
	s.messages.mu.Lock()
	defer s.messages.mu.Unlock()
	s.bindings.mu.Lock()
	defer s.bindings.mu.Unlock()
	if f() {
		s.messages.gate()
		s.bindings.gate()
	}
}

// Confirm tells that the replica has everything of a journal up to the mark. Waiters are told on the caller's goroutine. What
// comes after Detach decides nothing.
func (s *Store) Confirm(id JournalID, m Mark) { s.journal(id).Confirm(m) }

// Resume tells that the tap is not full any more.
func (s *Store) Resume() {
	s.messages.Resume()
	s.bindings.Resume()
}

// Detach takes the tap off. After Gate, waiters that were not confirmed, and later ones, stay held.
func (s *Store) Detach() {
	s.bodies.Detach()
	s.messages.Detach()
	s.bindings.Detach()
}

// Release tells all waiters that are locally durable, and from now on every waiter without confirmation. It does nothing
// while a tap is attached: what was promised to be on two nodes is not released by one.
func (s *Store) Release() {
	s.messages.Release()
	s.bindings.Release()
}

// Abandon gives up those who still wait: calls return an error, waiters are never told. For a node that stops without knowing
// what its replica has.
func (s *Store) Abandon() { s.ended.Do(func() { close(s.over) }) }
