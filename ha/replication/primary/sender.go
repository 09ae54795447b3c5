package primary

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/wire/core"
)

// inPlace is up to how many bytes the journal's flusher writes to the connection itself; the pump writes more, while the
// flusher writes to the disk.
const inPlace = 64 << 10

// pumpAt is how many bytes wake the pump without waiting for a flusher.
const pumpAt = 64 << 10

// A Sender replicates to one replica: from its registration until it is lost or the node stops.
//
// HandleFrame, EndOfBatch and Gone are called by the connection's reader, one after the other; everything else may be
// called from any goroutine.
type Sender struct {
	p        *Primary
	o        *Options
	log      hclog.Logger
	link     Link
	failBack bool
	progress progress
	q        queue

	responses int // of the batch being read, not counted yet

	batch batch // what the link has

	ctx  context.Context // done when the sender has ended
	stop context.CancelCauseFunc
	wake chan struct{} // the pump
	work sync.WaitGroup

	mu           sync.Mutex
	synchronised chan struct{} // closed when the finish packet was acknowledged
	gated        bool
	stopping     bool // StopCalled
	ended        bool
}

func newSender(p *Primary, link Link, v core.Version, failBack bool) *Sender {
	s := &Sender{p: p, o: &p.o, link: link, failBack: failBack, wake: make(chan struct{}, 1), synchronised: make(chan struct{}),
		log: p.o.Log.With("replica", link.RemoteAddr())}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.q.init(v, p.o.QueueBytes)
	return s
}

func (s *Sender) start() {
	s.work.Go(s.pump)
	s.work.Go(s.run)
}

// Synchronised tells whether the replica has acknowledged that it has everything, and is not lost.
func (s *Sender) Synchronised() bool {
	select {
	case <-s.synchronised:
		return !s.lost()
	default:
		return false
	}
}

// Done is closed when the replica is lost, or was told to become active.
func (s *Sender) Done() <-chan struct{} { return s.ctx.Done() }

// lost tells whether the sender has begun to end.
func (s *Sender) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// run brings the replica up to date and tells of its end.
func (s *Sender) run() {
	if err := s.synchronise(); err != nil {
		s.fail(err)
	} else {
		s.log.Info("the replica is synchronised", "files", s.progress.files.Load(), "bytes", s.progress.bytes.Load())
		if s.o.OnSynchronised != nil {
			s.o.OnSynchronised(s)
		}
	}
	<-s.ctx.Done()
	if reason := context.Cause(s.ctx); !errors.Is(reason, errFailedOver) && !errors.Is(reason, errClosed) {
		l := Lost{Reason: reason}
		select {
		case <-s.synchronised:
			l.Synchronised = true
		default:
		}
		s.mu.Lock()
		l.Held = s.gated
		s.mu.Unlock()
		s.p.lost(s, l)
	}
}

// fail loses the replica. The first reason counts.
func (s *Sender) fail(reason error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.mu.Unlock()
	s.q.close()
	s.o.Store.Detach()
	switch {
	case errors.Is(reason, errFailedOver), errors.Is(reason, errClosed):
	case errors.Is(reason, ErrSlow):
		s.log.Warn("AMQ222207: the replica takes or answers nothing and is disconnected", "reason", reason)
	default:
		s.log.Warn("the replica is lost", "reason", reason)
	}
	s.link.Close(reason)
	s.stop(reason)
}

// Appended implements journal.StoreTap, as Flush, Full and the Body methods do.
func (s *Sender) Appended(id journal.JournalID, m journal.Mark, r *journal.Record) {
	s.q.append(id, m, r)
}

// Full implements journal.StoreTap.
func (s *Sender) Full() bool { return s.q.full.Load() }

// Flush implements journal.StoreTap.
func (s *Sender) Flush() {
	if s.send(inPlace) {
		s.pumpSoon()
	}
}

// BodyBegun implements journal.StoreTap.
func (s *Sender) BodyBegun(id int64) { s.q.send(&core.ReplicationLargeBegin{MessageID: id}) }

