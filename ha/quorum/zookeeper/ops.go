package zookeeper

import (
	"context"
	"fmt"
	"strings"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/curator"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// anyone may do everything with a node: Curator brings no credentials.
func anyone() []jute.ACL { return []jute.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}} }

// do sends a request and has take read its answer.
func (s *Session) do(ctx context.Context, op jute.Op, body jute.Body, take func(*jute.Reader)) error {
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	r, err := c.call(ctx, op, body)
	if err != nil {
		return err
	}
	take(r)
	if err := r.Err(); err != nil {
		c.nc.Close() // whoever answers so is no server
		return fmt.Errorf("%w: answer to operation %d: %w", quorum.ErrUnavailable, op, err)
	}
	return nil
}

// Create implements curator.Session.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode curator.Mode) (string, error) {
	op := jute.OpCreate2
	if mode == curator.Container {
		op = jute.OpCreateContainer
	}
	if data == nil {
		data = []byte{}
	}
	var made string
	err := s.do(ctx, op, jute.Create{Path: s.o.Root + path, Data: data, ACL: anyone(), Flags: int32(mode)}, func(r *jute.Reader) {
		made = r.String()
		r.Stat()
	})
	return strings.TrimPrefix(made, s.o.Root), err
}

// Delete implements curator.Session.
func (s *Session) Delete(ctx context.Context, path string) error {
	return s.do(ctx, jute.OpDelete, jute.Delete{Path: s.o.Root + path, Version: curator.AnyVersion}, func(*jute.Reader) {})
}

// Get implements curator.Session.
func (s *Session) Get(ctx context.Context, path string) (data []byte, version int32, err error) {
	err = s.do(ctx, jute.OpGetData, jute.Read{Path: s.o.Root + path}, func(r *jute.Reader) {
		data = r.Buffer()
		version = r.Stat().Version
	})
	return data, version, err
}

// Set implements curator.Session.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) error {
	return s.do(ctx, jute.OpSetData, jute.SetData{Path: s.o.Root + path, Data: data, Version: version}, func(r *jute.Reader) { r.Stat() })
}

// Children implements curator.Session.
func (s *Session) Children(ctx context.Context, path string) (names []string, err error) {
	err = s.do(ctx, jute.OpGetChildren2, jute.Read{Path: s.o.Root + path}, func(r *jute.Reader) {
		names = r.Strings()
		r.Stat()
	})
	return names, err
}

// Sync implements curator.Session.
func (s *Session) Sync(ctx context.Context, path string) error {
	return s.do(ctx, jute.OpSync, jute.Path{Path: s.o.Root + path}, func(r *jute.Reader) { _ = r.String() })
}
