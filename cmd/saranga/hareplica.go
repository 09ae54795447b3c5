package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/replication/replica"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/wire/core"
)

// Orders of a passive node with replication.

var errLinkClosed = errors.New("the replication was ended")

// register connects to a node and asks it to replicate to this one.
func (p *pairNode) register(a ha.Register) {
	p.closeLink()
	s := p.scope()
	p.linkScope = s
	p.confirm = make(chan struct{})
	owner := replicaOwner{s, p.confirm}
	controller := p.controller
	s.do(func(ctx context.Context) ha.Event {
		m, ok := controller.Nodes().Member(a.NodeID)
		if !ok {
			return ha.ConnectFailed{}
		}
		candidate := cluster.Candidate{NodeID: a.NodeID}
		for _, c := range []*core.TransportConfiguration{m.Primary, m.Backup} {
			if c != nil {
				candidate.Connectors = append(candidate.Connectors, c)
			}
		}
		ctl, err := controller.ConnectTo(ctx, candidate, cluster.ControlOptions{})
		if err != nil {
			p.log.Info("the active node cannot be reached", "node", m.String(), "error", err)
			return ha.ConnectFailed{}
		}
		defer ctl.Close()
		defer ctl.Conn().Abort(errLinkClosed) // or a peer that takes nothing would be waited for
		e, err := p.startReplica(ctl, owner)
		if err != nil {
			return ha.Failed{Err: err}
		}
		p.replica.Store(e)
		refused := func(problem int32) { s.post(ha.RegistrationRefused{Problem: ha.Problem(problem)}) }
		if err := ctl.RegisterBackup(ctx, a.WantsFailback, refused); err != nil {
			return ha.LinkLost{}
		}
		select {
		case <-ctl.Done():
			p.log.Info("the connection to the active node has ended", "error", ctl.Err())
			return ha.LinkLost{}
		case <-ctx.Done():
			return nil
		}
	})
}

// startReplica makes the receiving end of a connection.
func (p *pairNode) startReplica(ctl *cluster.Control, owner replica.Owner) (*replica.Endpoint, error) {
	e, err := replica.New(replica.Options{Store: storeOptions(p.in, p.logs.Logger(logging.Journal)), Owner: owner, Link: replicaLink{ctl},
		Version: ctl.Conn().Version(), Log: p.log})
	if err != nil {
		return nil, fmt.Errorf("begin to receive the active node's data: %w", err)
	}
	ctl.Conn().OnEndOfBatch(e.EndOfBatch)
	ctl.Conn().HandleChannel(core.ChannelReplication, e.Handle)
	return e, nil
}

// replicaLink is the connection as the replica uses it.
type replicaLink struct{ *cluster.Control }

func (l replicaLink) Send(frames []byte) error {
	return l.Conn().WriteFrames(context.Background(), frames)
}

func (l replicaLink) Close(reason error) { l.Conn().Abort(reason) }

// replicaOwner hands on what the stream says. The answer to its end waits for the policy.
type replicaOwner struct {
	*scope
	confirm <-chan struct{}
}

func (o replicaOwner) NodeID(id string, failBackAllowed bool) error {
	o.post(ha.SyncStarted{NodeID: id, FailbackGranted: failBackAllowed})
	return nil
}

func (o replicaOwner) UpToDate(nodeID string, sequence int64) error {
	o.post(ha.SyncFinished{NodeID: nodeID, Sequence: sequence})
	select {
	case <-o.confirm:
		return nil
	case <-o.ctx.Done():
	}
	// If the active node has died since the policy confirmed, this node takes over and ends the link: both are true then.
	select {
	case <-o.confirm:
		return nil
	default:
		return replica.ErrClosed
	}
}

func (o replicaOwner) StopCalled()   { o.post(ha.StopCalled{}) }
func (o replicaOwner) FailOver()     { o.post(ha.FailOver{}) }
func (o replicaOwner) Paging(string) {}

// closeLink ends the connection. What it brought stays, for servable or until the data is moved away.
func (p *pairNode) closeLink() {
	p.stopAnnouncing()
	p.linkScope.close()
	p.linkScope = nil
	if e := p.replica.Load(); e != nil {
		if err := e.Close(); err != nil {
			p.log.Error("the replica's files could not be closed", "error", err)
		}
	}
}

// servable tells whether a broker may be started on what a replica brought; without one on what is there. It closes the replica's files.
func (p *pairNode) servable() error {
	if e := p.replica.Load(); e != nil {
		return e.Activate()
	}
	return replica.Whole(storeOptions(p.in, p.log))
}

// checkData tells whether this node could be active with the data that is there. Reading pages takes its time.
func (p *pairNode) checkData() {
	p.waiting.do(func(ctx context.Context) ha.Event {
		err := p.servable()
		if err == nil && p.replica.Load() == nil { // a replica's end has looked itself
			err = journal.LivePages(storeOptions(p.in, p.log))
		}
		return ha.DataChecked{Err: err}
	})
}
