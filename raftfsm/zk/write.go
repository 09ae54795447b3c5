package zk

import (
	"context"
	"fmt"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// pending is a request whose command is proposed.
type pending struct {
	number uint64
	xid    int32
	op     jute.Op
	parts  []jute.Op // of a multi
}

// surelySmall is the size of a request, in bytes, up to which its command cannot be beyond what tree encodes (path, list, number of operations).
const surelySmall = 8 << 10

// propose puts the command of a request of size bytes through the log. The reply is queued by answer. An error means that the outcome is not known, which the
// client is told by the end of the connection.
func (c *conn) propose(q jute.Request, size int, op tree.Op) error {
	s := c.server
	c.request++
	p := &pending{number: c.request, xid: q.Xid, op: q.Op}
	if m, ok := q.Body.(jute.Multi); ok {
		p.parts = multiOps(m)
	}
	s.mu.Lock()
	command := &tree.Command{Request: p.number, Session: c.session, Owner: c.owner, Caller: c.caller, Op: op}
	s.mu.Unlock()
	if size > surelySmall {
		if _, err := command.Append(nil); err != nil {
			c.local(q, func(*tree.View) (tree.Code, body) { return tree.BadArguments, nil })
			return nil
		}
	}
	s.mu.Lock()
	c.pending = p
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(c.ctx, s.cfg.Limits.RequestTimeout)
	defer cancel()
	err := s.member.Propose(ctx, command)

	s.mu.Lock()
	defer s.mu.Unlock()
	if c.pending == nil { // answered, whatever Propose says
		return nil
	}
	if err == nil {
		err = errNoResult
	}
	return fmt.Errorf("operation %d: the outcome is not known: %w", q.Op, err)
}

// answer queues the reply to the request that r is the result of. It runs in the critical section with Server.mu held.
func (c *conn) answer(r *tree.Result) {
	p := c.pending
	if p == nil || p.number != r.Request {
		return
	}
	c.pending = nil
	c.reply(jute.ReplyHeader{Xid: p.xid, Zxid: r.Zxid, Err: jute.Code(r.Code)}, func(b []byte) []byte { return p.result(b, r) })
}

// result appends the body of the reply.
func (p *pending) result(b []byte, r *tree.Result) []byte {
	switch p.op {
	case jute.OpCreate, jute.OpSync:
		return jute.AppendString(b, r.Path)
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return appendStat(jute.AppendString(b, r.Path), r.Stat)
	case jute.OpSetData, jute.OpSetACL:
		return appendStat(b, r.Stat)
	case jute.OpMulti:
		results := make([]jute.Result, 0, len(p.parts))
		for i, op := range p.parts {
			x := jute.Result{Op: op}
			if i < len(r.Ops) {
				x.Err, x.Path, x.Stat = jute.Code(r.Ops[i].Code), r.Ops[i].Path, jute.Stat(r.Ops[i].Stat)
			}
			results = append(results, x)
		}
		return jute.AppendResults(b, results)
	}
	return b
}
