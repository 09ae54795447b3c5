package brokertest

import (
	"io"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
)

// A Body is the body of a large message in a Store.
type Body struct {
	s        *Store
	id       int64
	data     []byte
	complete bool
	holds    atomic.Int32
}

// CreateBody implements broker.Bodies.
func (s *Store) CreateBody(id int64, _ bool) (broker.BodyWriter, error) {
	b := &Body{s: s, id: id}
	b.holds.Store(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failBind != nil {
		if err := s.failBind("CreateBody"); err != nil {
			return nil, err
		}
	}
	s.bodies[id] = b
	s.made = append(s.made, b)
	return (*bodyWriter)(b), nil
}

// CopyBody implements broker.Bodies.
func (s *Store) CopyBody(id int64, durable bool, from message.Body) (message.Body, error) {
	w, err := s.CreateBody(id, durable)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, io.NewSectionReader(from, 0, from.Size())); err != nil {
		w.Abort()
		return nil, err
	}
	return broker.FinishBody(w)
}

// DeleteBody implements broker.Bodies.
func (s *Store) DeleteBody(id int64) {
	s.mu.Lock()
	delete(s.bodies, id)
	s.mu.Unlock()
}

type bodyWriter Body

// Write implements broker.BodyWriter.
func (w *bodyWriter) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	return len(p), nil
}

// Complete implements broker.BodyWriter.
func (w *bodyWriter) Complete() (message.Body, error) {
	w.complete = true
	return (*Body)(w), nil
}

// Sync implements broker.BodyWriter.
func (w *bodyWriter) Sync() error {
	if w.s.SyncBody != nil {
		return w.s.SyncBody(w.id)
	}
	return nil
}

// Abort implements broker.BodyWriter.
func (w *bodyWriter) Abort() {
	if !w.complete {
		w.holds.Store(0)
		w.s.DeleteBody(w.id)
	}
}

// Size implements message.Body.
func (b *Body) Size() int64 { return int64(len(b.data)) }

// ReadAt implements message.Body.
func (b *Body) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(b.data)) {
		return 0, io.EOF
	}
	n := copy(p, b.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Discard implements message.Body.
func (b *Body) Discard() { b.s.DeleteBody(b.id) }

// Retain implements message.Body.
func (b *Body) Retain() { b.holds.Add(1) }

// Release implements message.Body.
func (b *Body) Release() {
	if b.holds.Add(-1) < 0 {
		panic("brokertest: a body was released more often than retained")
	}
}
