package raftfsm

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// transport is hashicorp/raft's network transport, looked at from outside. It does three things more.
//
// It tells followers of a commit at once: when the leader's own state machine has applied an entry, each follower that is known to have it gets the
// empty AppendEntries that raft would send it within 2 × CommitTimeout: previous entry = commit index = the last of its entries that is
// committed. Only entries of the leader's own term are told of, and the term is taken from a request that raft itself sent as leader; a
// message of a term is true for ever, whoever leads when it arrives.
//
// It remembers when each follower last said yes to the leader of the present term.
//
// It tells forgot of a follower that lacks an entry that it has confirmed in this term.
//
// It refuses votes while guard says so (see the package comment on a member that lost its folder).
//
// Raft's pipelining must be off (MaxRPCsInFlight 1), so that all exchanges come through AppendEntries.
type transport struct {
	*raft.NetworkTransport
	now      func() time.Time
	notices  sync.WaitGroup
	requests chan raft.RPC // nil: the inner transport's
	forgot   func(id string, confirmed, has uint64)
	guard    atomic.Pointer[func(term uint64) bool]
	done     chan struct{}

	mu        sync.Mutex
	lead      raft.AppendEntriesRequest // header (which names the leader) and term of the newest request; no entries
	committed uint64                    // index of the last entry of that term that was applied here
	peers     map[raft.ServerID]*peerLog
	closed    bool
}

// peerLog is what the leader knows of a follower in its term.
type peerLog struct {
	id      raft.ServerID
	address raft.ServerAddress
	acked   uint64    // last entry of this term that it has confirmed
	told    uint64    // commit index that it was told of
	said    time.Time // when the last exchange began that it ended with yes
	wake    chan struct{}
}

func newTransport(inner *raft.NetworkTransport, now func() time.Time) *transport {
	return &transport{NetworkTransport: inner, now: now, done: make(chan struct{}), peers: map[raft.ServerID]*peerLog{}}
}

// guardVotes makes every request for a vote pass allow first. Before raft starts.
func (t *transport) guardVotes(allow func(term uint64) bool) {
	t.guard.Store(&allow)
	t.requests = make(chan raft.RPC)
	t.notices.Go(func() {
		for {
			select {
			case rpc := <-t.NetworkTransport.Consumer():
				t.pass(rpc)
			case <-t.done:
				return
			}
		}
	})
}

func (t *transport) pass(rpc raft.RPC) {
	allow := *t.guard.Load()
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}
	switch q := rpc.Command.(type) {
	case *raft.RequestVoteRequest:
		if !allow(q.Term) {
			rpc.Respond(&raft.RequestVoteResponse{RPCHeader: header, Term: q.Term}, nil)
			return
		}
	case *raft.RequestPreVoteRequest:
		if !allow(q.Term) {
			rpc.Respond(&raft.RequestPreVoteResponse{RPCHeader: header, Term: q.Term}, nil)
			return
		}
	}
	select {
	case t.requests <- rpc:
	case <-t.done:
	}
}

// Consumer implements raft.Transport.
func (t *transport) Consumer() <-chan raft.RPC {
	if t.requests != nil {
		return t.requests
	}
	return t.NetworkTransport.Consumer()
}

// AppendEntries implements raft.Transport.
func (t *transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, q *raft.AppendEntriesRequest, r *raft.AppendEntriesResponse) error {
	began := t.now()
	err := t.NetworkTransport.AppendEntries(id, target, q, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.Term > t.lead.Term {
		t.lead = raft.AppendEntriesRequest{RPCHeader: q.RPCHeader, Term: q.Term}
		t.committed = 0
		for _, p := range t.peers {
			p.acked, p.told, p.said = 0, 0, time.Time{}
		}
	}
	if err != nil || q.Term != t.lead.Term {
		return err
	}
	p := t.peers[id]
	if p == nil {
		p = &peerLog{id: id, wake: make(chan struct{}, 1)}
		t.peers[id] = p
		if !t.closed {
			t.notices.Go(func() { t.notify(p) })
		}
	}
	p.address = target
	if !r.Success || r.Term != q.Term {
		if r.Term == q.Term && r.LastLog < p.acked && t.forgot != nil {
			t.forgot(string(id), p.acked, r.LastLog)
			p.acked = r.LastLog
		}
		return nil
	}
	if began.After(p.said) {
		p.said = began
	}
	p.told = max(p.told, q.LeaderCommitIndex)
	if n := len(q.Entries); n > 0 && q.Entries[n-1].Term == q.Term {
		p.acked = max(p.acked, q.Entries[n-1].Index)
	}
	t.wakeIfDue(p)
	return nil
}

// applied says that the own state machine has applied an entry.
func (t *transport) applied(index, term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if term != t.lead.Term || index <= t.committed {
		return
	}
	t.committed = index
	for _, p := range t.peers {
		t.wakeIfDue(p)
	}
}

// due is the commit index that the follower should be told of now. Under mu.
func (t *transport) due(p *peerLog) (uint64, bool) {
	index := min(p.acked, t.committed)
	return index, index > p.told
}

func (t *transport) wakeIfDue(p *peerLog) {
	if _, due := t.due(p); due {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// notify tells one follower of commits until the transport is closed.
func (t *transport) notify(p *peerLog) {
	for {
		select {
		case <-p.wake:
		case <-t.done:
			return
		}
		t.mu.Lock()
		index, due := t.due(p)
		q, address := t.lead, p.address
		t.mu.Unlock()
		if !due {
			continue
		}
		q.PrevLogEntry, q.PrevLogTerm, q.LeaderCommitIndex = index, q.Term, index
		var r raft.AppendEntriesResponse
		// AppendEntries takes the answer into account. After an error raft's own message follows within 2 × CommitTimeout.
		_ = t.AppendEntries(p.id, address, &q, &r)
	}
}

// contacts are the times at which the last exchanges began in which each follower confirmed the leader of this term.
func (t *transport) contacts(term uint64) map[string]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]time.Time, len(t.peers))
	if term == t.lead.Term {
		for id, p := range t.peers {
			out[string(id)] = p.said
		}
	}
	return out
}

// close ends the transport; connections are closed by the port.
func (t *transport) close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.done)
	}
	t.mu.Unlock()
	_ = t.NetworkTransport.Close()
	t.CloseStreams()
	t.notices.Wait()
}
