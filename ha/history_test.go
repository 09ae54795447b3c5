package ha

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// history is what a run of two nodes has shown, and the checker of the promise: never two nodes that both acknowledge, and
// what was acknowledged is on the node that is active next.
type history struct {
	acked    []int // ids, in the order of their acknowledgements
	sequence int64 // activation sequence of the last acknowledgement
	node     int   // that gave it
	opened   int
	broken   error // the first violation
}

var (
	errTwoActive = errors.New("two nodes acknowledge at once")
	errOldActive = errors.New("a node acknowledges after a later activation did")
	errLostWrite = errors.New("an acknowledged write is missing")
	errNotHealed = errors.New("not healed")
	errExit      = errors.New("a node ended without being asked")
	errContract  = errors.New("an order that may not stand here")
	errNoService = errors.New("nobody serves")
)

func (h *history) fail(err error, format string, args ...any) {
	if h.broken == nil {
		h.broken = fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...))
	}
}

// acknowledge is an answer that leaves a node whose activation has that sequence. rival: the other node could do the same at
// this instant.
func (h *history) acknowledge(at quorum.Instant, node int, sequence int64, id int, rival bool) {
	if rival {
		h.fail(errTwoActive, "write %d at node %d, %v", id, node, at)
	}
	if sequence < h.sequence || sequence == h.sequence && node != h.node && len(h.acked) > 0 {
		h.fail(errOldActive, "write %d at node %d, %v: sequence %d after %d", id, node, at, sequence, h.sequence)
	}
	h.sequence, h.node = sequence, node
	h.acked = append(h.acked, id)
}

// open is a node that begins to serve with these writes.
func (h *history) open(at quorum.Instant, node int, writes []int) {
	h.opened++
	have := make(map[int]bool, len(writes))
	for _, id := range writes {
		have[id] = true
	}
	if i := slices.IndexFunc(h.acked, func(id int) bool { return !have[id] }); i >= 0 {
		h.fail(errLostWrite, "write %d is not on node %d, active at %v", h.acked[i], node, at)
	}
}

// The checker has to fail, too.
func TestCheckerFindsBadHistories(t *testing.T) {
	for name, c := range map[string]struct {
		want error
		run  func(*history)
	}{
		"good: failover with all writes": {nil, func(h *history) {
			h.open(0, 0, nil)
			h.acknowledge(1, 0, 1, 100, false)
			h.acknowledge(2, 0, 1, 101, false)
			h.open(3, 1, []int{100, 101, 102})
			h.acknowledge(4, 1, 2, 103, false)
		}},
		"both could acknowledge": {errTwoActive, func(h *history) {
			h.acknowledge(1, 0, 1, 100, true)
		}},
		"the old node goes on": {errOldActive, func(h *history) {
			h.acknowledge(1, 0, 1, 100, false)
			h.acknowledge(2, 1, 2, 101, false)
			h.acknowledge(3, 0, 1, 102, false)
		}},
		"two nodes with one sequence": {errOldActive, func(h *history) {
			h.acknowledge(1, 0, 1, 100, false)
			h.acknowledge(2, 1, 1, 101, false)
		}},
		"a write is gone after failover": {errLostWrite, func(h *history) {
			h.acknowledge(1, 0, 1, 100, false)
			h.acknowledge(2, 0, 1, 101, false)
			h.open(3, 1, []int{100})
		}},
		"a write is gone after failback": {errLostWrite, func(h *history) {
			h.acknowledge(1, 0, 1, 100, false)
			h.open(2, 1, []int{100})
			h.acknowledge(3, 1, 2, 101, false)
			h.open(4, 0, []int{100})
		}},
	} {
		h := &history{}
		c.run(h)
		if !errors.Is(h.broken, c.want) {
			t.Errorf("%s: %v, want %v", name, h.broken, c.want)
		}
	}
}
