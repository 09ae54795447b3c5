package paging

import (
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
)

// The user types of the messages journal that are about pages.
const (
	TypePageTransaction = 35 // i64 page tx, i32 count
	TypeCursorAck       = 39 // i64 queue, i64 page, i32 index (-1: only keeps the cursor at the page)
	TypeCounter         = 40
	TypeCounterDelta    = 41
	TypePageComplete    = 42 // i64 queue, i64 page, i32 messages
	TypePendingCounter  = 43
)

// State is what the messages journal says about pages.
type State struct {
	acks     map[position]bool
	complete map[position]bool
	txs      map[int64]*transaction
}

type position struct {
	queue, page int64
	index       int32
}

type transaction struct {
	count    int64
	prepared bool
}

// NewState returns the state of an empty journal.
func NewState() *State {
	return &State{acks: map[position]bool{}, complete: map[position]bool{}, txs: map[int64]*transaction{}}
}

// Record takes a live record of the messages journal; types that are not about pages are ignored. update tells that it
// is an update of the record, prepared that it belongs to a prepared transaction.
func (s *State) Record(userType byte, payload []byte, update, prepared bool) error {
	r := buf.NewReader(payload)
	switch userType {
	case TypePageTransaction:
		id, n := r.Int64(), int64(r.Int32())
		if t := s.txs[id]; t != nil && update {
			t.count -= n
		} else if !update {
			s.txs[id] = &transaction{n, prepared}
		}
	case TypeCursorAck:
		if p := (position{r.Int64(), r.Int64(), r.Int32()}); !prepared {
			s.acks[p] = true
		}
	case TypePageComplete:
		s.complete[position{queue: r.Int64(), page: r.Int64()}] = true
		r.Int32()
	default:
		return nil
	}
	if r.Err() != nil {
		return fmt.Errorf("record of type %d: %w", userType, r.Err())
	}
	return nil
}

// Acked tells whether a queue has acknowledged a message, alone or with its whole page.
func (s *State) Acked(queue int64, m *Message) bool {
	return s.acks[position{queue, m.Page, int32(m.Index)}] || s.Complete(queue, m.Page)
}

// Complete tells whether a queue is done with a page.
func (s *State) Complete(queue, page int64) bool {
	return s.complete[position{queue: queue, page: page}]
}

// Transaction tells about a message's page transaction: none and committed ones are known, a prepared one may still
// become so.
func (s *State) Transaction(id int64) (known, prepared bool) {
	if id < 0 {
		return true, false
	}
	t := s.txs[id]
	return t != nil && !t.prepared, t != nil && t.prepared
}

// Live tells whether a queue that exists still waits for the message, or will if a prepared transaction is committed.
func (s *State) Live(m *Message, exists func(queue int64) bool) bool {
	if known, prepared := s.Transaction(m.Tx); !known && !prepared {
		return false
	}
	for _, q := range m.Queues {
		if exists(q) && !s.Acked(q, m) {
			return true
		}
	}
	return false
}

// FindLive reads a folder up to its first live message; ok is false when there is none. every, if not nil, gets
// all messages of all pages, live or not.
func (s *State) FindLive(f *Folder, exists func(queue int64) bool, every func(*Message) error) (at Message, ok bool, err error) {
	for _, page := range f.Pages {
		_, _, err := f.Read(page, func(m *Message) error {
			if !ok && s.Live(m, exists) {
				at, ok = Message{Page: m.Page, Index: m.Index, Tx: m.Tx}, true
			}
			if every != nil {
				return every(m)
			}
			return nil
		})
		if err != nil {
			return at, ok, err
		}
		if ok && every == nil {
			break
		}
	}
	return at, ok, nil
}