// BodyWritten implements journal.StoreTap.
func (s *Sender) BodyWritten(id int64, p []byte) {
	for len(p) > 0 {
		n := min(len(p), maxPiece)
		s.q.bodyPiece(id, p[:n])
		p = p[n:]
		if s.q.size() >= pumpAt {
			s.pumpSoon()
		}
	}
}

// BodyEnded implements journal.StoreTap.
func (s *Sender) BodyEnded(id int64) {
	s.q.send(&core.ReplicationLargeEnd{MessageID: id, PendingRecordID: 1})
}

// BodyDeleted implements journal.StoreTap. The pump's next round sends it, if nothing does before.
func (s *Sender) BodyDeleted(id int64) { s.q.deleteBody(id) }

// BodyLost implements journal.StoreTap.
func (s *Sender) BodyLost(_ int64, err error) { s.fail(err) }

// send hands what waits to the link, unless that still has a batch: then its end wakes the pump. It returns true if it is more
// than limit bytes (0: no limit) and was not sent therefore.
func (s *Sender) send(limit int) (tooMuch bool) {
	frames, tooMuch, freed := s.q.take(limit, time.Now())
	if frames == nil {
		return tooMuch
	}
	s.batch = batch{s, frames}
	s.link.SendFrames(frames, &s.batch)
	if freed {
		s.o.Store.Resume()
	}
	return false
}

// A batch is what the link has, one at a time.
type batch struct {
	s      *Sender
	frames []byte
}

// Release implements transport.Releaser.
func (b *batch) Release() {
	if s := b.s; s.q.sent(b.frames) {
		s.pumpSoon()
	}
}

func (s *Sender) pumpSoon() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pump sends what nobody else does, and looks whether the replica is alive.
func (s *Sender) pump() {
	tick := time.NewTicker(min(max(s.o.CallTimeout/10, 100*time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-s.wake:
		case <-tick.C:
			if err := s.q.stalled(time.Now(), s.o.CallTimeout); err != nil {
				s.fail(err)
			}
		case <-s.ctx.Done():
			return
		}
		s.send(0)
	}
}

// HandleFrame takes a frame of channel 2. The error ends the connection.
func (s *Sender) HandleFrame(f core.Frame) error {
	switch f.Type {
	case core.TypeReplicationResponse:
		s.responses++
		return nil
	case core.TypeReplicationResponseV2:
		p, err := core.Decode(f.Type, f.Payload, s.q.version)
		if err != nil {
			return s.refuse(err)
		}
		if !p.(*core.ReplicationResponse).SynchronizationIsFinishedAcknowledgement {
			s.responses++
			return nil
		}
		if err = s.count(); err == nil {
			err = s.answered(1, true)
		}
		if err != nil {
			return s.refuse(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.synchronised) // once: there is one finish packet
		return nil
	case core.TypeException:
		p, err := core.Decode(f.Type, f.Payload, s.q.version)
		if e, ok := p.(*core.Exception); ok && err == nil {
			err = fmt.Errorf("the replica failed: code %d, %s", e.Code, e.Message.V)
		}
		return s.refuse(err)
	}
	return s.refuse(fmt.Errorf("unexpected %v from the replica", f.Type))
}

func (s *Sender) refuse(err error) error {
	s.fail(err)
	return err
}

// EndOfBatch tells that the frames of one read have been handled: waiters are told of what the responses confirm.
func (s *Sender) EndOfBatch() {
	if err := s.count(); err != nil {
		s.fail(err)
	}
}

// count counts the responses that were read.
func (s *Sender) count() error {
	n := s.responses
	if n == 0 {
		return nil
	}
	s.responses = 0
	return s.answered(n, false)
}

func (s *Sender) answered(n int, acknowledged bool) error {
	marks, freed, err := s.q.answer(n, acknowledged, time.Now())
	if err != nil {
		return err
	}
	if freed {
		s.o.Store.Resume()
	}
	for id, m := range marks {
		if m > 0 {
			s.o.Store.Confirm(journal.JournalID(id), m)
		}
	}
	return nil
}

// Gone tells that the connection has ended. A nil reason means that nothing more is known.
func (s *Sender) Gone(reason error) {
	if reason == nil {
		s.fail(ErrGone)
		return
	}
	s.fail(fmt.Errorf("%w: %w", ErrGone, reason))
}
