package client

import (
	"context"
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Commit commits the session's transaction. If it fails the broker has rolled
// the transaction back; after core.TransactionOutcomeUnknown nobody knows.
func (s *Session) Commit(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return wrap(err, "commit")
	}
	s.flushAcksLocked()
	if s.doomed {
		s.doomed = false
		s.mu.Unlock()
		if err := s.Rollback(ctx, false); err != nil {
			return err
		}
		return wrap(&core.Error{Code: core.TransactionRolledBack, Message: "the session was made anew during the transaction"}, "commit")
	}
	s.worked = false
	p := new(core.Commit)
	var correlate func(int64)
	if s.c.wireVersion().CommitV2() {
		correlate = func(id int64) { p.CorrelationID = buf.Of(id) }
	}
	_, err := s.callLocked(ctx, p, core.TypeNullResponse, correlate)
	return wrap(err, "commit")
}

// Rollback rolls the session's transaction back. Messages received and not
// acknowledged go back too; with lastDelivered the first of each consumer
// counts as delivered.
func (s *Session) Rollback(ctx context.Context, lastDelivered bool) error {
	err := s.goBack(ctx, func() error {
		s.worked, s.doomed = false, false
		_, err := s.callLocked(ctx, &core.Rollback{ConsiderLastMessageAsDelivered: lastDelivered}, core.TypeNullResponse, nil)
		return err
	})
	return wrap(err, "rollback")
}

// goBack makes a call that returns what consumers have not acknowledged to its
// queues. Delivery rests meanwhile, and what has arrived is thrown away. call
// is made with the session's lock held and lets it go.
func (s *Session) goBack(ctx context.Context, call func() error) error {
	s.mu.Lock()
	started := s.started
	s.mu.Unlock()
	if err := s.Stop(ctx); err != nil {
		return err
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.flushAcksLocked()
	for _, c := range s.consumers {
		if c != nil {
			c.clearLocked(true)
		}
	}
	err := call()
	if started {
		if serr := s.Start(ctx); err == nil {
			err = serr
		}
	}
	return err
}

// XAError is the failure of an XA operation.
type XAError struct {
	Op      core.Type
	Code    int32 // core.XAErrorNoTransaction, …
	Message string
}

// Error names the operation and the code.
func (e *XAError) Error() string { return fmt.Sprintf("%v: XA error %d: %s", e.Op, e.Code, e.Message) }

// xa sends an XA request and returns the code of success.
func (s *Session) xa(ctx context.Context, p *core.XA) error {
	if err := s.lock(ctx); err != nil {
		return wrap(err, "%v", p.Op)
	}
	return s.xaLocked(ctx, p)
}

// xaLocked is xa with the session's lock held, which it lets go.
func (s *Session) xaLocked(ctx context.Context, p *core.XA) error {
	s.flushAcksLocked()
	switch p.Op {
	case core.TypeXAStart, core.TypeXAJoin, core.TypeXAResume:
		xid := p.Xid
		s.xid = &xid
	default:
		s.xid = nil
	}
	answer, err := s.callLocked(ctx, p, core.TypeXAResponse, nil)
	if err != nil {
		return wrap(err, "%v", p.Op)
	}
	if r := answer.(*core.XAResponse); r.Error {
		return wrap(&XAError{Op: p.Op, Code: r.Code, Message: r.Message.V}, "%v", p.Op)
	}
	return nil
}

// XAStart begins work in the branch.
func (s *Session) XAStart(ctx context.Context, xid buf.Xid) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXAStart, Xid: xid})
}

// XAJoin joins work to the branch.
func (s *Session) XAJoin(ctx context.Context, xid buf.Xid) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXAJoin, Xid: xid})
}

// XASuspend suspends the session's branch.
func (s *Session) XASuspend(ctx context.Context) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXASuspend})
}

// XAResume goes on with a suspended branch.
func (s *Session) XAResume(ctx context.Context, xid buf.Xid) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXAResume, Xid: xid})
}

// XAEnd ends work in the branch.
func (s *Session) XAEnd(ctx context.Context, xid buf.Xid, failed bool) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXAEnd, Xid: xid, Flag: failed})
}

// XAPrepare prepares the branch.
func (s *Session) XAPrepare(ctx context.Context, xid buf.Xid) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXAPrepare, Xid: xid})
}

// XACommit commits the branch.
func (s *Session) XACommit(ctx context.Context, xid buf.Xid, onePhase bool) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXACommit, Xid: xid, Flag: onePhase})
}

// XARollback rolls the branch back. Messages that the session's consumers have
// received and not acknowledged go back too.
func (s *Session) XARollback(ctx context.Context, xid buf.Xid) error {
	return s.goBack(ctx, func() error { return s.xaLocked(ctx, &core.XA{Op: core.TypeXARollback, Xid: xid}) })
}

// XAForget forgets a branch that was completed heuristically.
func (s *Session) XAForget(ctx context.Context, xid buf.Xid) error {
	return s.xa(ctx, &core.XA{Op: core.TypeXAForget, Xid: xid})
}

// XARecover returns the branches that are prepared or were completed heuristically.
func (s *Session) XARecover(ctx context.Context) ([]buf.Xid, error) {
	p, err := s.call(ctx, &core.XAInDoubtXids{}, core.TypeXAInDoubtXidsResponse, nil)
	if err != nil {
		return nil, wrap(err, "recover branches")
	}
	return p.(*core.XAInDoubtXidsResponse).Xids, nil
}

// XASetTimeout sets the session's transaction timeout in seconds.
func (s *Session) XASetTimeout(ctx context.Context, seconds int32) (bool, error) {
	p, err := s.call(ctx, &core.XASetTimeout{Seconds: seconds}, core.TypeXASetTimeoutResponse, nil)
	if err != nil {
		return false, wrap(err, "set transaction timeout")
	}
	return p.(*core.XASetTimeoutResponse).OK, nil
}

// XATimeout returns the session's transaction timeout in seconds.
func (s *Session) XATimeout(ctx context.Context) (int32, error) {
	p, err := s.call(ctx, &core.XAGetTimeout{}, core.TypeXAGetTimeoutResponse, nil)
	if err != nil {
		return 0, wrap(err, "get transaction timeout")
	}
	return p.(*core.XAGetTimeoutResponse).Seconds, nil
}
