package core

import "github.com/saranga-mq/saranga/wire/buf"

// XA is a request about a transaction branch. Op is its packet type:
// TypeXAStart, TypeXAEnd, TypeXACommit, TypeXAPrepare, TypeXARollback,
// TypeXAJoin, TypeXASuspend (which has no Xid), TypeXAResume, TypeXAForget or
// TypeXAFailed (which is not answered when it succeeds).
type XA struct {
	Op   Type
	Xid  buf.Xid
	Flag bool // End: failed; Commit: one phase; else not sent
}

func (p *XA) Type() Type { return p.Op }
func (p *XA) decode(r *buf.Reader, _ Version) {
	if p.Op == TypeXASuspend {
		return
	}
	p.Xid = r.Xid()
	if p.Op == TypeXAEnd || p.Op == TypeXACommit {
		p.Flag = r.Bool()
	}
}
func (p *XA) encode(dst []byte, _ Version) []byte {
	if p.Op == TypeXASuspend {
		return dst
	}
	dst = buf.AppendXid(dst, p.Xid)
	if p.Op == TypeXAEnd || p.Op == TypeXACommit {
		dst = buf.AppendBool(dst, p.Flag)
	}
	return dst
}

// XA response codes (javax.transaction.xa.XAException).
const (
	XAOK                 int32 = 0
	XAHeuristicCommit    int32 = 7
	XAHeuristicRollback  int32 = 6
	XARollbackTimeout    int32 = 106
	XAErrorNoTransaction int32 = -4
	XAErrorProtocol      int32 = -6
	XAErrorResource      int32 = -7
	XAErrorDuplicate     int32 = -8
)

// XAResponse answers an XA request, also when it failed.
type XAResponse struct {
	Error         bool
	Code          int32
	Message       buf.Null[string] // STR
	CorrelationID buf.Null[int64]  // opt; no request has one so far
}

func (*XAResponse) Type() Type { return TypeXAResponse }
func (p *XAResponse) decode(r *buf.Reader, _ Version) {
	p.Error = r.Bool()
	p.Code = r.Int32()
	p.Message = r.NSTR()
	p.CorrelationID = optCorrelation(r)
}
func (p *XAResponse) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendBool(dst, p.Error)
	dst = buf.AppendInt32(dst, p.Code)
	dst = buf.AppendNSTR(dst, p.Message)
	return appendOptCorrelation(dst, p.CorrelationID)
}

// XAInDoubtXids asks for the branches that are prepared or were completed
// heuristically.
type XAInDoubtXids struct{}

func (*XAInDoubtXids) Type() Type                          { return TypeXAInDoubtXids }
func (*XAInDoubtXids) decode(*buf.Reader, Version)         {}
func (*XAInDoubtXids) encode(dst []byte, _ Version) []byte { return dst }

// XAInDoubtXidsResponse answers XAInDoubtXids.
type XAInDoubtXidsResponse struct {
	Xids []buf.Xid
}

func (*XAInDoubtXidsResponse) Type() Type { return TypeXAInDoubtXidsResponse }
func (p *XAInDoubtXidsResponse) decode(r *buf.Reader, _ Version) {
	n := r.Count(12)
	for i := 0; i < n && r.Err() == nil; i++ {
		p.Xids = append(p.Xids, r.Xid())
	}
}
func (p *XAInDoubtXidsResponse) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt32(dst, int32(len(p.Xids)))
	for _, x := range p.Xids {
		dst = buf.AppendXid(dst, x)
	}
	return dst
}

// XASetTimeout sets the session's transaction timeout.
type XASetTimeout struct {
	Seconds int32
}

func (*XASetTimeout) Type() Type                            { return TypeXASetTimeout }
func (p *XASetTimeout) decode(r *buf.Reader, _ Version)     { p.Seconds = r.Int32() }
func (p *XASetTimeout) encode(dst []byte, _ Version) []byte { return buf.AppendInt32(dst, p.Seconds) }

// XASetTimeoutResponse answers XASetTimeout.
type XASetTimeoutResponse struct {
	OK bool
}

func (*XASetTimeoutResponse) Type() Type                        { return TypeXASetTimeoutResponse }
func (p *XASetTimeoutResponse) decode(r *buf.Reader, _ Version) { p.OK = r.Bool() }
func (p *XASetTimeoutResponse) encode(dst []byte, _ Version) []byte {
	return buf.AppendBool(dst, p.OK)
}

// XAGetTimeout asks for the session's transaction timeout.
type XAGetTimeout struct{}

func (*XAGetTimeout) Type() Type                          { return TypeXAGetTimeout }
func (*XAGetTimeout) decode(*buf.Reader, Version)         {}
func (*XAGetTimeout) encode(dst []byte, _ Version) []byte { return dst }

// XAGetTimeoutResponse answers XAGetTimeout.
type XAGetTimeoutResponse struct {
	Seconds int32
}

func (*XAGetTimeoutResponse) Type() Type                        { return TypeXAGetTimeoutResponse }
func (p *XAGetTimeoutResponse) decode(r *buf.Reader, _ Version) { p.Seconds = r.Int32() }
func (p *XAGetTimeoutResponse) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt32(dst, p.Seconds)
}
