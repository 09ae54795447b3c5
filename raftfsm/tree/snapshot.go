package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Snapshot is the state at one zxid, for good: an immutable View that any goroutine may read and write out while Apply goes on.
//
// # Format
//
// All integers are big-endian. The same state gives the same bytes.
//
//	header, 16 bytes
//	  0  magic    "SRNGTREE"
//	  8  version  uint16   1
//	 10  –        uint16   0
//	 12  check    uint32   CRC-32C of the 12 bytes before
//
//	then blocks, of which only the last has less than 65536 bytes of payload
//	  length  uint32  1 to 65536
//	  check   uint32  CRC-32C of the block's number (uint32, from 0) and the payload
//	  payload
//
//	whose payloads joined are records
//	  length  uint32  of the body
//	  body            uint8 tag, fields
//
//	tag 1, once, first: int64 zxid, the fields of Limits (uint64 each), uint64 number of sessions, uint64 number of nodes
//	tag 2, per session in the order of ids: int64 id, 16 bytes password, int32 timeout, uint64 owner, uint64 former owner, uint64 request,
//	       uint8 outcome follows, outcome {int32 code, string path, stat, uvarint n, n × {uint8 kind, int32 code, string path, stat}}
//	tag 3, per node, parents first and siblings in the order of their names: uvarint depth (the root has 0), string name, uint8 kind (0 persistent, 1
//	       ephemeral, 2 container), data, acl, int64 czxid, mzxid, pzxid, ctime, mtime, int32 version, aversion, children ever created, int64 owner
//	tag 4, once, last: –
//
//	string, data and acl are as in commands; stat is the 68 bytes of ZooKeeper's Stat
//
// A reader verifies each block before it looks at it, and that the records make a state: names and orders, owners, counts. It reads no byte beyond the last
// block; what may follow is not its concern.
type Snapshot struct{ View }

const (
	snapshotMagic   = "SRNGTREE"
	snapshotVersion = 1
	maxRecord       = 192 << 20

	tagHead    = 1
	tagSession = 2
	tagNode    = 3
	tagEnd     = 4
)

// Why a snapshot is refused.
var (
	ErrForeign         = errors.New("not a snapshot of this state machine")
	ErrSnapshotVersion = errors.New("snapshot of a later version")
	ErrCorrupt         = errors.New("damaged snapshot")
)

// Snapshot takes the state as it is. It takes no time; the caller holds the lock that guards Apply.
func (s *State) Snapshot() *Snapshot {
	s.generation++
	return &Snapshot{s.View}
}

// WriteTo writes the snapshot out, in blocks of 64 KiB.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	b := newBlockWriter(w)
	if err := s.write(b); err != nil {
		return b.written, fmt.Errorf("tree: write the snapshot of zxid %d: %w", s.zxid, err)
	}
	return b.written, nil
}

func (s *Snapshot) write(w *blockWriter) error {
	head := be.AppendUint64([]byte{tagHead}, uint64(s.zxid))
	for _, f := range s.limits.fields() {
		head = be.AppendUint64(head, *f)
	}
	head = be.AppendUint64(head, uint64(s.sessions.len()))
	head = be.AppendUint64(head, s.nodes)
	if err := w.record(head); err != nil {
		return err
	}
	var b []byte // of one record, used again
	var err error
	s.sessions.ascend(func(_ int64, one *session) bool {
		b = appendSession(append(b[:0], tagSession), one)
		err = w.record(b)
		return err == nil
	})
	if err != nil {
		return err
	}
	var walk func(name string, n *node, depth uint64) bool
	walk = func(name string, n *node, depth uint64) bool {
		b = appendNode(binary.AppendUvarint(append(b[:0], tagNode), depth), name, n)
		if err = w.record(b); err != nil {
			return false
		}
		return n.children.root.ascend(func(name string, child *node) bool { return walk(name, child, depth+1) })
	}
	walk("", s.root, 0)
	if err != nil {
		return err
	}
	if err := w.record([]byte{tagEnd}); err != nil {
		return err
	}
	return w.flush()
}

