package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoTargets says that a cluster connection has neither static connectors nor a discovery group.
var ErrNoTargets = errors.New("the cluster connection has no static connectors and no discovery group")

// A Locator finds a node of the cluster to connect to: the static connectors in turn, or whoever a discovery group has
// heard of. It is not safe for concurrent use.
type Locator struct {
	o         Options
	discovery *Discovery // nil: static
	next      int        // of the targets
	refused   string     // the last error of a discovered node, which was told
}

// NewLocator makes a locator. d is nil for static connectors; it outlives the locator.
func NewLocator(o Options, d *Discovery) *Locator { return &Locator{o: o.withDefaults(), discovery: d} }

// Connectable tells whether there can ever be something to connect to.
func (l *Locator) Connectable() bool { return l.discovery != nil || len(l.o.Static) > 0 }

// targets returns the nodes to try now, without this one, and what is closed when there are others.
func (l *Locator) targets() (list []Target, changed <-chan struct{}) {
	if l.discovery == nil {
		for _, t := range l.o.Static {
			if !SameParams(&t.Connector, &l.o.Own.Connector) {
				list = append(list, t)
			}
		}
		return list, nil
	}
	nodes, changed := l.discovery.Nodes()
	for i := range nodes {
		t, err := l.o.target(&nodes[i].Connector)
		if err != nil {
			if text := err.Error(); text != l.refused {
				l.refused = text
				l.o.Log.Warn("a discovered node is not tried", "cluster_connection", l.o.Name, "node", nodes[i].NodeID, "error", err)
			}
			continue
		}
		if !SameParams(&t.Connector, &l.o.Own.Connector) {
			list = append(list, t)
		}
	}
	return list, changed
}

// Connect tries all targets in turn, beginning behind the one it came to last, with the retry intervals between rounds,
// until one takes the connection or ctx ends.
func (l *Locator) Connect(ctx context.Context, co ControlOptions) (*Control, error) {
	if !l.Connectable() {
		return nil, fmt.Errorf("cluster connection %s: %w", l.o.Name, ErrNoTargets)
	}
	backoff := l.o.backoff()
	var last error
	for {
		list, changed := l.targets()
		for range list {
			t := list[l.next%len(list)]
			l.next = (l.next + 1) % len(list)
			c, err := Connect(ctx, l.o, t, co)
			if err == nil {
				return c, nil
			}
			if ctx.Err() != nil {
				return nil, errors.Join(context.Cause(ctx), err)
			}
			if last == nil || last.Error() != err.Error() {
				l.o.Log.Debug("a node of the cluster cannot be reached", "cluster_connection", l.o.Name, "error", err)
			}
			last = err
		}
		timer := time.NewTimer(backoff.Next())
		select {
		case <-timer.C:
		case <-changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(context.Cause(ctx), last)
		}
	}
}
