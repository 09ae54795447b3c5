package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/broker/config/create"
)

// An haPair is a primary and its backup, replicating, with a lock manager that decides who is active.
type haPair struct {
	primary, backup *haNode
	group           *raftGroup // whose members are in both and in a witness; nil: the lock manager is elsewhere
}

// A lockManager is a <manager> element of both nodes, and the Raft group that it needs.
type lockManager struct {
	properties map[string]string
	group      *raftGroup // nil: none
}

func (m lockManager) xml() string {
	var b strings.Builder
	b.WriteString("<manager><properties>")
	for key, value := range m.properties {
		fmt.Fprintf(&b, `<property key=%q value=%q/>`, key, value)
	}
	b.WriteString("</properties></manager>")
	return b.String()
}

// haLimit bounds each step of a pair: a JVM's start, an initial synchronisation.
const haLimit = 3 * time.Minute

// createPair lays out both instances as the broker ships them, but for cluster and policy.
func (s *side) createPair(ctx context.Context, name string, m lockManager, flags ...string) (*haPair, error) {
	const nobody = "tcp://127.0.0.1:1"
	p := &haPair{group: m.group}
	other := nobody
	for _, n := range []struct {
		node *(*haNode)
		role string
	}{{&p.primary, primaryMember}, {&p.backup, backupMember}} {
		all := append([]string{"--clustered", "--cluster-user", "cu", "--cluster-password", "cp", "--name", n.role, "--staticCluster", other}, flags...)
		i, err := s.create(ctx, name+"-"+n.role, all...)
		if err != nil {
			return nil, err
		}
		if m.group != nil {
			if err := i.WriteEtc(create.QuorumFile, string(m.group.config(n.role, ""))); err != nil {
				return nil, err
			}
		}
		*n.node = &haNode{broker: s.broker, instance: i, log: logOf(i)}
		other = i.URL()
	}
	err := p.primary.edit(nobody+"<", p.backup.instance.URL()+"<")
	return p, errors.Join(err,
		p.primary.edit("<acceptors>", "<ha-policy><replication><primary>"+m.xml()+"</primary></replication></ha-policy>\n<acceptors>"),
		p.backup.edit("<acceptors>", "<ha-policy><replication><backup><allow-failback>true</allow-failback>"+m.xml()+"</backup></replication></ha-policy>\n<acceptors>"))
}

// edit replaces a text of broker.xml.
func (n *haNode) edit(old, new string) error {
	file := n.instance.Etc("broker.xml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s: there is no %q", file, old)
	}
	return n.instance.WriteEtc("broker.xml", strings.Replace(string(text), old, new, 1))
}

// start starts both and waits until the backup has everything.
func (p *haPair) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, haLimit, fmt.Errorf("it took longer than %v", haLimit))
	defer cancel()
	if err := p.primary.start(); err != nil {
		return err
	}
	if p.group == nil { // else the primary needs the backup's member
		if err := p.primary.serves(ctx); err != nil {
			return err
		}
	}
	if err := p.backup.start(); err != nil {
		return err
	}
	if err := p.primary.serves(ctx); err != nil {
		return err
	}
	_, err := p.backup.says(ctx, codeSynced)
	return err
}

// kill ends both.
func (p *haPair) kill() {
	p.backup.kill()
	p.primary.kill()
}

// remove ends both and removes what they wrote.
func (p *haPair) remove() error {
	p.kill()
	return errors.Join(p.group.close(), os.RemoveAll(p.primary.instance.Dir), os.RemoveAll(p.backup.instance.Dir))
}

func (p *haPair) healthy() bool { return p.primary.runs() && p.backup.runs() }

// cpu is the run time of both processes.
func (p *haPair) cpu() (time.Duration, error) {
	a, err := p.primary.usage()
	if err != nil {
		return 0, err
	}
	b, err := p.backup.usage()
	return a.CPU + b.CPU, err
}

// warmPair is the pair that most rows measure, started and warmed up when it is needed first, or again if a half of it has ended.
func (b *bench) warmPair(ctx context.Context, s *side) (*haPair, error) {
	if s.pair != nil && s.pair.healthy() {
		return s.pair, nil
	}
	if s.pair != nil {
		b.report.note("the pair of %s ended and was made anew:\n%s\n%s", s.broker.Name(), s.pair.primary.tail(), s.pair.backup.tail())
		if err := s.pair.remove(); err != nil {
			return nil, err
		}
		s.pair = nil
	}
	m, err := b.ownManager(ctx, s)
	if err != nil {
		return nil, err
	}
	p, err := s.createPair(ctx, b.queue(), m)
	if err != nil {
		return nil, errors.Join(err, m.group.close())
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	s.pair = p
	return p, b.warmUp(ctx, s.broker.Name(), p.primary.instance)
}

// onPair makes a measurement of one on a warm pair.
func onPair(measure func(context.Context, *bench, *haPair) (values, error)) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		p, err := b.warmPair(ctx, s)
		if err != nil {
			return nil, err
		}
		before := p.primary.sequence()
		v, err := measure(ctx, b, p)
		if after := p.primary.sequence(); err == nil && after != before {
			err = fmt.Errorf("the pair did not stay one: activation sequence %d, then %d", before, after)
		}
		return v, err
	}
}

// watchPair finds rate and CPU per message of a load on a pair, from what it has received.
func (b *bench) watchPair(ctx context.Context, p *haPair, received func() int64) (values, error) {
	if !pause(ctx, settle) {
		return nil, context.Cause(ctx)
	}
	var used [2][2]time.Duration
	read := func(when int) error {
		for i, n := range []*haNode{p.primary, p.backup} {
			u, err := n.usage()
			if err != nil {
				return err
			}
			used[i][when] = u.CPU
		}
		return nil
	}
	if err := read(0); err != nil {
		return nil, err
	}
	begin, first := time.Now(), received()
	if !pause(ctx, b.Length) {
		return nil, context.Cause(ctx)
	}
	if err := read(1); err != nil {
		return nil, err
	}
	n, took := received()-first, time.Since(begin)
	primary, backup := used[0][1]-used[0][0], used[1][1]-used[1][0]
	v := flowValues(n, took, primary+backup)
	v["cpu-primary"], v["cpu-backup"] = micros(primary)/float64(max(n, 1)), micros(backup)/float64(max(n, 1))
	return v, nil
}

// closePairs ends all pairs and their lock managers.
func (b *bench) closePairs() error {
	var errs []error
	for _, s := range b.sides {
		if s.pair != nil {
			errs = append(errs, s.pair.remove())
		}
		errs = append(errs, s.group.close())
	}
	b.ensemble.close()
	return errors.Join(errs...)
}
