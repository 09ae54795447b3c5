package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
)

// call is a request that waits for its answer.
type call struct {
	want        core.Type // the answer's type; a queue query answer in any of its forms is V3
	correlation int64     // core.NoCorrelation when the request has none
	commit      bool
	answer      chan answer // capacity 1
	timer       *time.Timer // of wait
}

type answer struct {
	packet core.Packet // nil for a NULL_RESPONSE
	err    error
}

var callPool = sync.Pool{New: func() any { return &call{answer: make(chan answer, 1)} }}

// calls are the requests of a channel without an answer yet, oldest first. The
// broker answers each exactly once and in order, which is the only pairing of
// requests without a correlation id. A call that gave up stays, without a
// channel, so that its answer is not taken for the next one's.
//
// Guarded by the lock of its owner.
type calls struct {
	waiting []*call
}

// take removes and returns the call that an answer belongs to, nil if none.
func (q *calls) take(t core.Type, correlation int64) *call {
	if len(q.waiting) == 0 {
		return nil
	}
	k := q.waiting[0]
	if t != core.TypeException && (baseForm(t) != k.want || correlation != k.correlation) {
		return nil
	}
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return k
}

// baseForm maps the forms of a query answer to one.
func baseForm(t core.Type) core.Type {
	switch t {
	case core.TypeQueueQueryResponse, core.TypeQueueQueryResponseV2:
		return core.TypeQueueQueryResponseV3
	case core.TypeBindingQueryResponse, core.TypeBindingQueryResponseV2, core.TypeBindingQueryResponseV3, core.TypeBindingQueryResponseV4:
		return core.TypeBindingQueryResponseV5
	}
	return t
}

// fail answers all waiting calls with an error.
func (q *calls) fail(err func(*call) error) {
	for _, k := range q.waiting {
		k.finish(answer{err: err(k)})
	}
	q.waiting = nil
}

// finish gives the answer to whoever waits.
func (k *call) finish(a answer) { k.answer <- a }

// wait waits for the answer. When it does not come in time, or ctx ends, the
// call stays in the queue and gave is false.
func (k *call) wait(ctx context.Context, timeout time.Duration) (a answer, gave bool) {
	select { // the answer may be there already
	case a = <-k.answer:
		return a, true
	default:
	}
	if k.timer == nil {
		k.timer = time.NewTimer(timeout)
	} else {
		k.timer.Reset(timeout)
	}
	defer k.timer.Stop()
	select {
	case a = <-k.answer:
		return a, true
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}, false
	case <-k.timer.C:
		return answer{err: &core.Error{Code: core.ConnectionTimedOut, Message: fmt.Sprintf("no answer in %v", timeout)}}, false
	}
}
