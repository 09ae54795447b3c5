package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// commandVersion is the version of the commands that this package writes. A change of the format raises it, and later versions read all earlier.
const commandVersion = 1

// Offsets in a command.
const (
	timeOffset   = 34
	headerLength = 42
)

// ErrUnknownCommand is wrapped by the error of a command that a later version of this package may know: a higher version or an unknown kind.
var ErrUnknownCommand = errors.New("command of a later version")

// Append appends the encoded command to b. It fails on what no decoder would take: an unknown Op, a text, data or list beyond the bounds.
func (c *Command) Append(b []byte) ([]byte, error) {
	start := len(b)
	if c.Op == nil {
		return b, errors.New("tree: encode a command without an operation")
	}
	out := append(b, commandVersion, byte(c.Op.Kind()))
	for _, v := range []uint64{c.Origin, c.Request, uint64(c.Session), c.Owner, uint64(c.Time)} {
		out = be.AppendUint64(out, v)
	}
	var flags byte
	if c.Caller.Admin {
		flags = 1
	}
	out = appendText(append(out, flags), c.Caller.Chroot)
	out = binary.AppendUvarint(out, uint64(len(c.Caller.IDs)))
	for _, id := range c.Caller.IDs {
		out = appendText(appendText(out, id.Scheme), id.ID)
	}
	out, err := appendOp(out, c.Op, true)
	if err == nil {
		// What is written must be readable: the bounds stand in one place, the decoder.
		_, err = DecodeCommand(out[start:])
	}
	if err != nil {
		return b, fmt.Errorf("tree: encode a command of kind %d: %w", c.Op.Kind(), err)
	}
	return out, nil
}

// appendOp appends the body of an operation.
func appendOp(b []byte, op Op, top bool) ([]byte, error) {
	switch op := op.(type) {
	case *Create:
		b = appendACL(appendData(appendText(b, op.Path), op.Data), op.ACL)
		return be.AppendUint32(b, uint32(op.Mode)), nil
	case *Delete:
		return be.AppendUint32(appendText(b, op.Path), uint32(op.Version)), nil
	case *SetData:
		return be.AppendUint32(appendData(appendText(b, op.Path), op.Data), uint32(op.Version)), nil
	case *SetACL:
		return be.AppendUint32(appendACL(appendText(b, op.Path), op.ACL), uint32(op.Version)), nil
	case *Check:
		return be.AppendUint32(appendText(b, op.Path), uint32(op.Version)), nil
	}
	if !top {
		return b, fmt.Errorf("%T inside a multi", op)
	}
	switch op := op.(type) {
	case *Multi:
		b = binary.AppendUvarint(b, uint64(len(op.Ops)))
		for _, one := range op.Ops {
			if one == nil {
				return b, errors.New("nothing inside a multi")
			}
			var err error
			if b, err = appendOp(append(b, byte(one.Kind())), one, false); err != nil {
				return b, err
			}
		}
	case *Sync:
		b = appendText(b, op.Path)
	case *DeleteContainer:
		b = appendText(b, op.Path)
	case *NewSession:
		b = be.AppendUint32(append(b, op.Password[:]...), uint32(op.Timeout))
	case *Attach:
		b = be.AppendUint32(append(b, op.Password[:]...), uint32(op.Timeout))
	case *CloseSession:
	case *ExpireSession:
		b = be.AppendUint64(b, op.Term)
	case *SetLimits:
		l := op.Limits
		for _, f := range l.fields() {
			b = be.AppendUint64(b, *f)
		}
	default:
		return b, fmt.Errorf("unknown operation %T", op)
	}
	return b, nil
}

// StampTime writes the leader's wall clock, ms since 1970, into an encoded command.
func StampTime(command []byte, ms int64) error {
	if len(command) < headerLength || command[0] != commandVersion {
		return fmt.Errorf("tree: stamp the time into %d bytes: %w: no command of version %d", len(command), errMalformed, commandVersion)
	}
	be.PutUint64(command[timeOffset:], uint64(ms))
	return nil
}

// SessionOf is the session that an encoded command is made in and its owner stamp; false if there is none.
func SessionOf(command []byte) (session int64, owner uint64, ok bool) {
	c, ok := header(command)
	return c.Session, c.Owner, ok && c.Session != 0
}

