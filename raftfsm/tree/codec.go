package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The primitives of commands and snapshots.

// errMalformed is wrapped by all that a decoder refuses.
var errMalformed = errors.New("malformed")

// decoder reads primitives off a byte slice. After the first error everything reads as zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s with %d bytes left", errMalformed, what, len(d.b))
	}
	d.b = nil
}

// take gives the next n bytes, which are still those of the slice that is read.
func (d *decoder) take(n uint64, what string) []byte {
	if d.err != nil || n > uint64(len(d.b)) {
		d.fail("short " + what)
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) u8(what string) uint8 {
	if b := d.take(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u32(what string) uint32 {
	if b := d.take(4, what); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64(what string) uint64 {
	if b := d.take(8, what); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) i32(what string) int32 { return int32(d.u32(what)) }
func (d *decoder) i64(what string) int64 { return int64(d.u64(what)) }

// count reads a uvarint of at most max, in its shortest form.
func (d *decoder) count(max uint64, what string) int {
	v, n := binary.Uvarint(d.b)
	switch {
	case d.err != nil:
		return 0
	case n <= 0 || n > 1 && d.b[n-1] == 0:
		d.fail("bad length of " + what)
		return 0
	case v > max:
		d.fail(fmt.Sprintf("%s of %d, more than %d,", what, v, max))
		return 0
	}
	d.b = d.b[n:]
	return int(v)
}

// each reads a count of things that take at least size bytes each.
func (d *decoder) each(max, size uint64, what string) int {
	n := d.count(max, what)
	if uint64(n)*size > uint64(len(d.b)) {
		d.fail(fmt.Sprintf("%d of %s", n, what))
		return 0
	}
	return n
}

func (d *decoder) text(what string) string {
	return string(d.take(uint64(d.count(maxString, what)), what))
}

// data reads data that may be null. It is still part of the slice that is read.
func (d *decoder) data(what string) []byte {
	switch d.u8(what) {
	case 0:
		return nil
	case 1:
		return d.take(uint64(d.count(maxData, what)), what)
	}
	d.fail("bad flag of " + what)
	return nil
}

func (d *decoder) acl(what string) []ACL {
	n := d.each(maxACL, 6, what)
	if n == 0 {
		return nil
	}
	list := make([]ACL, n)
	for i := range list {
		list[i] = ACL{Perm(d.i32(what)), ID{d.text(what), d.text(what)}}
	}
	return list
}

func (d *decoder) stat(what string) (s Stat) {
	s.Czxid, s.Mzxid, s.Ctime, s.Mtime = d.i64(what), d.i64(what), d.i64(what), d.i64(what)
	s.Version, s.Cversion, s.Aversion = d.i32(what), d.i32(what), d.i32(what)
	s.EphemeralOwner, s.DataLength, s.NumChildren, s.Pzxid = d.i64(what), d.i32(what), d.i32(what), d.i64(what)
	return s
}

// end checks that nothing is left.
func (d *decoder) end(what string) error {
	if d.err == nil && len(d.b) > 0 {
		d.fail("more than " + what)
	}
	return d.err
}

var be = binary.BigEndian

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendData(b, data []byte) []byte {
	if data == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(append(b, 1), uint64(len(data))), data...)
}

func appendACL(b []byte, list []ACL) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, a := range list {
		b = be.AppendUint32(b, uint32(a.Perms))
		b = appendText(appendText(b, a.ID.Scheme), a.ID.ID)
	}
	return b
}

func appendStat(b []byte, s *Stat) []byte {
	for _, v := range []int64{s.Czxid, s.Mzxid, s.Ctime, s.Mtime} {
		b = be.AppendUint64(b, uint64(v))
	}
	for _, v := range []int32{s.Version, s.Cversion, s.Aversion} {
		b = be.AppendUint32(b, uint32(v))
	}
	b = be.AppendUint64(b, uint64(s.EphemeralOwner))
	b = be.AppendUint32(b, uint32(s.DataLength))
	b = be.AppendUint32(b, uint32(s.NumChildren))
	return be.AppendUint64(b, uint64(s.Pzxid))
}
