package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/zookeeper"
	"github.com/saranga-mq/saranga/test/peers"
)

// A lockServer is a process that serves ZooKeeper clients: a server of ZooKeeper's, or a Raft member of Saranga's.
type lockServer struct {
	address string
	pid     int
}

// lockServers are three of a broker's own kind, started when they are needed first.
func (b *bench) lockServers(ctx context.Context, s *side) (list []lockServer, err error) {
	if s.broker.Name() != sarangaName {
		e, err := b.zookeeper(ctx)
		if err != nil {
			return nil, err
		}
		for _, z := range e.servers {
			list = append(list, lockServer{z.address, z.cmd.Process.Pid})
		}
		return list, nil
	}
	if s.group == nil {
		if s.group, err = b.newRaftGroup(s, "a", "b", "c"); err != nil {
			return nil, err
		}
		for _, m := range s.group.members {
			port, err := peers.FreePort()
			if err != nil {
				return nil, err
			}
			if _, err := s.group.startWitness(m.ID, fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
				return nil, err
			}
		}
	}
	if _, err := s.group.leader(ctx); err != nil {
		return nil, err
	}
	for _, w := range s.group.witnesses {
		list = append(list, lockServer{w.endpoint, w.cmd.Process.Pid})
	}
	return list, nil
}

// leads tells whether the server leads, from the answer to srvr.
func (l lockServer) leads() bool {
	return strings.Contains(askFourLetters(l.address, "srvr"), "\nMode: leader")
}

// manager is a started lock manager on that server alone.
func (l lockServer) manager(ctx context.Context) (quorum.Manager, error) {
	m, err := quorum.New("", map[string]string{"connect-string": l.address, "namespace": "bench"}, zookeeper.Kind(hclog.NewNullLogger()))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := m.Start(ctx); err != nil {
		m.Stop()
		return nil, fmt.Errorf("lock manager at %s: %w", l.address, err)
	}
	return m, nil
}

// lockTimes measures a lock acquired and released, one after another, by the same client at each of the three servers.
func lockTimes(ctx context.Context, b *bench, s *side) (values, error) {
	servers, err := b.lockServers(ctx, s)
	if err != nil {
		return nil, err
	}
	all, led, followed := newTimes(), newTimes(), newTimes()
	for _, server := range servers {
		one := followed
		if server.leads() {
			one = led
		}
		err := server.lockAndUnlock(ctx, b.Length/ensembleSize, func(took time.Duration) {
			all.add(took)
			one.add(took)
		})
		if err != nil {
			return nil, err
		}
	}
	return values{"lock": all.at(50), "lock-p99": all.at(99), "leader": led.at(50), "follower": followed.at(50)}, nil
}

func (l lockServer) lockAndUnlock(ctx context.Context, length time.Duration, took func(time.Duration)) (err error) {
	m, err := l.manager(ctx)
	if err != nil {
		return err
	}
	defer m.Stop()
	lock, err := m.Lock("bench")
	if err != nil {
		return err
	}
	const warmUp = 150 // a JVM takes its time
	for begin, n := time.Now(), 0; time.Since(begin) < length || n <= warmUp; n++ {
		asked := time.Now()
		held, err := lock.TryLock(ctx)
		if err == nil && !held {
			err = errors.New("somebody else has it")
		}
		if err == nil {
			err = lock.Unlock(ctx)
		}
		if err != nil {
			return fmt.Errorf("lock at %s: %w", l.address, err)
		}
		if n >= warmUp {
			took(time.Since(asked))
		}
	}
	return nil
}

// sessionCost measures what 1,000 sessions that only ping, all at one follower, cost each of the three servers beyond what it
// costs when idle.
func sessionCost(ctx context.Context, b *bench, s *side) (_ values, err error) {
	servers, err := b.lockServers(ctx, s)
	if err != nil {
		return nil, err
	}
	pause(ctx, settle)
	idle, err := shares(ctx, servers, b.Length)
	if err != nil {
		return nil, err
	}
	at := 0
	if servers[at].leads() {
		at++
	}
	const sessions, atOnce = 1000, 16
	var mu sync.Mutex
	var open []quorum.Manager
	defer func() {
		stopAll(open)
	}()
	room := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for range sessions {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			m, failed := servers[at].manager(ctx)
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = failed
				return
			}
			open = append(open, m)
		})
	}
	all.Wait()
	if err != nil {
		return nil, err
	}
	// Pings come every third of a session's 18 s: one round of them passes before, and at least one is measured.
	pause(ctx, 6*time.Second)
	with, err := shares(ctx, servers, max(b.Length, 12*time.Second))
	if err != nil {
		return nil, err
	}
	for _, m := range open {
		select {
		case <-m.Unavailable():
			return nil, errors.New("a session was lost")
		default:
		}
	}
	v := values{"sessions": float64(len(open))}
	for i := range servers {
		v["idle"] = max(v["idle"], idle[i])
		v["busiest"] = max(v["busiest"], with[i]-idle[i])
	}
	return v, nil
}

func stopAll(list []quorum.Manager) {
	var all sync.WaitGroup
	for _, m := range list {
		all.Go(m.Stop)
	}
	all.Wait()
}

// shares are the parts of a core in percent that each server uses for some time.
func shares(ctx context.Context, servers []lockServer, length time.Duration) ([]float64, error) {
	read := func() (list []time.Duration, err error) {
		for _, l := range servers {
			u, err := peers.ReadUsage(l.pid)
			if err != nil {
				return nil, err
			}
			list = append(list, u.CPU)
		}
		return list, nil
	}
	before, err := read()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	pause(ctx, length)
	after, err := read()
	if err != nil {
		return nil, err
	}
	var list []float64
	for i := range servers {
		list = append(list, 100*float64(after[i]-before[i])/float64(time.Since(begin)))
	}
	return list, nil
}
