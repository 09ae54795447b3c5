package server

import (
	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

func xid(x buf.Xid) broker.Xid {
	return broker.Xid{Format: x.FormatID, Global: x.Global, Branch: x.Branch}
}

func wireXid(x broker.Xid) buf.Xid {
	return buf.Xid{FormatID: x.Format, Global: x.Global, Branch: x.Branch}
}

// xa handles the packets of distributed transactions (core-protocol §6.8); false: p is none.
func (ch *channel) xa(w *broker.Work, f *core.Frame, p core.Packet) bool {
	s := ch.sess
	ok := ch.answerFor(answerXA, f, 0)
	switch p := p.(type) {
	case *core.XA:
		ch.xaBranch(w, p, ok)
	case *core.XAInDoubtXids:
		r := &core.XAInDoubtXidsResponse{}
		for _, x := range ch.s.b.XAInDoubt() {
			r.Xids = append(r.Xids, wireXid(x))
		}
		a := ch.answerFor(answerNull, f, core.NoCorrelation)
		size := a.Size
		a.Call = func(w *broker.Work) {
			ch.confirm(w, size)
			ch.send(w, r)
		}
		s.DoneStored(w, a)
	case *core.XASetTimeout:
		s.SetXATimeout(int64(p.Seconds))
		ch.reply(w, f, func() (core.Packet, error) { return &core.XASetTimeoutResponse{OK: true}, nil })
	case *core.XAGetTimeout:
		ch.reply(w, f, func() (core.Packet, error) { return &core.XAGetTimeoutResponse{Seconds: int32(s.XATimeout())}, nil })
	default:
		return false
	}
	return true
}

func (ch *channel) xaBranch(w *broker.Work, p *core.XA, ok broker.Answer) {
	s := ch.sess
	x := xid(p.Xid)
	var err *broker.XAError
	switch p.Op {
	case core.TypeXAStart:
		err = s.XAStart(w, x)
	case core.TypeXAJoin:
		err = s.XAJoin(x)
	case core.TypeXAResume:
		err = s.XAResume(x)
	case core.TypeXASuspend:
		err = s.XASuspend()
	case core.TypeXAEnd:
		err = s.XAEnd(x)
	case core.TypeXAForget:
		err = s.XAForget(w, x)
	case core.TypeXAFailed:
		s.XAFailed(w, x)
		if ok.Size > 0 {
			ok.Kind = answerConfirm
			s.Done(w, ok, nil)
		}
		return
	case core.TypeXAPrepare:
		if err = s.XAPrepare(w, x, ok); err == nil {
			return
		}
	case core.TypeXACommit:
		if err = s.XACommit(w, x, p.Flag, ok); err == nil {
			return
		}
	case core.TypeXARollback:
		if ch.withoutStreams(w, func() { err = s.XARollback(w, x, ok) }); err == nil {
			return
		}
	}
	if err != nil {
		ok.Call = func(w *broker.Work) {
			ch.confirm(w, ok.Size)
			r := &core.XAResponse{Error: true, Code: err.Code}
			if err.Text != "" {
				r.Message = buf.Of(err.Text)
			}
			ch.send(w, r)
		}
		s.DoneStored(w, ok)
		return
	}
	s.Done(w, ok, nil)
}
