package raftfsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// The RPC of members, after a hello for serviceRPC. Both ends send frames, integers big-endian:
//
//	 0  length  uint32  of what follows, 9 to maxFrame
//	 4  kind    uint8
//	 5  id      uint64  of the request; the reply has the same
//	13  body            by kind
//
//	1 propose  a command of package tree; the leader stamps its time        reply: no body, sent when it is committed
//	2 report   n × {int64 session, uint64 owner stamp, uint32 ms}: clients,    reply: uint64 term, int64 zxid applied, uint64 last index,
//	           and when each was last heard of                                        uint32 ms since a majority confirmed that it leads
//	3 status   –                                                            reply: Status as JSON
//	4 add      name id, name address, name how: as a non-voter              reply: no body
//	           how is "new" for a member that has nothing yet, "again" for one
//	           that was taken in before and goes on with the same folder
//	5 promote  name id: to a voter                                          reply: no body
//	6 remove   name id                                                      reply: no body
//	7 transfer –: lead no more                                              reply: no body
//	0 reply    uint8 code; if it is 0 the body above, else a text
//
// A name is a uint8 length and the bytes. Requests of one connection are answered in any order. An odd frame ends the connection.
type frame struct {
	Kind kind
	ID   uint64
	Body []byte
}

type kind uint8

const (
	kindReply    kind = 0
	kindPropose  kind = 1
	kindReport   kind = 2
	kindStatus   kind = 3
	kindAdd      kind = 4
	kindPromote  kind = 5
	kindRemove   kind = 6
	kindTransfer kind = 7
	kinds             = 8
)

// How a member asks to be taken in.
const (
	howNew   = "new"
	howAgain = "again"
)

// replyCode says how a request ended.
type replyCode uint8

const (
	replyOK        replyCode = 0
	replyNotLeader replyCode = 1 // nothing was done
	replyUnknown   replyCode = 2 // it may have been done, or be done yet
	replyRefused   replyCode = 3 // nothing was done, and asking again does not help
	replyBusy      replyCode = 4 // nothing was done for lack of room
	replyRemoved   replyCode = 5 // who asks is no member any more
)

const (
	frameHead  = 9
	maxFrame   = frameHead + tree.MaxCommand
	maxSmall   = 4 << 20 // bytes of the body of any frame but a proposal
	reportSize = 20      // bytes of one session in a report
	maxReports = maxSmall / reportSize
)

var errFrame = errors.New("malformed frame")

func (f frame) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(frameHead+len(f.Body)))
	b = append(b, byte(f.Kind))
	b = binary.BigEndian.AppendUint64(b, f.ID)
	return append(b, f.Body...)
}

// readFrame reads one frame. The memory it takes grows with what has really come.
func readFrame(r io.Reader) (f frame, err error) {
	var head [4 + frameHead]byte
	if _, err = io.ReadFull(r, head[:4]); err != nil {
		return f, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < frameHead || n > maxFrame {
		return f, fmt.Errorf("%w: length %d", errFrame, n)
	}
	if _, err = io.ReadFull(r, head[4:]); err != nil {
		return f, noEOF(err)
	}
	f.Kind, f.ID, n = kind(head[4]), binary.BigEndian.Uint64(head[5:]), n-frameHead
	switch {
	case f.Kind >= kinds:
		return f, fmt.Errorf("%w: kind %d", errFrame, f.Kind)
	case f.Kind != kindPropose && n > maxSmall:
		return f, fmt.Errorf("%w: %d bytes of kind %d", errFrame, n, f.Kind)
	}
	const step = 64 << 10
	for len(f.Body) < int(n) {
		from := len(f.Body)
		f.Body = append(f.Body, make([]byte, min(step, int(n)-from))...)
		if _, err = io.ReadFull(r, f.Body[from:]); err != nil {
			return f, noEOF(err)
		}
	}
	return f, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// touch is one session in a report.
type touch struct {
	Session int64
	Owner   uint64
	Idle    uint32 // ms
}

func appendReport(b []byte, touches []touch) []byte {
	for _, t := range touches {
		b = binary.BigEndian.AppendUint64(b, uint64(t.Session))
		b = binary.BigEndian.AppendUint64(b, t.Owner)
		b = binary.BigEndian.AppendUint32(b, t.Idle)
	}
	return b
}

func decodeReport(b []byte) ([]touch, error) {
	if len(b)%reportSize != 0 || len(b)/reportSize > maxReports {
		return nil, fmt.Errorf("%w: report of %d bytes", errFrame, len(b))
	}
	out := make([]touch, 0, len(b)/reportSize)
	for ; len(b) > 0; b = b[reportSize:] {
		out = append(out, touch{
			int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:]),
		})
	}
	return out, nil
}

// standing is the leader's answer to a report.
type standing struct {
	Term uint64
	Zxid int64  // of the last command it has applied
	Last uint64 // index of its last entry
	Age  uint32 // ms since a majority is known to have taken it for the leader
}

const standingSize = 28

func (s standing) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, s.Term)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Zxid))
	b = binary.BigEndian.AppendUint64(b, s.Last)
	return binary.BigEndian.AppendUint32(b, s.Age)
}

func decodeStanding(b []byte) (s standing, err error) {
	if len(b) != standingSize {
		return s, fmt.Errorf("%w: answer to a report of %d bytes", errFrame, len(b))
	}
	s.Term, s.Zxid = binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:]))
	s.Last, s.Age = binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint32(b[24:])
	return s, nil
}

// decodeNames reads n names that fill b.
func decodeNames(b []byte, n int) ([]string, error) {
	out := make([]string, 0, n)
	for range n {
		if len(b) == 0 || len(b) < 1+int(b[0]) {
			return nil, fmt.Errorf("%w: a name is cut off", errFrame)
		}
		out = append(out, string(b[1:1+int(b[0])]))
		b = b[1+int(b[0]):]
	}
	if len(b) != 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errFrame, len(b))
	}
	return out, nil
}

// decodeReply splits the body of a reply.
func decodeReply(b []byte) (replyCode, []byte, error) {
	if len(b) == 0 {
		return 0, nil, fmt.Errorf("%w: empty reply", errFrame)
	}
	return replyCode(b[0]), b[1:], nil
}
