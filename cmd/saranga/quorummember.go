package main

import (
	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/raftfsm"
	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk"
)

// quorumLogger is the name of the logger of the member and its endpoint.
const quorumLogger = "saranga.quorum"

// quorumMember is the quorum member that runs in this process, with its endpoint for ZooKeeper clients. nil is none: its methods
// then do nothing.
type quorumMember struct {
	raft     *raftfsm.Member
	endpoint *zk.Server // nil: none
	root     string     // node that the endpoint's clients see as "/"
}

// startMember starts what is configured. The group need not exist, nor have a majority.
func startMember(c quorumConfig, log hclog.Logger) (*quorumMember, error) {
	if c.member == nil {
		return nil, nil
	}
	cfg := *c.member
	cfg.Log = log
	m, err := raftfsm.Start(cfg)
	if err != nil {
		return nil, err
	}
	q := &quorumMember{raft: m, root: tree.ClientRoot}
	if c.endpoint == nil {
		return q, nil
	}
	e := *c.endpoint
	e.Log = log
	if e.Root != "" {
		q.root = e.Root
	}
	if q.endpoint, err = zk.Listen(e, served{m}); err != nil {
		m.Stop()
		return nil, err
	}
	return q, nil
}

// served is the member as the endpoint sees it.
type served struct{ *raftfsm.Member }

func (s served) Listen(l zk.Listener) func() { return s.Member.Listen(l) }

// failed is closed when the member has ended by itself.
func (q *quorumMember) failed() <-chan struct{} {
	if q == nil {
		return nil
	}
	return q.raft.Failed()
}

// err is why.
func (q *quorumMember) err() error { return q.raft.Err() }

// stop ends the endpoint, then the member, which hands over if it leads.
func (q *quorumMember) stop() {
	if q == nil {
		return
	}
	if q.endpoint != nil {
		_ = q.endpoint.Close() // of a listener that is closed already
	}
	q.raft.Stop()
}
