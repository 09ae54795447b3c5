package ha

import (
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// RecheckAfter is the pause after which a node whose lock has no lease looks whether it still holds it before it writes.
const RecheckAfter = time.Second

// A Recheck is the rule of the shared store and of the file lock manager: lock and state are verified before each batch that
// is written after a pause of more than RecheckAfter, for the process may have been frozen meanwhile and another node may have
// taken over. The first failure is final. Methods may be called from any goroutine, but the check runs on one at a time if
// only one calls Verify, as the journal's flusher does.
//
// The zero value checks at once.
type Recheck struct {
	last   atomic.Int64 // Instant of the last call that passed
	failed atomic.Pointer[error]
}

// Verify returns nil at once if the last call was a short time ago, else what check says.
func (r *Recheck) Verify(now quorum.Instant, check func() error) error {
	if err := r.failed.Load(); err != nil {
		return *err
	}
	last := quorum.Instant(r.last.Load())
	if last == 0 || now.Sub(last) > RecheckAfter {
		if err := check(); err != nil {
			r.failed.CompareAndSwap(nil, &err)
			return *r.failed.Load()
		}
	}
	r.last.Store(int64(now))
	return nil
}
