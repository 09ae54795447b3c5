package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
)

// An Announcer keeps a passive node announced as the backup of a node: a connection to the cluster that says so and stays
// open, and is made again when it ends.
//
// Source: ha §2.1 connection 3, §2.4 step 7; Artemis BackupManager.
type Announcer struct {
	o       Options
	nodeID  string
	locator *Locator

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	once      sync.Once
	announced chan struct{}
}

// AnnounceBackup begins to announce this node as the backup of nodeID, until Stop. What the cluster tells goes to nodes, nil
// for nowhere. Without anything to connect to it is ErrNoTargets.
func AnnounceBackup(o Options, d *Discovery, nodeID string, nodes *Nodes) (*Announcer, error) {
	o = o.withDefaults()
	a := &Announcer{o: o, nodeID: nodeID, locator: NewLocator(o, d), announced: make(chan struct{})}
	if !a.locator.Connectable() {
		return nil, ErrNoTargets
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	co := ControlOptions{ClusterConnection: true}
	if nodes != nil {
		co.OnTopology, co.OnDisconnect = nodes.learn, nodes.disconnected
	}
	a.work.Go(func() { a.run(co) })
	return a, nil
}

// Announced is closed when the announcement was sent for the first time.
func (a *Announcer) Announced() <-chan struct{} { return a.announced }

// Stop ends the connection and waits.
func (a *Announcer) Stop() {
	a.cancel()
	a.work.Wait()
}

func (a *Announcer) run(co ControlOptions) {
	backoff := a.o.backoff()
	told := false // that it does not work
	for {
		if ctl, err := a.locator.Connect(a.ctx, co); err == nil {
			if err := a.announce(ctl); err == nil {
				told = false
				backoff.Reset()
				a.once.Do(func() {
					a.o.Log.Info("AMQ221031: backup announced")
					close(a.announced)
				})
				select {
				case <-ctl.Done():
				case <-a.ctx.Done():
				}
			} else if a.ctx.Err() == nil && !told {
				told = true
				a.o.Log.Warn("AMQ222137: Unable to announce backup, retrying", "error", err)
			}
			ctl.Close()
		}
		timer := time.NewTimer(backoff.Next())
		select {
		case <-timer.C:
		case <-a.ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (a *Announcer) announce(ctl *Control) error {
	if err := ctl.Authorize(a.ctx); err != nil {
		return err
	}
	return ctl.Announce(a.ctx, &core.NodeAnnounce{NodeID: a.nodeID, BackupGroupName: null(a.o.BackupGroupName), Backup: true, CurrentEventID: a.o.Now(),
		Connector: &a.o.Own.Connector, ScaleDownGroupName: null(a.o.ScaleDownGroupName)})
}
