package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// sentProperty is when a message was sent, in ns since 1970, for consumers to tell how long it took.
const sentProperty = "saranga_sent"

// largeBody is the size from which bodies go in chunks unless the URL says something else.
const largeBody = client.DefaultMinLargeMessageSize

// A loadProducer sends messages of one kind. As many are sent without waiting for the broker's answer as the window has
// places. In transactions, and with --window, there is no answer to each message.
type loadProducer struct {
	l        *load
	d        destination
	session  *client.Session
	producer *client.Producer
	builder  *message.Builder
	batch    int64 // messages in a transaction, 0 for none
	answered bool  // the broker is asked for an answer

	// template is the encoded message and sentAt the place of the sent property's value in it. Without a template
	// every message is built anew.
	template []byte
	sentAt   int

	period time.Duration // between messages, 0 for none

	pending *window
	// began holds when the pending messages were sent, oldest first: a ring, written by run and read where answers
	// come, which the window keeps apart.
	began      []time.Time
	head, tail int64

	sent, blocked, completed atomic.Int64
	delay, took              *recorder
}

// newProducer makes the nth producer of total.
func (l *load) newProducer(conn *client.Conn, d destination, total, n int) (*loadProducer, error) {
	o := l.o
	p := &loadProducer{l: l, d: d, batch: max(o.commitInterval, o.txSize), delay: newRecorder(), took: newRecorder()}
	var err error
	if p.session, err = conn.NewSession(l.ctx, client.SessionOptions{AutoCommitSends: p.batch == 0, AutoCommitAcks: true}); err != nil {
		return nil, err
	}
	if err := d.ensure(l.ctx, p.session); err != nil {
		return nil, err
	}
	if p.producer, err = p.session.NewProducer(l.ctx, d.address); err != nil {
		return nil, err
	}
	cfg, err := client.ParseURL(o.connection.url)
	if err != nil {
		return nil, err
	}
	p.answered = p.batch == 0 && l.inFlight == nil
	p.pending = newWindow(max(o.maxPending, p.batch))
	p.began = make([]time.Time, p.pending.max)
	if o.rate > 0 {
		p.period = time.Duration(float64(time.Second) * float64(total) / float64(o.rate))
	}
	p.newBuilder()
	large := largeBody
	if cfg.MinLargeMessageSize > 0 {
		large = int(cfg.MinLargeMessageSize)
	}
	if o.ttl == 0 && !o.enableMessageID && !o.enableTimestamp && len(p.builder.Body)+4 <= large {
		p.makeTemplate()
	}
	return p, nil
}

func (p *loadProducer) newBuilder() {
	o := p.l.o
	b := message.New(p.d.name, message.Bytes)
	_, routing := p.d.routing()
	b.Durable = o.persistent
	b.Body = bytes.Repeat([]byte{'m'}, int(o.messageSize))
	b.Set(message.PropRoutingType, int8(routing))
	if o.group != "" {
		b.Set(message.PropGroupID, o.group)
	}
	b.Set(sentProperty, int64(0))
	p.builder = b
}

// makeTemplate encodes the message twice to find where the time stands in it.
func (p *loadProducer) makeTemplate() {
	const mark = 0x0123456789ABCDEF
	p.builder.Set(sentProperty, int64(mark))
	p.template = p.builder.AppendTo(nil)
	p.sentAt = bytes.LastIndex(p.template, binary.BigEndian.AppendUint64(nil, mark))
}

