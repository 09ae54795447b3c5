package client

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// SendLarge sends a message whose body is read from r, in chunks of
// MinLargeMessageSize, and waits as Send does. m.Body is not used. If
// Config.CompressLarge is set the body is deflated, and a result smaller than
// one chunk goes as a regular message.
func (p *Producer) SendLarge(ctx context.Context, m *message.Builder, r io.Reader) error {
	wait := m.Durable && !p.s.c.cfg.NoBlockOnDurableSend || p.s.c.cfg.BlockOnNonDurableSend
	if m.Address == nil && p.address != "" {
		m.Address = &p.address
	}
	return p.sendLarge(ctx, m, r, wait && p.s.opts.AutoCommitSends, nil)
}

func (p *Producer) sendLargeBody(ctx context.Context, m *message.Builder, wait bool, done func(error)) error {
	body := m.Body
	m.Body = nil
	defer func() { m.Body = body }()
	return p.sendLarge(ctx, m, bytes.NewReader(body), wait, done)
}

func (p *Producer) sendLarge(ctx context.Context, m *message.Builder, r io.Reader, wait bool, done func(error)) error {
	s := p.s
	s.large.Lock()
	defer s.large.Unlock()
	body := &counted{r: r}
	var source io.Reader = body
	chunk := make([]byte, s.c.cfg.MinLargeMessageSize)
	if s.c.cfg.CompressLarge {
		source = newDeflater(body)
	}
	n, last, err := fill(source, chunk)
	if err != nil {
		return wrap(err, "read large body")
	}
	if s.c.cfg.CompressLarge {
		m.Set(message.PropCompressed, true)
		if last && n < len(chunk) {
			m.Set(message.PropLargeSize, body.n)
			m.Body = chunk[:n]
			return p.send(ctx, p.credits, m.AppendTo(nil), wait, done)
		}
	}
	epoch, err := p.sendLargeHeaders(ctx, m.AppendHeaders(nil))
	for err == nil {
		c := core.SendContinuation{Body: chunk[:n], Continues: !last, SenderID: p.id}
		if last {
			c.MessageBodySize = body.n
			return wrap(p.sendChunk(ctx, epoch, c, wait, done), "send large message to %s", p.address)
		}
		if err = p.sendChunk(ctx, epoch, c, false, nil); err == nil {
			n, last, err = fill(source, chunk)
		}
	}
	return wrap(err, "send large message to %s", p.address)
}

// fill reads as much of r as fits in chunk; last is true when r is at its end.
func fill(r io.Reader, chunk []byte) (n int, last bool, err error) {
	n, err = io.ReadFull(r, chunk)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return n, true, nil
	}
	return n, false, err
}

// sendLargeHeaders begins a large message and returns the epoch it belongs to.
func (p *Producer) sendLargeHeaders(ctx context.Context, headers []byte) (epoch int, err error) {
	s := p.s
	if len(headers) >= int(s.c.cfg.MinLargeMessageSize) {
		return 0, &core.Error{Code: core.IllegalState, Message: "headers of a large message must be smaller than minLargeMessageSize"}
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if p.credits != nil {
		if err := s.acquire(ctx, p.credits, len(headers)); err != nil {
			return 0, err
		}
	}
	s.worked = true
	l := s.link
	l.flushSoon(s.putPacket(l, &core.SendLarge{Headers: headers}))
	return s.epoch, nil
}

// sendChunk sends a piece of a large message.
func (p *Producer) sendChunk(ctx context.Context, epoch int, c core.SendContinuation, wait bool, done func(error)) error {
	s := p.s
	v := s.c.wireVersion()
	n := c.FrameSize(v)
	if err := s.lock(ctx); err != nil {
		return err
	}
	if p.credits != nil {
		if err := s.acquire(ctx, p.credits, n); err != nil {
			s.mu.Unlock()
			return err
		}
	}
	if s.epoch != epoch {
		s.mu.Unlock()
		return &core.Error{Code: core.LargeMessageInterrupted, Message: "the session was made anew while the message was being sent"}
	}
	l := s.link
	var k *call
	switch {
	case wait:
		k = s.newCall(core.TypeNullResponse, true)
		c.RequiresResponse, c.CorrelationID = true, k.correlation
	case done != nil:
		s.asyncID++
		c.RequiresResponse, c.CorrelationID = true, s.asyncID
		s.pending.push(sent{correlation: s.asyncID, command: s.conf.NextSent(), done: done})
	}
	l.out.Lock()
	frame := c.Append(l.out.Reserve(n)[:0], s.id, v)
	s.conf.Sent(frame)
	size := l.out.Size()
	l.out.Unlock()
	s.mu.Unlock()
	if wait {
		_, err := s.answer(ctx, l, k)
		return err
	}
	l.flushSoon(size)
	return nil
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// deflater is the zlib stream of a reader.
type deflater struct {
	r   io.Reader
	w   *zlib.Writer
	out bytes.Buffer
	in  []byte
	err error // what r said at its end
}

func newDeflater(r io.Reader) *deflater {
	d := &deflater{r: r, in: make([]byte, 16<<10)}
	d.w = zlib.NewWriter(&d.out)
	return d
}

func (d *deflater) Read(p []byte) (int, error) {
	for d.out.Len() == 0 && d.err == nil {
		n, err := d.r.Read(d.in)
		if _, werr := d.w.Write(d.in[:n]); werr != nil {
			err = werr
		}
		if err == io.EOF {
			if cerr := d.w.Close(); cerr != nil {
				err = cerr
			}
		}
		d.err = err
	}
	if d.out.Len() > 0 {
		return d.out.Read(p)
	}
	return 0, d.err
}
