package broker

import (
	"container/heap"

	"github.com/saranga-mq/saranga/broker/timers"
)

// schedule holds a queue's references that wait for a time: scheduled messages and delayed redeliveries.
type schedule struct {
	refs  []scheduledRef // heap by time, then arrival
	seq   uint64
	timer timers.Timer
	due   int64 // what the timer is set to, 0 for not set
}

type scheduledRef struct {
	Ref
	at  int64
	seq uint64
}

func (s *schedule) len() int { return len(s.refs) }

func (s *schedule) Len() int      { return len(s.refs) }
func (s *schedule) Swap(i, j int) { s.refs[i], s.refs[j] = s.refs[j], s.refs[i] }
func (s *schedule) Push(x any)    { s.refs = append(s.refs, x.(scheduledRef)) }
func (s *schedule) Less(i, j int) bool {
	a, b := &s.refs[i], &s.refs[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (s *schedule) Pop() any {
	r := s.refs[len(s.refs)-1]
	s.refs[len(s.refs)-1] = scheduledRef{}
	s.refs = s.refs[:len(s.refs)-1]
	return r
}

// holdUntil keeps a ref back. Called with the queue's lock held.
func (q *Queue) holdUntil(r Ref, at int64) {
	s := &q.scheduled
	s.seq++
	heap.Push(s, scheduledRef{r, at, s.seq})
	q.armSchedule()
}

func (q *Queue) armSchedule() {
	s := &q.scheduled
	if len(s.refs) == 0 {
		return
	}
	if at := s.refs[0].at; s.due == 0 || at < s.due {
		s.due = at
		q.b.wheel.Set(&s.timer, at, q.releaseDue)
	}
}

// releaseDue runs on the timer: what is due moves to the head of the queue in its own order.
func (q *Queue) releaseDue() {
	if q.b.stopping.Load() {
		return
	}
	w := q.b.NewWork()
	q.mu.Lock()
	q.scheduled.due = 0
	var due []scheduledRef
	for q.scheduled.Len() > 0 && q.scheduled.refs[0].at <= w.Now {
		due = append(due, heap.Pop(&q.scheduled).(scheduledRef))
	}
	q.putFirst(w, due)
	q.armSchedule()
	q.mu.Unlock()
	q.b.executor(func() { w.Flush() })
}

// putFirst puts refs in front of the others in their own order, and delivers.
func (q *Queue) putFirst(w *Work, refs []scheduledRef) {
	if len(refs) == 0 {
		return
	}
	if q.lastValues != nil {
		refs = q.lastOf(w, refs)
	}
	for i := len(refs) - 1; i >= 0; i-- {
		r := refs[i].Ref
		r.flags = 0
		q.notice(r.Msg)
		p := r.Msg.Priority()
		q.levels[p].pushFront(r)
		q.occupied |= 1 << p
		q.resident++
	}
	if q.cfg.RingSize >= 0 {
		q.trimRing(w, len(refs))
	}
	q.deliver(w)
}

// lastOf applies the rule of a last-value queue to refs whose time has come, in this order: one that arrives replaces the
// value that is there, one that was delivered before and comes back gives way to it.
func (q *Queue) lastOf(w *Work, refs []scheduledRef) []scheduledRef {
	current := func(r *scheduledRef) (key string, last, other bool) {
		key, last = q.lastValueKey(r.Msg)
		id, known := q.lastValues[key]
		return key, last, last && known && id != r.Msg.ID()
	}
	for i := range refs {
		switch key, last, other := current(&refs[i]); {
		case !other && last:
			q.lastValues[key] = refs[i].Msg.ID()
		case other && refs[i].Count == 0:
			q.replaceLastValue(w, refs[i].Msg)
		}
	}
	kept := refs[:0]
	for i := range refs {
		if _, _, other := current(&refs[i]); other {
			q.drop(w, refs[i].Ref, reasonReplaced)
			continue
		}
		kept = append(kept, refs[i])
	}
	return kept
}

// takeScheduled removes the scheduled refs that match.
func (q *Queue) takeScheduled(match func(*scheduledRef) bool) []scheduledRef {
	var out, kept []scheduledRef
	for q.scheduled.Len() > 0 {
		if r := heap.Pop(&q.scheduled).(scheduledRef); match(&r) {
			out = append(out, r)
		} else {
			kept = append(kept, r)
		}
	}
	q.scheduled.refs = kept // in order, so still a heap
	return out
}

// DeliverScheduled releases scheduled messages before their time; it returns how many.
func (q *Queue) DeliverScheduled(w *Work, match func(*Ref) bool) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	refs := q.takeScheduled(func(r *scheduledRef) bool { return match(&r.Ref) })
	q.putFirst(w, refs)
	return len(refs)
}
