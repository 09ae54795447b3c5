//go:build linux

package partition

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/saranga-mq/saranga/ha/quorum/curator"
	"github.com/saranga-mq/saranga/ha/quorum/zookeeper"
)

// The members' state as clients see it through ZooKeeper's protocol: a counter that is changed by compare-and-set (on the node's
// version), and a lock that is an ephemeral node. Each client's calls, with what it was told and when, are a history that must be that of
// one copy.

// An operation of the history. Those without an answer are there with no end, and may have been done or not.
type operation struct {
	op      string // read, set, lock, release
	session int    // of lock and release
	version int32  // that set expects
	value   int64  // that set writes
}

type answered struct {
	done    bool
	unknown bool
	version int32 // of read
	value   int64
}

// A copy is the state of the model.
type copy struct {
	version int32
	value   int64
	holder  int // session, 0: nobody
}

var one = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		lists := make([][]porcupine.Operation, 2)
		for _, o := range history {
			n := 0
			if op := o.Input.(operation).op; op == "lock" || op == "release" {
				n = 1
			}
			lists[n] = append(lists[n], o)
		}
		return slices.DeleteFunc(lists, func(l []porcupine.Operation) bool { return len(l) == 0 })
	},
	Init: func() any { return copy{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(copy), input.(operation), output.(answered)
		switch in.op {
		case "read":
			return out.version == s.version && out.value == s.value, s
		case "set":
			fits := s.version == in.version
			if !out.unknown && out.done != fits {
				return false, s
			}
			if fits {
				s.version, s.value = s.version+1, in.value
			}
		case "lock":
			free := s.holder == 0
			if !out.unknown && out.done != free {
				return false, s
			}
			if free {
				s.holder = in.session
			}
		case "release": // by the holder, or with its session
			if out.done && s.holder != in.session {
				return false, s
			}
			if s.holder == in.session {
				s.holder = 0
			}
		}
		return true, s
	},
}

// locks is the clients that use lock and counter.
type locks struct {
	w       *world
	began   time.Time
	stop    context.CancelFunc
	working sync.WaitGroup

	mu       sync.Mutex
	history  []porcupine.Operation
	sessions int
	unknown  int
}

const (
	counterNode = "/counter"
	lockNode    = "/lock"
	ephemeral   = curator.Mode(1)        // ZooKeeper's flag
	lockPause   = 150 * time.Millisecond // between two calls of a client
)

func (w *world) startLocks(ctx context.Context) *locks {
	l := &locks{w: w, began: time.Now()}
	ctx, l.stop = context.WithCancel(ctx)
	for i, c := range clientNames {
		l.working.Go(func() {
			random := rand.New(rand.NewPCG(w.plan.Seed, uint64(i)))
			for ctx.Err() == nil {
				l.session(ctx, i, c, random)
			}
		})
	}
	return l
}

// check ends the clients and judges what they saw.
func (l *locks) check(r *Result) string {
	l.stop()
	l.working.Wait()
	text := fmt.Sprintf("%d calls to the members in %d sessions, %d of them without an answer", len(l.history), l.sessions, l.unknown)
	switch porcupine.CheckOperationsTimeout(one, l.history, 20*time.Second) {
	case porcupine.Ok:
	case porcupine.Illegal:
		r.fail("lock and counter are not those of one copy: %s", text)
	default:
		text += ", too many to be judged"
	}
	return text
}

func (l *locks) now() int64 { return time.Since(l.began).Nanoseconds() }

// note adds an operation that has ended; without an answer it may happen at any time from its begin on.
func (l *locks) note(client int, in operation, begin int64, out answered) {
	end := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if out.unknown {
		end = math.MaxInt64
		l.unknown++
	}
	l.history = append(l.history, porcupine.Operation{ClientId: client, Input: in, Call: begin, Output: out, Return: end})
}