// run sends until the quota is used up or the run is over, and waits for the answers.
func (p *loadProducer) run() {
	begin := time.Now()
	inBatch := int64(0)
	for n := int64(0); p.l.ctx.Err() == nil && p.l.quota.take(); n++ {
		if p.period > 0 {
			intended := begin.Add(time.Duration(n) * p.period)
			if !p.until(intended) {
				break
			}
			p.delay.record(time.Since(intended))
		}
		if !p.reserve() {
			break
		}
		if err := p.send(); err != nil {
			if p.l.ctx.Err() == nil {
				p.fail(err)
				return
			}
			break
		}
		if inBatch++; p.batch > 0 && inBatch == p.batch {
			if inBatch = 0; !p.commit() {
				return
			}
		}
	}
	if p.batch > 0 && inBatch > 0 && !p.commit() {
		return
	}
	p.session.Flush()
	if p.answered {
		p.drain()
	}
}

// until waits for a moment. A flush first, as nothing more is sent before.
func (p *loadProducer) until(moment time.Time) bool {
	wait := time.Until(moment)
	if wait <= 0 {
		return true
	}
	p.session.Flush()
	return pause(p.l.ctx, wait)
}

// reserve takes a place in the windows.
func (p *loadProducer) reserve() bool {
	if w := p.l.inFlight; w != nil {
		return p.take(w)
	}
	return p.take(p.pending)
}

func (p *loadProducer) take(w *window) bool {
	if w.tryAcquire() {
		return true
	}
	p.blocked.Add(1)
	p.session.Flush()
	return w.acquire()
}

// send sends one message.
func (p *loadProducer) send() error {
	begin := time.Now()
	p.began[p.head%int64(len(p.began))] = begin
	if err := p.hand(begin); err != nil {
		if p.l.inFlight == nil {
			p.pending.release()
		}
		return err
	}
	p.head++
	p.sent.Add(1)
	if !p.answered && p.batch == 0 {
		p.complete(p.l.inFlight == nil)
	}
	return nil
}

// hand gives a message to the client.
func (p *loadProducer) hand(begin time.Time) error {
	ctx := p.l.ctx
	if p.template == nil {
		p.stamp(begin)
		if p.answered {
			return p.producer.SendAsync(ctx, p.builder, p.answer)
		}
		return p.producer.Send(ctx, p.builder)
	}
	binary.BigEndian.PutUint64(p.template[p.sentAt:], uint64(begin.UnixNano()))
	if p.answered {
		return p.producer.SendEncodedAsync(ctx, p.template, p.answer)
	}
	return p.producer.SendEncoded(ctx, p.template, false)
}

// stamp renews what differs from message to message.
func (p *loadProducer) stamp(now time.Time) {
	o, b := p.l.o, p.builder
	b.Set(sentProperty, now.UnixNano())
	if o.ttl > 0 {
		b.Expiration = now.UnixMilli() + o.ttl
	}
	if o.enableTimestamp {
		b.Timestamp = now.UnixMilli()
	}
	if o.enableMessageID {
		b.UserID = newMessageID()
	}
}

// answer is called when the broker has a message, in the order of sending.
func (p *loadProducer) answer(err error) {
	if err != nil {
		p.fail(err)
		p.pending.release()
		return
	}
	p.complete(true)
}

// complete counts the oldest pending message and gives its place back.
func (p *loadProducer) complete(release bool) {
	p.took.record(time.Since(p.began[p.tail%int64(len(p.began))]))
	p.tail++
	p.completed.Add(1)
	if release {
		p.pending.release()
	}
}

func (p *loadProducer) commit() bool {
	if err := p.session.Commit(p.l.ctx); err != nil {
		p.fail(err)
		return false
	}
	for p.tail < p.head {
		p.complete(p.l.inFlight == nil)
	}
	return true
}

func (p *loadProducer) fail(err error) {
	p.l.cancel(fmt.Errorf("send to %s: %w", p.d, err))
}

// drainTimeout is how long answers may take after the last message.
const drainTimeout = 10 * time.Second

// drain waits for the answers to all messages, also when the run was ended.
func (p *loadProducer) drain() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.l.ctx), drainTimeout)
	defer cancel()
	for p.pending.pending.Load() > 0 && p.l.failure() == nil && pause(ctx, time.Millisecond) {
	}
}
