package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/saranga-mq/saranga/broker/config/create"
	"github.com/saranga-mq/saranga/test/peers"
)

// A raftGroup is some Raft members of Saranga. Each runs in the process of a broker, or alone as a witness.
type raftGroup struct {
	binary    string
	dir       string
	members   []create.QuorumMember
	witnesses []*witness // that were started
}

// A witness is a member without a broker.
type witness struct {
	id       string
	config   string // its etc/saranga.yaml
	endpoint string // of ZooKeeper clients, "" for none
	log      string
	cmd      *exec.Cmd
	exited   chan struct{}
}

// Ids of the members of a pair's group.
const (
	primaryMember = "primary"
	backupMember  = "backup"
	witnessMember = "witness"
)

// newRaftGroup names members that do not run yet.
func (b *bench) newRaftGroup(s *side, ids ...string) (*raftGroup, error) {
	g := &raftGroup{binary: s.broker.(peers.Saranga).Binary, dir: filepath.Join(s.dir, b.queue()+"-group")}
	for _, id := range ids {
		port, err := peers.FreePort()
		if err != nil {
			return nil, err
		}
		g.members = append(g.members, create.QuorumMember{ID: id, Address: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	return g, nil
}

// config is the file of a member, endpoint the address where it serves ZooKeeper clients, "" for none.
func (g *raftGroup) config(id, endpoint string) []byte {
	q := create.Quorum{Cluster: "bench", Member: id, Members: g.members, ZooKeeper: endpoint}
	for _, m := range g.members {
		if m.ID == id {
			q.Listen = m.Address
		}
	}
	return q.YAML()
}

// startWitness starts a member without a broker.
func (g *raftGroup) startWitness(id, endpoint string) (*witness, error) {
	w := &witness{id: id, endpoint: endpoint, config: filepath.Join(g.dir, id, "etc", create.QuorumFile), log: filepath.Join(g.dir, id, "log")}
	if err := os.MkdirAll(filepath.Dir(w.config), 0o750); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.config, g.config(id, endpoint), 0o600); err != nil {
		return nil, err
	}
	g.witnesses = append(g.witnesses, w)
	return w, w.start(g.binary)
}

func (w *witness) start(binary string) error {
	out, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	w.cmd, w.exited = exec.Command(binary, "quorum", "run", "--config", w.config), make(chan struct{})
	w.cmd.Stdout, w.cmd.Stderr = out, out
	if err := w.cmd.Start(); err != nil {
		return fmt.Errorf("start the quorum member %s: %w", w.id, err)
	}
	cmd, exited := w.cmd, w.exited
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	return nil
}

func (w *witness) kill() {
	_ = w.cmd.Process.Kill()
	<-w.exited
}

// leader waits until all members are there and one leads, and returns its id.
func (g *raftGroup) leader(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the group has no leader after a minute"))
	defer cancel()
	for {
		var status struct {
			Leader  string `json:"leader"`
			Present int    `json:"present"`
		}
		text, err := exec.CommandContext(ctx, g.binary, "quorum", "status", "--json", "--config", g.witnesses[0].config).Output()
		if err == nil {
			err = json.Unmarshal(text, &status)
		}
		if err == nil && status.Leader != "" && status.Present == len(g.members) {
			return status.Leader, nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			log, _ := os.ReadFile(g.witnesses[0].log)
			return "", fmt.Errorf("%w: %w, %+v\n%s", context.Cause(ctx), err, status, log[max(0, len(log)-4<<10):])
		}
	}
}

// close ends all members without a broker and removes their folders.
func (g *raftGroup) close() error {
	if g == nil {
		return nil
	}
	for _, w := range g.witnesses {
		w.kill()
	}
	return os.RemoveAll(g.dir)
}

// pairGroup is a group for a pair, of which the witness runs.
func (b *bench) pairGroup(s *side) (*raftGroup, error) {
	g, err := b.newRaftGroup(s, primaryMember, backupMember, witnessMember)
	if err != nil {
		return nil, err
	}
	_, err = g.startWitness(witnessMember, "")
	return g, err
}