// header reads the numbers at the start of a command, false if they are not all there.
func header(b []byte) (c Command, ok bool) {
	if len(b) < headerLength {
		return c, false
	}
	d := decoder{b: b[2:]}
	c.Origin, c.Request, c.Session, c.Owner, c.Time = d.u64(""), d.u64(""), d.i64(""), d.u64(""), d.i64("")
	return c, true
}

// DecodeCommand reads a command. Data is still part of b. An encoding is unique: what decodes is encoded again to the same bytes.
func DecodeCommand(b []byte) (Command, error) {
	switch {
	case len(b) == 0:
		return Command{}, fmt.Errorf("tree: decode a command: %w: empty", errMalformed)
	case b[0] > commandVersion:
		return Command{}, fmt.Errorf("tree: decode a command: %w: version %d, this is %d", ErrUnknownCommand, b[0], commandVersion)
	case b[0] != commandVersion:
		return Command{}, fmt.Errorf("tree: decode a command: %w: version %d", errMalformed, b[0])
	case len(b) > MaxCommand:
		return Command{}, fmt.Errorf("tree: decode a command: %w: %d bytes, more than %d", errMalformed, len(b), MaxCommand)
	}
	c, ok := header(b)
	if !ok {
		return Command{}, fmt.Errorf("tree: decode a command: %w: %d bytes", errMalformed, len(b))
	}
	d := decoder{b: b[headerLength:]}
	switch d.u8("flags of the caller") {
	case 0:
	case 1:
		c.Caller.Admin = true
	default:
		d.fail("bad flags of the caller")
	}
	c.Caller.Chroot = d.text("chroot")
	if n := d.each(maxACL, 2, "identities"); n > 0 {
		c.Caller.IDs = make([]ID, n)
		for i := range c.Caller.IDs {
			c.Caller.IDs[i] = ID{d.text("scheme"), d.text("identity")}
		}
	}
	if c.Op = d.op(Kind(b[1]), true); c.Op == nil && d.err == nil {
		return Command{}, fmt.Errorf("tree: decode a command: %w: kind %d", ErrUnknownCommand, b[1])
	}
	if err := d.end("a command"); err != nil {
		return Command{}, fmt.Errorf("tree: decode a command of kind %d: %w", b[1], err)
	}
	return c, nil
}

// op reads the body of an operation; nil if the kind is unknown.
func (d *decoder) op(kind Kind, top bool) Op {
	switch kind {
	case KindCreate:
		return &Create{d.text("path"), d.data("data"), d.acl("access control list"), Mode(d.i32("flags"))}
	case KindDelete:
		return &Delete{d.text("path"), d.i32("version")}
	case KindSetData:
		return &SetData{d.text("path"), d.data("data"), d.i32("version")}
	case KindSetACL:
		return &SetACL{d.text("path"), d.acl("access control list"), d.i32("version")}
	case KindCheck:
		return &Check{d.text("path"), d.i32("version")}
	}
	if !top {
		d.fail("bad kind inside a multi")
		return nil
	}
	switch kind {
	case KindMulti:
		n := d.each(maxMulti, 6, "operations")
		m := &Multi{Ops: make([]Op, 0, n)}
		for range n {
			one := d.op(Kind(d.u8("kind")), false)
			if d.err != nil {
				break
			}
			m.Ops = append(m.Ops, one)
		}
		return m
	case KindSync:
		return &Sync{d.text("path")}
	case KindDeleteContainer:
		return &DeleteContainer{d.text("path")}
	case KindNewSession:
		return &NewSession{d.password(), d.i32("timeout")}
	case KindAttach:
		return &Attach{d.password(), d.i32("timeout")}
	case KindCloseSession:
		return &CloseSession{}
	case KindExpireSession:
		return &ExpireSession{d.u64("term")}
	case KindSetLimits:
		op := &SetLimits{}
		for _, f := range op.Limits.fields() {
			*f = d.u64("limits")
		}
		return op
	}
	return nil
}

func (d *decoder) password() (p [16]byte) {
	copy(p[:], d.take(16, "password"))
	return p
}
