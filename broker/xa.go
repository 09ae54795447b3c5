package broker

import (
	"maps"
	"slices"
)

// XA error codes (the X/Open XA specification).
const (
	XAHeuristicCommit   int32 = 7
	XAHeuristicRollback int32 = 6
	XARollbackTimeout   int32 = 106
	XAErrRM             int32 = -7
	XAErrProtocol       int32 = -6
	XAErrNotKnown       int32 = -4
	XAErrDuplicate      int32 = -8
)

// XAError is a refusal of an XA request with its code.
type XAError struct {
	Code int32
	Text string
}

func (e *XAError) Error() string { return e.Text }

func xaError(code int32, text string) *XAError { return &XAError{code, text} }

type heuristic struct {
	record int64
	commit bool
}

// branch returns the branch of that id, nil when there is none.
func (b *Broker) branch(x Xid) *Tx {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.xas[x]
}

func (b *Broker) heuristicOf(x Xid) (heuristic, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	h, ok := b.heuristics[x]
	return h, ok
}

// XAStart begins a branch in the session.
func (s *Session) XAStart(w *Work, x Xid) *XAError {
	if cur := s.tx; cur != nil {
		s.b.log.Warn("AMQ222103: transaction already exists on session, the old one is rolled back", "session", s.Name)
		s.tx = nil
		if cur.claimUnprepared() {
			s.b.removeBranch(cur)
			cur.rollback(w, nil, Answer{})
		}
	}
	tx := &Tx{b: s.b, session: s, id: s.b.store.NextID(), xid: &x, created: s.b.now(), timeout: s.xaTimeout * 1000}
	s.b.mu.Lock()
	_, known := s.b.xas[x]
	if !known {
		s.b.xas[x] = tx
	}
	s.b.mu.Unlock()
	if known {
		return xaError(XAErrDuplicate, "Cannot start, there is already a xid "+x.String())
	}
	s.tx = tx
	return nil
}

// claimUnprepared is claim for a transaction that ends with its session: a prepared branch does not.
func (tx *Tx) claimUnprepared() bool {
	tx.lock()
	prepared := tx.prepared
	tx.unlock()
	return !prepared && tx.claim()
}

func (b *Broker) removeBranch(tx *Tx) {
	if tx.xid == nil {
		return
	}
	b.mu.Lock()
	if b.xas[*tx.xid] == tx {
		delete(b.xas, *tx.xid)
	}
	b.mu.Unlock()
}

// keepBranch undoes removeBranch and the claim: the branch is prepared as before.
func (b *Broker) keepBranch(tx *Tx) {
	tx.mu.Lock()
	tx.finished = false
	tx.mu.Unlock()
	b.mu.Lock()
	b.xas[*tx.xid] = tx
	b.mu.Unlock()
}