func appendSession(b []byte, s *session) []byte {
	b = be.AppendUint64(b, uint64(s.id))
	b = append(b, s.password[:]...)
	b = be.AppendUint32(b, uint32(s.timeout))
	b = be.AppendUint64(b, s.owner)
	b = be.AppendUint64(b, s.former)
	b = be.AppendUint64(b, s.request)
	o := s.outcome
	if o == nil {
		return append(b, 0)
	}
	b = be.AppendUint32(append(b, 1), uint32(o.Code))
	b = appendStat(appendText(b, o.Path), &o.Stat)
	b = binary.AppendUvarint(b, uint64(len(o.Ops)))
	for i := range o.Ops {
		one := &o.Ops[i]
		b = be.AppendUint32(append(b, byte(one.Kind)), uint32(one.Code))
		b = appendStat(appendText(b, one.Path), &one.Stat)
	}
	return b
}

func appendNode(b []byte, name string, n *node) []byte {
	b = append(appendText(b, name), byte(n.kind))
	b = appendACL(appendData(b, n.data), n.acl)
	for _, v := range []int64{n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime} {
		b = be.AppendUint64(b, uint64(v))
	}
	for _, v := range []int32{n.version, n.aversion, n.created} {
		b = be.AppendUint32(b, uint32(v))
	}
	return be.AppendUint64(b, uint64(n.owner))
}

// Restore replaces the state by the snapshot that r yields; on an error the state is as before. The error wraps ErrForeign, ErrSnapshotVersion or
// ErrCorrupt, or is that of r. A member that restores has skipped events: it closes its clients' connections.
func (s *State) Restore(r io.Reader) error {
	restored, err := Read(r)
	if err == nil {
		*s = *restored
	}
	return err
}

// Read makes the state of a snapshot; see Restore for the errors.
func Read(r io.Reader) (*State, error) {
	blocks := &blockReader{r: r}
	l := loader{State: &State{generation: 1}}
	err := blocks.header()
	for err == nil && !l.complete {
		var body []byte
		if body, err = blocks.record(); err == nil {
			if err = l.record(body); err != nil {
				err = fmt.Errorf("%w: record %d: %w", ErrCorrupt, l.records, err)
			}
		}
	}
	if err == nil {
		err = blocks.end()
	}
	if err != nil {
		return nil, fmt.Errorf("tree: read a snapshot at byte %d: %w", blocks.offset, err)
	}
	return l.State, nil
}

// loader puts a state together from the records of a snapshot.
type loader struct {
	*State
	records        int
	tag            uint8  // of the last record
	sessionsToCome uint64 // as the head said
	nodesToCome    uint64
	complete       bool
	branch         []*node  // the root and the nodes down to the last one
	names          []string // their names
	lastSession    int64
}

// follows says which tags may stand after which.
var follows = map[uint8][4]uint8{0: {tagHead}, tagHead: {tagSession, tagNode}, tagSession: {tagSession, tagNode}, tagNode: {tagNode, tagEnd}}

func (l *loader) record(body []byte) error {
	d := decoder{b: body}
	tag := d.u8("tag")
	ok := false
	for _, t := range follows[l.tag] {
		ok = ok || t == tag && tag != 0
	}
	if !ok {
		return fmt.Errorf("%w: tag %d after tag %d", errMalformed, tag, l.tag)
	}
	l.tag = tag
	l.records++
	var err error
	switch tag {
	case tagHead:
		l.head(&d)
	case tagSession:
		err = l.session(&d)
	case tagNode:
		err = l.node(&d)
	case tagEnd:
		l.complete = true
		if l.sessionsToCome != 0 || l.nodesToCome != 0 {
			return fmt.Errorf("%w: %d sessions and %d nodes are missing", errMalformed, l.sessionsToCome, l.nodesToCome)
		}
		for _, path := range seeds {
			if l.lookup(path) == nil {
				return fmt.Errorf("%w: %s is missing", errMalformed, path)
			}
		}
	}
	if derr := d.end("a record"); derr != nil {
		return derr
	}
	return err
}

