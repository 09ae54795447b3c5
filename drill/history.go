package drill

import (
	"fmt"
	"sync"
	"time"
)

// A Time is a moment of a drill, in units of Tick since its History began. It ends after five days.
type Time uint32

// Tick is the unit of Time.
const Tick = 100 * time.Microsecond

// Duration is the time since the History began.
func (t Time) Duration() time.Duration { return time.Duration(t) * Tick }

// An ID names a message: its producer and its place, from 0, among what that producer sent.
type ID struct {
	Producer uint16
	Seq      uint32
}

// String is the form that reports have.
func (id ID) String() string { return fmt.Sprintf("%d/%d", id.Producer, id.Seq) }

// An Outcome is what a client knows of a send or of an acknowledgement.
type Outcome uint8

// Outcomes. Unknown is the zero value: nobody has answered.
const (
	Unknown      Outcome = iota
	Acknowledged         // the broker said that it was done
	Refused              // the broker said that it was not done; of a receipt: the message will be delivered again
	RolledBack           // it was part of a transaction that was rolled back
)

var outcomeNames = [...]string{Unknown: "unknown", Acknowledged: "acknowledged", Refused: "refused", RolledBack: "rolled back"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

// A Term is an activation of a node, as far as clients could tell: an index of History.Terms. 0 is not known.
type Term uint8

// TermInfo tells of a Term.
type TermInfo struct {
	Node     string // URL or host:port of the node
	Sequence int64  // its activation sequence when the client connected; 0 and below: not known
}

// A Send is what is known of a message that was sent.
type Send struct {
	Sent, Answered Time // of the last attempt
	Term           Term // who answered
	Outcome        Outcome
	Attempts       uint8 // that the broker may have stored: all but those it refused or rolled back; stays at 255
}

// A Receipt is a delivery.
type Receipt struct {
	Received, Answered Time // Answered: of its acknowledgement
	Seq                uint32
	Producer           uint16
	Term               Term
	Outcome            Outcome // of its acknowledgement
}

// ID returns the message's.
func (r Receipt) ID() ID { return ID{r.Producer, r.Seq} }

// A Transaction is a run of messages of one producer that must be delivered all or not at all.
type Transaction struct{ First, Count uint32 }

// A Queue is where messages wait for consumers: a queue, or a durable subscription of a topic.
type Queue struct {
	Address, Name string
	Multicast     bool

	// Drained says that a client found it empty after the producers had ended. Without that nothing can be called lost.
	Drained bool
}

// A History is what the clients of a drill know. Each Producer and Consumer is written by one goroutine at a time; the rest of the
// History may be written by several. It is read when all have ended.
type History struct {
	// Switches is how many times the active node may have changed, -1 if nobody knows. It is used for nodes without activation
	// sequences.
	Switches int

	Queues    []*Queue
	Producers []*Producer
	Consumers []*Consumer

	mu    sync.Mutex
	terms []TermInfo // from Term 1 on
}

// NewHistory returns an empty History in which nobody knows of Switches.
func NewHistory() *History { return &History{Switches: -1} }

// AddQueue adds a queue.
func (h *History) AddQueue(q Queue) *Queue {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Queues = append(h.Queues, &q)
	return &q
}

// AddProducer adds a producer; it gets its number.
func (h *History) AddProducer(p Producer) *Producer {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.number = uint16(len(h.Producers))
	h.Producers = append(h.Producers, &p)
	return &p
}

// AddConsumer adds a consumer of a queue.
func (h *History) AddConsumer(q *Queue) *Consumer {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &Consumer{Queue: q}
	h.Consumers = append(h.Consumers, c)
	return c
}

// Term returns the Term of a node's activation. An empty node is not known, and so is the 256th activation.
func (h *History) Term(i TermInfo) Term {
	if i.Node == "" {
		return 0
	}
	i.Sequence = max(i.Sequence, 0)
	h.mu.Lock()
	defer h.mu.Unlock()
	for n, t := range h.terms {
		if t == i {
			return Term(n + 1)
		}
	}
	if len(h.terms) == 255 {
		return 0
	}
	h.terms = append(h.terms, i)
	return Term(len(h.terms))
}

// TermInfo tells of a Term that Term returned.
func (h *History) TermInfo(t Term) TermInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t == 0 || int(t) > len(h.terms) {
		return TermInfo{}
	}
	return h.terms[t-1]
}

// A Producer is a client that sends.
type Producer struct {
	Name               string
	Address            string
	DuplicateDetection bool // its messages carry ids by which the broker knows repeats
	Ordered            bool // it sends the next message when the last one is answered for good

	number       uint16
	sends        log[Send]
	transactions []Transaction
}

// Len is how many messages were sent.
func (p *Producer) Len() uint32 { return uint32(p.sends.len()) }

// ID names the producer's message.
func (p *Producer) ID(seq uint32) ID { return ID{p.number, seq} }

// At returns what is known of a message.
func (p *Producer) At(seq uint32) Send { return *p.sends.at(int(seq)) }

// Transactions returns the producer's transactions.
func (p *Producer) Transactions() []Transaction { return p.transactions }

// Send notes that a new message is about to be sent.
func (p *Producer) Send(now Time) (seq uint32) {
	p.sends.append(Send{Sent: now, Attempts: 1})
	return uint32(p.sends.len() - 1)
}

// Again notes that a message is about to be sent once more, since nobody knows of the last time.
func (p *Producer) Again(seq uint32, now Time) {
	s := p.sends.at(int(seq))
	s.Sent = now
	if s.Attempts < 255 {
		s.Attempts++
	}
}

// Answer notes what the broker said of a message. What is known for good stays: a repeat that was refused does not tell of the attempt
// before it.
func (p *Producer) Answer(seq uint32, o Outcome, t Term, now Time) {
	s := p.sends.at(int(seq))
	switch o {
	case Unknown:
		return
	case Refused, RolledBack:
		if s.Attempts > 1 {
			if s.Attempts < 255 {
				s.Attempts--
			}
			return
		}
		s.Attempts = 0
	}
	s.Outcome, s.Term, s.Answered = o, t, now
}

// Transaction notes that messages were sent in one transaction.
func (p *Producer) Transaction(t Transaction) { p.transactions = append(p.transactions, t) }

// A Consumer is a client that receives from one queue.
type Consumer struct {
	Queue *Queue

	receipts  log[Receipt]
	strangers uint64
	damaged   []ID
	examples  []string // of strangers
}

// Len is how many deliveries there were.
func (c *Consumer) Len() int { return c.receipts.len() }

// At returns a delivery.
func (c *Consumer) At(i int) Receipt { return *c.receipts.at(i) }

// Receive notes a delivery, which is not acknowledged yet.
func (c *Consumer) Receive(id ID, t Term, now Time) (receipt int) {
	c.receipts.append(Receipt{Producer: id.Producer, Seq: id.Seq, Term: t, Received: now})
	return c.receipts.len() - 1
}

// Answer notes what the broker said of a delivery's acknowledgement.
func (c *Consumer) Answer(receipt int, o Outcome, now Time) {
	r := c.receipts.at(receipt)
	r.Outcome, r.Answered = o, now
}

// Damaged notes that a message came with another body than it was sent with.
func (c *Consumer) Damaged(id ID) { c.damaged = append(c.damaged, id) }

// Stranger notes a message that no producer can have sent.
func (c *Consumer) Stranger(text string) {
	if c.strangers++; len(c.examples) < examples {
		c.examples = append(c.examples, text)
	}
}