// pause waits a little, and tells whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// session works in one session until it is lost, or a call has no answer.
func (l *locks) session(ctx context.Context, client int, name string, random *rand.Rand) {
	var servers []string
	for _, i := range random.Perm(len(memberNames)) {
		servers = append(servers, l.w.zk[memberNames[i]].reach)
	}
	connecting, cancel := context.WithTimeout(ctx, 10*time.Second)
	s, err := zookeeper.Connect(connecting, zookeeper.Options{Servers: servers, Timeout: 6 * time.Second, ConnectionTimeout: 3 * time.Second, Dial: l.w.fabric.dialer(name)})
	cancel()
	if err != nil {
		pause(ctx, lockPause)
		return
	}
	l.mu.Lock()
	l.sessions++
	id := l.sessions
	l.mu.Unlock()
	c := lockClient{l: l, client: client, id: id, s: s, random: random}
	alive := l.now()
	for pause(ctx, lockPause) {
		begin := l.now()
		if !c.call(ctx) {
			break
		}
		alive = begin
	}
	// The session ends at some time from its last sign of life on, and whatever it holds with it.
	if c.held || c.maybe {
		l.note(client, operation{op: "release", session: id}, alive, answered{unknown: true})
	}
	s.Close()
}

// A lockClient is a session with the members.
type lockClient struct {
	l      *locks
	client int
	id     int
	s      *zookeeper.Session
	random *rand.Rand
	held   bool
	maybe  bool // a lock had no answer
}

// call makes one call and tells whether the session goes on.
func (c *lockClient) call(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	switch c.random.IntN(3) {
	case 0:
		_, _, ok := c.read(ctx)
		return ok
	case 1:
		return c.set(ctx)
	default:
		if c.held {
			return c.unlock(ctx)
		}
		return c.lock(ctx)
	}
}

// read reads the counter, after a sync as spec/ha.md 3.9 rule 9 asks for. A read without an answer is nothing.
func (c *lockClient) read(ctx context.Context) (value int64, version int32, ok bool) {
	begin := c.l.now()
	if err := c.s.Sync(ctx, counterNode); err != nil {
		return 0, 0, false
	}
	data, version, err := c.s.Get(ctx, counterNode)
	if errors.Is(err, curator.ErrNoNode) {
		_, err := c.s.Create(ctx, counterNode, []byte("0"), curator.Persistent)
		return 0, 0, err == nil || errors.Is(err, curator.ErrNodeExists)
	}
	if err != nil {
		return 0, 0, false
	}
	value, err = strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		value = -1 // nobody writes that
	}
	c.l.note(c.client, operation{op: "read"}, begin, answered{version: version, value: value})
	return value, version, true
}

func (c *lockClient) set(ctx context.Context) bool {
	_, version, ok := c.read(ctx)
	if !ok {
		return false
	}
	in := operation{op: "set", version: version, value: c.random.Int64N(math.MaxInt64-1) + 1}
	begin := c.l.now()
	err := c.s.Set(ctx, counterNode, strconv.AppendInt(nil, in.value, 10), version)
	out := answered{done: err == nil, unknown: err != nil && !errors.Is(err, curator.ErrBadVersion)}
	if errors.Is(err, curator.ErrNoNode) {
		return true
	}
	c.l.note(c.client, in, begin, out)
	return !out.unknown
}

func (c *lockClient) lock(ctx context.Context) bool {
	begin := c.l.now()
	_, err := c.s.Create(ctx, lockNode, nil, ephemeral)
	out := answered{done: err == nil, unknown: err != nil && !errors.Is(err, curator.ErrNodeExists)}
	c.held, c.maybe = out.done, out.unknown
	c.l.note(c.client, operation{op: "lock", session: c.id}, begin, out)
	return !out.unknown
}

// unlock deletes the node of this session.
func (c *lockClient) unlock(ctx context.Context) bool {
	begin := c.l.now()
	err := c.s.Delete(ctx, lockNode)
	out := answered{done: err == nil, unknown: err != nil}
	if errors.Is(err, curator.ErrNoNode) { // the session expired, though it does not know yet
		out = answered{unknown: true}
	}
	if out.done {
		c.held = false
		c.l.note(c.client, operation{op: "release", session: c.id}, begin, out)
	}
	return !out.unknown
}
