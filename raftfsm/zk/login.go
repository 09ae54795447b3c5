package zk

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// A login is a connect request whose session is being proposed.
type login struct {
	passwd      [16]byte
	hasReadOnly bool
}

// sessionTries is how many ids are tried for a new session; two in a row that are taken already are as good as impossible.
const sessionTries = 3

// connect gives the connection a new session, or the one that the client had before. The response is queued by connected.
func (c *conn) connect(q jute.ConnectRequest) error {
	if err := c.awaitState(q.LastZxidSeen); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, holdConnect)
	defer cancel()
	l := &login{hasReadOnly: q.HasReadOnly}
	timeout := c.server.cfg.timeout(q.TimeOut)
	if q.SessionID != 0 {
		if len(q.Passwd) != len(l.passwd) {
			c.expired(l)
			return errExpired
		}
		copy(l.passwd[:], q.Passwd)
		code, err := c.establish(ctx, q.SessionID, l, &tree.Attach{Password: l.passwd, Timeout: timeout})
		switch {
		case err != nil:
			return fmt.Errorf("re-attach to session %#x: %w", q.SessionID, err)
		case code == tree.SessionExpired, code == tree.AuthFailed:
			c.expired(l)
			return errExpired
		case code != tree.OK:
			return fmt.Errorf("re-attach to session %#x: %w", q.SessionID, code)
		}
		return nil
	}
	for range sessionTries {
		if _, err := rand.Read(l.passwd[:]); err != nil {
			return err
		}
		id := int64(random() >> 1)
		code, err := c.establish(ctx, id, l, &tree.NewSession{Password: l.passwd, Timeout: timeout})
		switch {
		case err != nil:
			return fmt.Errorf("new session: %w", err)
		case code == tree.OK:
			return nil
		case code != tree.NodeExists:
			return fmt.Errorf("new session: %w", code)
		}
	}
	return errors.New("new session: no id is free")
}

var errExpired = errors.New("its session is expired, or the password of another")

// random is a number that is not 0, also without its lowest bit.
func random() uint64 {
	for {
		var b [8]byte
		rand.Read(b[:]) // never fails
		if n := binary.BigEndian.Uint64(b[:]); n > 1 {
			return n
		}
	}
}

// awaitState holds a connect until this member may serve and is not behind what the client has seen elsewhere.
func (c *conn) awaitState(seen int64) error {
	deadline := time.NewTimer(holdConnect)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		var zxid int64
		fresh := c.server.member.Fresh()
		c.server.member.Read(func(v *tree.View) { zxid = v.Zxid() })
		if fresh && zxid >= seen {
			return nil
		}
		select {
		case <-again.C:
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-deadline.C:
			if !fresh {
				return errStale
			}
			return fmt.Errorf("it has seen transaction %#x, this member only %#x", seen, zxid)
		}
	}
}

// establish proposes a session for the connection under a new owner stamp.
func (c *conn) establish(ctx context.Context, session int64, l *login, op tree.Op) (tree.Code, error) {
	s, owner := c.server, random()
	s.mu.Lock()
	c.session, c.owner, c.login = session, owner, l
	s.logins[owner] = c
	caller := c.caller
	s.mu.Unlock()

	err := s.member.Propose(ctx, &tree.Command{Session: session, Owner: owner, Caller: caller, Op: op})

	s.mu.Lock()
	defer s.mu.Unlock()
	if c.login == nil { // there is a result, whatever Propose says
		return c.loginErr, nil
	}
	delete(s.logins, owner)
	if err == nil {
		err = errNoResult
	}
	return tree.OK, err
}

var errNoResult = errors.New("the member has applied it without a result")

// connected takes the result of establish, in the critical section and with Server.mu held: the response is queued before any event of the session can be.
func (c *conn) connected(r *tree.Result) {
	l := c.login
	c.login, c.loginErr = nil, r.Code
	if r.Code != tree.OK {
		return
	}
	c.heard.Store(int64(time.Since(c.start)))
	c.server.sessions[c.session] = c
	c.send(jute.ConnectResponse{TimeOut: r.Timeout, SessionID: c.session, Passwd: l.passwd[:], HasReadOnly: l.hasReadOnly}.Append)
}

// expired answers that the session does not exist, or has another password.
func (c *conn) expired(l *login) {
	c.send(jute.ConnectResponse{Passwd: make([]byte, 16), HasReadOnly: l.hasReadOnly}.Append)
}
