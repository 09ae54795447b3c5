package tree

import (
	"errors"
	"fmt"
	"strings"
)

// State is the state machine. The zero value is not usable: New or Read. It has no lock, see the package comment.
type State struct {
	View
	// generation is what nodes, sessions and entries that are not part of any Snapshot carry; all others are copied before they are changed.
	generation uint64
}

// New is the state before the first entry of the log.
func New() *State {
	s := &State{generation: 1}
	s.limits = DefaultLimits()
	s.root = seeded(openACL, 0)
	s.nodes, s.bytes = 1, s.root.size("")
	for _, path := range seeds[1:] {
		n := seeded(openACL, 0)
		if path == configPath {
			n = seeded(readACL, -1)
		}
		dir, name, _ := parentOf(path)
		parent := s.root
		if dir != "" {
			parent = s.lookup(dir)
		}
		parent.children.set(s.generation, name, n)
		s.nodes++
		s.bytes += n.size(name)
	}
	return s
}

// seeded is a node that exists from the start. Its parent does not count it, so a fresh parent shows a negative cversion, as in ZooKeeper.
func seeded(acl []ACL, aversion int32) *node {
	return &node{generation: 1, data: []byte{}, acl: acl, aversion: aversion}
}

// Apply applies one entry of the log: index and term are the entry's, indexes rise. It keeps no part of command. It never panics on
// input, and never fails halfway: see Result for what can come out.
func (s *State) Apply(index, term uint64, command []byte) Result {
	c, err := DecodeCommand(command)
	if err != nil {
		return s.undecodable(index, command, err)
	}
	return s.ApplyCommand(index, term, &c)
}

// ApplyCommand is Apply of a decoded command. It keeps no part of c.
func (s *State) ApplyCommand(index, term uint64, c *Command) Result {
	r := Result{Zxid: int64(index), Kind: c.Op.Kind(), Origin: c.Origin, Request: c.Request, Session: c.Session, Owner: c.Owner}
	if err := s.advance(index); err != nil {
		return Result{Zxid: s.zxid, Fatal: err}
	}
	a := application{State: s, command: c, term: term, result: &r}
	a.run()
	return r
}

// advance takes the index of an entry as the new zxid.
func (s *State) advance(index uint64) error {
	if int64(index) <= s.zxid {
		return fmt.Errorf("tree: apply entry %d after entry %d", index, s.zxid)
	}
	s.zxid = int64(index)
	return nil
}

// ownNode is the node at an absolute path that exists, to be changed: it and all above it belong to this generation.
func (s *State) ownNode(abs string) *node {
	if s.root.generation != s.generation {
		c := *s.root
		c.generation = s.generation
		s.root = &c
	}
	n := s.root
	if abs == "/" {
		return n
	}
	for rest, more := abs[1:], true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		child, _ := n.children.get(name)
		if child.generation != s.generation {
			c := *child
			c.generation = s.generation
			child = &c
			n.children.set(s.generation, name, child)
		}
		n = child
	}
	return n
}

// ownSession is a session that exists, to be changed.
func (s *State) ownSession(id int64) *session {
	o, _ := s.sessions.get(id)
	if o.generation != s.generation {
		c := *o
		c.generation = s.generation
		o = &c
		s.sessions.set(s.generation, id, o)
	}
	return o
}

// undecodable is the result of a command that does not decode: a failure that all members see alike, unless it may be one that a later version
// knows.
func (s *State) undecodable(index uint64, command []byte, err error) Result {
	if errors.Is(err, ErrUnknownCommand) {
		return Result{Zxid: s.zxid, Fatal: fmt.Errorf("tree: apply entry %d: %w", index, err)}
	}
	if err := s.advance(index); err != nil {
		return Result{Zxid: s.zxid, Fatal: err}
	}
	r := Result{Zxid: int64(index), Outcome: Outcome{Code: Marshalling}}
	if h, ok := header(command); ok {
		r.Kind, r.Origin, r.Request, r.Session, r.Owner = Kind(command[1]), h.Origin, h.Request, h.Session, h.Owner
	}
	return r
}
