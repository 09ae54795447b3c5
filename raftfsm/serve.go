package raftfsm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// maxRequests is how many requests of one connection are worked on at once; then it is not read.
const maxRequests = 1024

// serve answers the requests of one connection until it ends.
func (m *Member) serve(c net.Conn, h hello) {
	var working sync.WaitGroup
	defer working.Wait()
	defer c.Close()
	room := make(chan struct{}, maxRequests)
	w := &replies{conn: c}
	for {
		f, err := readFrame(c)
		if err == nil && f.Kind == kindReply {
			err = fmt.Errorf("%w: a reply to nothing", errFrame)
		}
		if err != nil {
			if errors.Is(err, errFrame) {
				m.log.Warn("the connection of a member is closed", "member", h.Member, "from", c.RemoteAddr(), "error", err)
			}
			return
		}
		select {
		case room <- struct{}{}:
		case <-m.ctx.Done():
			return
		}
		working.Go(func() {
			defer func() { <-room }()
			body, err := m.handle(f, h)
			w.send(f.ID, body, err)
		})
	}
}

// replies writes what handlers answer.
type replies struct {
	mu   sync.Mutex
	conn net.Conn
}

func (w *replies) send(id uint64, body []byte, err error) {
	out := append(make([]byte, 0, 1+len(body)), byte(fate(err)))
	if err != nil {
		body = []byte(err.Error())
	}
	b := frame{kindReply, id, append(out, body...)}.append(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := w.conn.Write(b); err != nil {
		w.conn.Close() // half a frame may be out
	}
}

// handle does one request.
func (m *Member) handle(f frame, h hello) ([]byte, error) {
	switch f.Kind {
	case kindPropose:
		return nil, m.forwarded(f.Body)
	case kindReport:
		return m.hear(h.Member, f.Body)
	case kindStatus:
		return json.Marshal(m.Status())
	}
	if _, _, ok := m.leads(); !ok {
		if h.Member != "" {
			return nil, errNotLeader // members look for the leader themselves
		}
		ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
		defer cancel()
		address, _ := m.leader()
		if address == "" {
			return nil, fmt.Errorf("%w: %w", errNotLeader, ErrNoLeader)
		}
		return m.links.ask(ctx, address, f.Kind, f.Body)
	}
	return nil, m.change(f)
}

// forwarded appends a command that another member proposes.
func (m *Member) forwarded(command []byte) error {
	n := int64(len(command))
	if m.inflight.Add(n) > maxInflight {
		m.inflight.Add(-n)
		return errBusy
	}
	defer m.inflight.Add(-n)
	// A command of a later version would end every member that has this one.
	if _, err := tree.DecodeCommand(command); errors.Is(err, tree.ErrUnknownCommand) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return m.append(command)
}

// change does a request that only the leader can do.
func (m *Member) change(f frame) error {
	r, _, ok := m.leads()
	if !ok {
		return errNotLeader
	}
	wanted := map[kind]int{kindAdd: 3, kindPromote: 1, kindRemove: 1}[f.Kind]
	names, err := decodeNames(f.Body, wanted)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch f.Kind {
	case kindAdd:
		return m.add(r, names[0], names[1], names[2])
	case kindPromote:
		return m.promote(r, names[0])
	case kindRemove:
		return m.remove(r, names[0])
	case kindTransfer:
		return r.LeadershipTransfer().Error()
	}
	return fmt.Errorf("%w: unknown request", ErrRefused)
}

func (m *Member) server(id string) (raft.Server, bool) {
	for _, s := range m.servers() {
		if string(s.ID) == id {
			return s, true
		}
	}
	return raft.Server{}, false
}

func (m *Member) add(r *raft.Raft, id, address, how string) error {
	if err := checkAddress(address); id == "" || err != nil {
		return fmt.Errorf("%w: member %q at %q: %v", ErrRefused, id, address, err)
	}
	s, known := m.server(id)
	switch {
	case known && string(s.Address) != address:
		return fmt.Errorf("%w: member %q is in the group at %s; take it out first: saranga quorum leave --member %s", ErrRefused, id, s.Address, id)
	case known && s.Suffrage == raft.Voter && how != howAgain:
		return fmt.Errorf("%w: member %q has a vote in the group, so its state folder was lost; take it out first: saranga quorum leave --member %s, then it joins", ErrRefused, id, id)
	case known:
		return nil
	case m.cfg.foundsAlone() && len(m.servers()) == 1:
		// Should its folder get lost, it could not know that there are others.
		return fmt.Errorf("%w: the list of member %q names only itself; add {id: %s, address: %s} to quorum.members in its etc/saranga.yaml and restart it, then %s joins",
			ErrRefused, m.cfg.Member, id, address, id)
	}
	m.log.Info("a member is added", "member", id, "address", address)
	return r.AddNonvoter(raft.ServerID(id), raft.ServerAddress(address), 0, enqueueTimeout).Error()
}

func (m *Member) promote(r *raft.Raft, id string) error {
	s, ok := m.server(id)
	if !ok {
		return fmt.Errorf("%w: there is no member %q", ErrRefused, id)
	}
	if s.Suffrage == raft.Voter {
		return nil
	}
	m.log.Info("a member gets its vote", "member", id)
	return r.AddVoter(s.ID, s.Address, 0, enqueueTimeout).Error()
}

func (m *Member) remove(r *raft.Raft, id string) error {
	s, ok := m.server(id)
	if !ok {
		return nil
	}
	voters := 0
	for _, other := range m.servers() {
		if other.Suffrage == raft.Voter && other.ID != s.ID {
			voters++
		}
	}
	if voters == 0 {
		return fmt.Errorf("%w: %q is the last voter of the group", ErrRefused, id)
	}
	m.log.Info("a member is removed", "member", id)
	return r.RemoveServer(s.ID, 0, enqueueTimeout).Error()
}