func (l *loader) head(d *decoder) {
	if l.zxid = d.i64("zxid"); l.zxid < 0 {
		d.fail("negative zxid")
	}
	for _, f := range l.limits.fields() {
		*f = d.u64("limits")
	}
	if d.err == nil && !l.limits.sound() {
		d.fail("unsound limits")
	}
	l.sessionsToCome, l.nodesToCome = d.u64("number of sessions"), d.u64("number of nodes")
}

func (l *loader) session(d *decoder) error {
	s := &session{generation: 1, id: d.i64("session")}
	s.password = d.password()
	s.timeout, s.owner, s.former, s.request = d.i32("timeout"), d.u64("owner"), d.u64("former owner"), d.u64("request")
	switch d.u8("outcome") {
	case 0:
	case 1:
		s.outcome = d.outcome()
	default:
		d.fail("bad flag of an outcome")
	}
	switch {
	case d.err != nil:
		return d.err
	case s.id <= l.lastSession || s.timeout <= 0 || s.owner == 0 || s.owner == s.former || (s.request == 0) != (s.outcome == nil):
		return fmt.Errorf("%w: session %#x after %#x", errMalformed, s.id, l.lastSession)
	case l.sessionsToCome == 0:
		return fmt.Errorf("%w: session %#x is one too many", errMalformed, s.id)
	}
	l.sessionsToCome--
	l.lastSession = s.id
	l.sessions.set(1, s.id, s)
	return nil
}

func (d *decoder) outcome() *Outcome {
	o := &Outcome{Code: Code(d.i32("code")), Path: d.text("path"), Stat: d.stat("stat")}
	n := d.each(maxMulti, 74, "outcomes")
	for range n {
		o.Ops = append(o.Ops, OpOutcome{Kind(d.u8("kind")), Code(d.i32("code")), d.text("path"), d.stat("stat")})
	}
	return o
}

func (l *loader) node(d *decoder) error {
	depth := d.count(maxDepth, "depth")
	name := d.text("name")
	n := &node{generation: 1, kind: nodeKind(d.u8("kind")), data: clone(d.data("data")), acl: d.acl("access control list")}
	if len(n.acl) == 1 && n.acl[0] == openACL[0] {
		n.acl = openACL
	}
	n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime = d.i64("zxid"), d.i64("zxid"), d.i64("zxid"), d.i64("time"), d.i64("time")
	n.version, n.aversion, n.created, n.owner = d.i32("version"), d.i32("version"), d.i32("sequence"), d.i64("owner")
	if d.err != nil {
		return d.err
	}
	wrong := func(why string) error {
		return fmt.Errorf("%w: node %q at depth %d: %s", errMalformed, name, depth, why)
	}
	switch {
	case l.nodesToCome == 0:
		return wrong("one too many")
	case n.kind > kindContainer || (n.kind == kindEphemeral) != (n.owner != 0):
		return wrong("its kind and its owner do not fit")
	case n.czxid > l.zxid || n.mzxid > l.zxid || n.pzxid > l.zxid:
		return wrong("later than the snapshot")
	case depth == 0 && (l.root != nil || name != ""), depth > len(l.branch):
		return wrong("without a parent")
	case depth > 0 && !validName(name):
		return wrong("bad name")
	}
	l.nodesToCome--
	l.nodes++
	l.bytes += n.size(name)
	if depth == 0 {
		l.root, l.branch, l.names = n, []*node{n}, []string{""}
		return nil
	}
	if depth < len(l.branch) && l.names[depth] >= name {
		return wrong(fmt.Sprintf("after %q", l.names[depth]))
	}
	l.branch, l.names = append(l.branch[:depth], n), append(l.names[:depth], name)
	parent := l.branch[depth-1]
	if parent.kind == kindEphemeral {
		return wrong("below an ephemeral node")
	}
	parent.children.set(1, name, n)
	if n.kind != kindEphemeral {
		return nil
	}
	s, ok := l.sessions.get(n.owner)
	if !ok {
		return wrong(fmt.Sprintf("of session %#x, which does not exist", n.owner))
	}
	abs := ""
	for _, name := range l.names[1:] {
		abs += "/" + name
	}
	l.ephemerals++
	s.ephemerals.set(1, abs, struct{}{})
	return nil
}
