package journal

import (
	"fmt"
	"sync"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/large"
)

// The large messages' part of the store.

// CreateBody implements broker.Bodies, as all methods of Store here.
func (s *Store) CreateBody(id int64, durable bool) (broker.BodyWriter, error) {
	w, err := s.bodies.Create(id, durable)
	if err != nil {
		return nil, err
	}
	return bodyWriter{w}, nil
}

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

func (s *Store) CopyBody(id int64, durable bool, from message.Body) (message.Body, error) {
	w, err := s.CreateBody(id, durable)
	if err != nil {
		return nil, err
	}
	b := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(b)
	for off, size := int64(0), from.Size(); off < size; {
		n, err := from.ReadAt((*b)[:min(int64(len(*b)), size-off)], off)
		if n == 0 {
			w.Abort()
			return nil, fmt.Errorf("copy large body to %d: read at %d: %w", id, off, err)
		}
		if _, err := w.Write((*b)[:n]); err != nil {
			w.Abort()
			return nil, err
		}
		off += int64(n)
	}
	return broker.FinishBody(w)
}

// DeleteBody removes the file when the delete of its message, appended before, is on disk: until then a crash could bring
// the message back.
func (s *Store) DeleteBody(id int64) {
	a, err := s.messages.Begin(Reserve)
	if err != nil {
		return // a failed or closed store removes nothing; a file that is left is found at the next start
	}
	_, _ = a.CommitLazy(bodyDeletion{s.bodies, id})
}

type bodyDeletion struct {
	folder *large.Folder
	id     int64
}

func (d bodyDeletion) Stored() { d.folder.Delete(d.id) }

// bodyWriter is a large.Writer whose body is a message.Body.
type bodyWriter struct{ *large.Writer }

func (b bodyWriter) Complete() (message.Body, error) {
	body, err := b.Writer.Complete()
	if err != nil {
		return nil, err
	}
	return body, nil
}

func (b bodyWriter) Abort() { b.Writer.Abort() }
