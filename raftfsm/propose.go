package raftfsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

const (
	// silence is how long a proposal that may be repeated waits for its result before it is made again.
	silence = time.Second
	// retryPause is the wait before the next attempt when there is no leader or it refused.
	retryPause = 10 * time.Millisecond
	// enqueueTimeout is how long raft.Apply may wait to be taken.
	enqueueTimeout = 2 * time.Second
	// maxInflight bounds the bytes of others' proposals that wait at the leader.
	maxInflight = 2 * tree.MaxCommand
)

// Propose has the group apply c and returns nil when this member's own state machine has; listeners have had the result by then. Origin and
// Time are filled in. It waits for a leader as long as ctx lasts, and proposes again if that does no harm: c has a session and a request number,
// or is a Sync, NewSession, Attach or CloseSession. An error that wraps ErrUnknown: c may have been applied, or be applied yet. Any other: it was not.
//
// Commands without a session get a number. Two commands of the same kind, session, owner stamp and request number cannot be proposed at once: ErrInUse.
func (m *Member) Propose(ctx context.Context, c *tree.Command) error {
	_, err := m.Do(ctx, c)
	return err
}

// Do is Propose with the outcome.
func (m *Member) Do(ctx context.Context, c *tree.Command) (tree.Outcome, error) {
	command := *c
	command.Origin = m.origin
	if command.Session == 0 && command.Request == 0 {
		command.Request = m.requests.Add(1)
	}
	encoded, err := command.Append(nil)
	if err != nil {
		return tree.Outcome{}, err
	}
	if len(encoded) > tree.MaxCommand {
		return tree.Outcome{}, fmt.Errorf("%w: a command of %d bytes, more than %d", ErrRefused, len(encoded), tree.MaxCommand)
	}
	p := proposal{
		member: m, encoded: encoded, repeatable: repeatable(&command),
		claim: claim{command.Op.Kind(), command.Session, command.Owner, command.Request},
	}
	return p.run(ctx)
}

// repeatable reports whether a command may be in the log twice.
func repeatable(c *tree.Command) bool {
	switch c.Op.(type) {
	case *tree.Sync, *tree.NewSession, *tree.Attach, *tree.CloseSession:
		return true
	case *tree.ExpireSession:
		return false
	}
	return c.Session != 0 && c.Request != 0
}

// proposal is one command on its way.
type proposal struct {
	member     *Member
	encoded    []byte
	claim      claim
	repeatable bool
	sent       bool // it may be in somebody's log
	committed  bool // the leader says so
}

func (p *proposal) run(ctx context.Context) (tree.Outcome, error) {
	for {
		w, err := p.member.machine.wait(p.claim)
		if err != nil {
			return tree.Outcome{}, err
		}
		err = p.attempts(ctx, w)
		p.member.machine.forget(p.claim)
		if err == nil {
			return w.outcome, nil
		}
		if !errors.Is(err, errRestored) || !p.repeatable {
			return tree.Outcome{}, err
		}
		p.committed = false // ask the session what became of it
	}
}

// attempts proposes until the waiter is done.
func (p *proposal) attempts(ctx context.Context, w *waiter) error {
	for {
		moved := p.member.moved.wait()
		address, self := p.member.leader()
		var ended chan error
		cancel := func() {}
		if address != "" {
			var attempt context.Context
			attempt, cancel = context.WithCancel(ctx)
			ended = make(chan error, 1)
			if !p.member.spawn(func() { ended <- p.member.submit(attempt, address, self, p.encoded) }) {
				cancel()
				return p.gaveUp(ErrStopped, false)
			}
		}
		again, err := p.await(ctx, w, ended, moved)
		cancel()
		if !again {
			return err
		}
	}
}

// await waits for the waiter, and says when it is time for another attempt. ended is nil if there was no leader to ask.
func (p *proposal) await(ctx context.Context, w *waiter, ended chan error, moved <-chan struct{}) (again bool, err error) {
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	asked := ended != nil
	if asked && !p.repeatable {
		moved = nil
	}
	for {
		select {
		case <-w.done:
			return false, w.err
		case err := <-ended:
			ended = nil
			switch fate(err) {
			case replyOK:
				p.sent, p.committed, moved = true, true, nil
				continue
			case replyRefused, replyRemoved:
				if !p.sent {
					return false, err
				}
			case replyUnknown:
				p.sent = true
				if !p.repeatable && ctx.Err() == nil && p.member.ctx.Err() == nil {
					return false, fmt.Errorf("%w: %w", ErrUnknown, err)
				}
			}
			moved = p.member.moved.wait()
			quiet.Reset(retryPause)
			asked = false
		case <-moved:
			p.sent = p.sent || asked
			return true, nil
		case <-quiet.C:
			if p.committed || asked && !p.repeatable {
				continue
			}
			p.sent = p.sent || asked
			return true, nil
		case <-ctx.Done():
			return false, p.gaveUp(ctx.Err(), asked)
		case <-p.member.ctx.Done():
			return false, p.gaveUp(ErrStopped, asked)
		}
	}
}

// gaveUp is the error of a proposal whose caller or member does not wait any more.
func (p *proposal) gaveUp(err error, asked bool) error {
	if p.sent || asked {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return fmt.Errorf("%w: %w", ErrNoLeader, err)
}

// submit gives a command to the leader and returns when it is committed. fate tells what an error means.
func (m *Member) submit(ctx context.Context, address string, self bool, encoded []byte) error {
	if self {
		return m.append(bytes.Clone(encoded)) // an earlier attempt may still be in a log, stamped
	}
	_, err := m.links.ask(ctx, address, kindPropose, encoded)
	return err
}

// append stamps a command and appends it to the log, if this member leads; it returns when the own state machine has applied it.
func (m *Member) append(command []byte) error {
	r, _, ok := m.leads()
	if !ok {
		return errNotLeader
	}
	now := m.clock.Now()
	if err := tree.StampTime(command, now.UnixMilli()); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if session, owner, ok := tree.SessionOf(command); ok { // before it can be applied, see leases
		m.beat.heard(now, []touch{{Session: session, Owner: owner}})
	}
	return r.Apply(command, enqueueTimeout).Error()
}
