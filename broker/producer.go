package broker

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker/message"
)

// A Producer is what a client says it sends with. The engine does nothing with it but show it to management.
type Producer struct {
	ID      int64 // unique in the broker
	Name    string
	Address string // empty when each message names its own
	Session *Session
	Created int64 // ms since the epoch

	sent, size atomic.Int64
	last       [2]atomic.Uint64 // user id of the last message
}

// AddProducer notes a producer.
func (s *Session) AddProducer(name, address string) *Producer {
	p := &Producer{ID: s.b.producerSeq.Add(1), Name: name, Address: address, Session: s, Created: s.b.now()}
	s.mu.Lock()
	s.producers = append(s.producers, p)
	s.mu.Unlock()
	return p
}

// RemoveProducer forgets the producer of that name.
func (s *Session) RemoveProducer(name string) {
	s.mu.Lock()
	s.producers = slices.DeleteFunc(s.producers, func(p *Producer) bool { return p.Name == name })
	s.mu.Unlock()
}

// Producers returns the session's producers in the order they came.
func (s *Session) Producers() []*Producer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.producers)
}

// Count counts a message before it is sent.
func (p *Producer) Count(m *message.Message) {
	p.sent.Add(1)
	p.size.Add(m.PersistentSize())
	if id := m.UserID(); len(id) == 16 {
		p.last[0].Store(binary.BigEndian.Uint64(id))
		p.last[1].Store(binary.BigEndian.Uint64(id[8:]))
	}
}

// Sent returns how many messages were sent, their size in bytes, and the user id of the last one, empty for none.
func (p *Producer) Sent() (messages, size int64, last string) {
	hi, lo := p.last[0].Load(), p.last[1].Load()
	if hi|lo != 0 {
		last = fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
	}
	return p.sent.Load(), p.size.Load(), last
}