// XAJoin makes a known branch the session's.
func (s *Session) XAJoin(x Xid) *XAError {
	tx := s.b.branch(x)
	if tx == nil {
		return s.notKnown(x)
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.suspended {
		return xaError(XAErrProtocol, "Cannot join tx, it is suspended "+x.String())
	}
	if tx.prepared {
		return xaError(XAErrProtocol, "Cannot join tx, it is prepared "+x.String())
	}
	tx.ended = false
	s.tx = tx
	return nil
}

// XAResume resumes a suspended branch.
func (s *Session) XAResume(x Xid) *XAError {
	if s.tx != nil {
		return xaError(XAErrProtocol, "Cannot resume, session is currently doing work in a transaction "+s.tx.text())
	}
	tx := s.b.branch(x)
	if tx == nil {
		return s.notKnown(x)
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if !tx.suspended {
		return xaError(XAErrProtocol, "Transaction is not suspended "+x.String())
	}
	tx.suspended = false
	s.tx = tx
	return nil
}

func (tx *Tx) text() string {
	if tx.xid == nil {
		return "local"
	}
	return tx.xid.String()
}

// XASuspend suspends the session's branch.
func (s *Session) XASuspend() *XAError {
	tx := s.tx
	if tx == nil {
		return xaError(XAErrProtocol, "Cannot suspend, session is not doing work in a transaction")
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.suspended {
		return xaError(XAErrProtocol, "Cannot suspend, transaction is already suspended "+tx.text())
	}
	tx.suspended = true
	s.tx = nil
	return nil
}

// XAEnd ends the session's work in a branch.
func (s *Session) XAEnd(x Xid) *XAError {
	if tx := s.tx; tx != nil && tx.xid != nil && *tx.xid == x {
		tx.mu.Lock()
		defer tx.mu.Unlock()
		if tx.timedOut {
			s.tx = nil
			return xaError(XAErrProtocol, "Cannot end, transaction has timed out "+x.String())
		}
		if tx.suspended {
			return xaError(XAErrProtocol, "Cannot end, transaction is suspended")
		}
		tx.ended = true
		s.tx = nil
		return nil
	}
	tx := s.b.branch(x)
	if tx == nil {
		return xaError(XAErrNotKnown, "Cannot find suspended transaction to end "+x.String())
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.suspended = false
	tx.ended = true
	return nil
}

// finishing returns a branch that may be prepared, committed or rolled back.
func (s *Session) finishing(x Xid, what string) (*Tx, *XAError) {
	if s.tx != nil && s.tx.xid != nil && *s.tx.xid == x {
		return nil, xaError(XAErrProtocol, "Cannot "+what+", session is currently doing work in transaction "+x.String())
	}
	tx := s.b.branch(x)
	if tx == nil {
		return nil, s.notKnown(x)
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.limbo {
		return nil, s.notKnown(x)
	}
	if tx.suspended {
		return nil, xaError(XAErrProtocol, "Cannot "+what+" transaction, it is suspended "+x.String())
	}
	return tx, nil
}

func (s *Session) notKnown(x Xid) *XAError {
	if h, ok := s.b.heuristicOf(x); ok {
		if h.commit {
			return xaError(XAHeuristicCommit, "transaction has been heuristically committed: "+x.String())
		}
		return xaError(XAHeuristicRollback, "transaction has been heuristically rolled back: "+x.String())
	}
	return xaError(XAErrNotKnown, "Cannot find xid in resource manager: "+x.String())
}

// XAPrepare prepares a branch; a is answered when that is stored, unless an error is returned. A branch that has failed
// answers with its failure.
func (s *Session) XAPrepare(w *Work, x Xid, a Answer) *XAError {
	tx, err := s.finishing(x, "prepare")
	if err != nil {
		if err.Code == XAHeuristicCommit || err.Code == XAHeuristicRollback {
			return xaError(XAErrNotKnown, "Cannot find xid in resource manager: "+x.String())
		}
		return err
	}
	tx.mu.Lock()
	timedOut, prepared, finished := tx.timedOut, tx.prepared, tx.finished
	fresh := !timedOut && !finished && !prepared && tx.failure == nil
	if fresh {
		if failure := tx.reserve(); failure != nil {
			tx.fail(failure)
			fresh = false
		}
	}
	failure := tx.failure
	if fresh {
		tx.prepared, tx.stored = true, true
	}
	tx.mu.Unlock()
	switch {
	case timedOut:
		return xaError(XAErrProtocol, "Cannot prepare, transaction has timed out "+x.String())
	case finished:
		return s.notKnown(x)
	case failure != nil:
		s.Done(w, a, failure)
		return nil
	case prepared:
		s.DoneStored(w, a) // by another session, perhaps just now
		return nil
	}
	w.op(Op{Kind: OpPrepare, Tx: tx.id, Xid: x})
	o := newOutcome(s, a)
	o.branch = tx
	s.wait(w, o, Transactional)
	return nil
}

// XACommit commits a branch.
func (s *Session) XACommit(w *Work, x Xid, onePhase bool, a Answer) *XAError {
	tx, err := s.finishing(x, "commit")
	if err != nil {
		return err
	}
	tx.mu.Lock()
	prepared := tx.prepared
	lost := tx.timedOut || tx.finished
	switch {
	case lost:
	case prepared && onePhase:
		tx.limbo = true // the branch is lost to its client, as in Artemis; the operator decides
	default:
		tx.finished = true
	}
	tx.mu.Unlock()
	switch {
	case lost:
		return s.notKnown(x)
	case prepared == onePhase:
		if !prepared {
			s.b.removeBranch(tx)
			tx.rollback(w, nil, Answer{})
		}
		s.Done(w, a, errorf(IllegalState, "Transaction is in invalid state"))
		return nil
	}
	s.b.removeBranch(tx)
	tx.commit(w, s, a)
	return nil
}

// XARollback rolls a branch back. What the session's consumers have not acknowledged returns to its queues, too: clients
// throw it away.
func (s *Session) XARollback(w *Work, x Xid, a Answer) *XAError {
	tx, err := s.finishing(x, "rollback")
	if err != nil {
		if err.Code == XAErrNotKnown {
			s.rollback(w, nil, false) // it may have timed out
		}
		return err
	}
	if !tx.claim() {
		return s.notKnown(x)
	}
	if tx.prepared {
		// It stays in doubt if that cannot be stored: nothing of it may be seen before.
		w.append(nil, 0)
		tx.tooLate(w, true)
		if err := w.append(nil, Transactional); err != nil {
			s.b.keepBranch(tx)
			s.Done(w, a, err)
			return nil
		}
		tx.stored = false
	}
	s.b.removeBranch(tx)
	s.rollback(w, tx, false)
	s.DoneStored(w, a)
	return nil
}

// XAForget forgets a heuristic outcome.
func (s *Session) XAForget(w *Work, x Xid) *XAError {
	s.b.mu.Lock()
	h, ok := s.b.heuristics[x]
	delete(s.b.heuristics, x)
	s.b.mu.Unlock()
	if !ok {
		return xaError(XAErrNotKnown, "")
	}
	w.op(Op{Kind: OpDeleteRecord, ID: h.record})
	return nil
}

// XAFailed tells after a failover that a branch may have lost work: it can only be rolled back.
func (s *Session) XAFailed(w *Work, x Xid) {
	tx := s.b.branch(x)
	if tx == nil {
		s.tx = nil
		if err := s.XAStart(w, x); err != nil {
			return
		}
		tx = s.tx
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.prepared {
		s.tx = nil
		return
	}
	tx.fail(errorf(GenericException, "Can't commit as a Failover happened during the operation"))
	s.tx = tx
}

// XAInDoubt returns the ids of prepared and heuristically completed branches.
func (b *Broker) XAInDoubt() []Xid {
	var out []Xid
	b.eachPrepared(func(x Xid, _ *Tx) { out = append(out, x) })
	b.mu.RLock()
	defer b.mu.RUnlock()
	for x := range b.heuristics {
		out = append(out, x)
	}
	return out
}

// XATimeout is the broker's own timeout of branches in seconds, which Artemis tells whatever the session has set.
func (s *Session) XATimeout() int64 { return s.b.opts.TransactionTimeout / 1000 }

// SetXATimeout sets the timeout of branches that the session begins; 0 takes the broker's own.
func (s *Session) SetXATimeout(seconds int64) {
	if seconds <= 0 {
		seconds = s.b.opts.TransactionTimeout / 1000
	}
	s.xaTimeout = seconds
}

// PreparedBranch describes a prepared branch.
type PreparedBranch struct {
	Xid     Xid
	Created int64 // ms
	Sent    int
	Acked   int
}

// Prepared returns all prepared branches.
func (b *Broker) Prepared() []PreparedBranch {
	var out []PreparedBranch
	b.eachPrepared(func(x Xid, tx *Tx) {
		out = append(out, PreparedBranch{x, tx.created, len(tx.sends), len(tx.acks)})
	})
	return out
}

// Heuristics returns the heuristically completed branches, with true for a commit.
func (b *Broker) Heuristics() map[Xid]bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := map[Xid]bool{}
	for x, h := range b.heuristics {
		out[x] = h.commit
	}
	return out
}

// CompleteHeuristically commits or rolls back a prepared branch by an operator's decision, which is remembered until it
// is forgotten. False: there is no such branch.
func (b *Broker) CompleteHeuristically(w *Work, x Xid, commit bool) (bool, error) {
	tx := b.branch(x)
	if tx == nil {
		return false, nil
	}
	tx.mu.Lock()
	mine := tx.prepared && !tx.finished
	tx.finished = tx.finished || mine
	tx.mu.Unlock()
	if !mine {
		return false, nil
	}
	rec := b.store.NextID()
	kind := OpRollback
	n := int64(0)
	if commit {
		kind, n = OpCommit, 1
	}
	w.settle()
	w.op(Op{Kind: kind, Tx: tx.id})
	w.op(Op{Kind: OpHeuristic, ID: rec, Xid: x, N: n})
	done := make(waitStored)
	if err := w.append(done, Transactional); err != nil {
		tx.mu.Lock()
		tx.finished = false // it is as it was
		tx.mu.Unlock()
		return false, err
	}
	b.removeBranch(tx)
	if commit {
		settleAll(w, tx.dups)
	}
	select {
	case <-done:
	case <-b.ctx.Done():
		return false, ErrStoreFailed
	}
	b.mu.Lock()
	b.heuristics[x] = heuristic{rec, commit}
	b.mu.Unlock()
	if commit {
		tx.committed(w)
	} else {
		tx.undo(w, nil)
	}
	w.Flush()
	return true, nil
}

// waitStored is a waiter that a goroutine waits for.
type waitStored chan struct{}

// Stored implements Waiter.
func (w waitStored) Stored() { close(w) }

// scanTransactions rolls back branches that have taken too long without being prepared.
func (b *Broker) scanTransactions() {
	now := b.now()
	b.mu.RLock()
	open := slices.Collect(maps.Values(b.xas))
	b.mu.RUnlock()
	var late []*Tx
	for _, tx := range open {
		tx.mu.Lock()
		if !tx.prepared && !tx.finished && tx.timeout > 0 && now > tx.created+tx.timeout {
			tx.timedOut, tx.finished = true, true
			late = append(late, tx)
		}
		tx.mu.Unlock()
	}
	for _, tx := range late {
		b.log.Warn("AMQ222103: transaction with xid timed out", "xid", tx.text())
		b.removeBranch(tx)
		w := b.NewWork()
		tx.rollback(w, nil, Answer{})
		w.Flush()
	}
}
