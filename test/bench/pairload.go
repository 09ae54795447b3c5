package main

import (
	"context"
	"errors"
	"fmt"
)

// pairFlow measures a flow of durable 1 KiB messages through a pair.
func pairFlow(ctx context.Context, b *bench, p *haPair) (values, error) {
	f, err := openFlow(ctx, p.primary.instance, flowOptions{queue: b.queue(), size: bodySize, durable: true, window: flowWindow})
	if err != nil {
		return nil, err
	}
	v, err := b.watchPair(ctx, p, f.received.Load)
	return v, errors.Join(err, f.close())
}

// pairPerf measures the same with Artemis' own client.
func pairPerf(ctx context.Context, b *bench, p *haPair) (values, error) {
	r := perfRow{pending: 100, size: bodySize, persistent: true}
	return r.run(ctx, b, p.primary.instance, p.cpu)
}

// ownManager is the lock manager of a broker's pair: for Artemis real ZooKeeper, for Saranga a Raft group with a member in each
// node and a witness.
func (b *bench) ownManager(ctx context.Context, s *side) (lockManager, error) {
	if s.broker.Name() != sarangaName {
		return b.zookeeperManager(ctx, fmt.Sprintf("%s-%s", s.broker.Name(), b.queue()), nil)
	}
	g, err := b.pairGroup(s)
	return lockManager{group: g}, err
}

// zookeeperManager is one on the ensemble. Pairs with different namespaces do not see each other.
func (b *bench) zookeeperManager(ctx context.Context, namespace string, more map[string]string) (lockManager, error) {
	e, err := b.zookeeper(ctx)
	if err != nil {
		return lockManager{}, err
	}
	m := lockManager{properties: map[string]string{"connect-string": e.connectString(), "namespace": namespace}}
	for key, value := range more {
		m.properties[key] = value
	}
	return m, nil
}
