package transport

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config is what all acceptors of a broker share. The zero value of each field is a default.
type Config struct {
	Log hclog.Logger // nil: nothing is logged

	// LoginTimeout is the time from the detection of the protocol to Conn.Authenticated. Default 10 s, negative: no
	// bound.
	LoginTimeout time.Duration

	// MaxUnauthenticated bounds the connections that are not authenticated. Default 1000. When they are that many,
	// the oldest one that has had a second is closed for a new one.
	MaxUnauthenticated int

	// Budget bounds the big frames being read. Default 256 MiB.
	Budget *Budget

	// Outputs bounds what waits in all outputs. Default 256 MiB.
	Outputs *OutputAccount

	// StallTimeout is what connections begin with (Conn.SetStallTimeout). Default DefaultStallTimeout.
	StallTimeout time.Duration
}

// Remoting is what Artemis calls the remoting service: the acceptors of a broker and the protocols they serve.
type Remoting struct {
	cfg     Config
	log     *limitedLog
	waiting *waitingRoom
	ids     atomic.Uint32

	mu        sync.Mutex
	protocols map[string]Protocol
	acceptors []*Acceptor
}

// NewRemoting returns a service without acceptors.
func NewRemoting(cfg Config) *Remoting {
	if cfg.Log == nil {
		cfg.Log = hclog.NewNullLogger()
	}
	if cfg.LoginTimeout == 0 {
		cfg.LoginTimeout = 10 * time.Second
	}
	if cfg.MaxUnauthenticated <= 0 {
		cfg.MaxUnauthenticated = 1000
	}
	if cfg.Budget == nil {
		cfg.Budget = NewBudget(256 << 20)
	}
	if cfg.Outputs == nil {
		cfg.Outputs = NewOutputAccount(256 << 20)
	}
	if cfg.StallTimeout == 0 {
		cfg.StallTimeout = DefaultStallTimeout
	}
	r := &Remoting{
		cfg:       cfg,
		log:       newLimitedLog(cfg.Log),
		waiting:   newWaitingRoom(cfg.MaxUnauthenticated),
		protocols: make(map[string]Protocol),
	}
	r.ids.Store(rand.Uint32())
	return r
}

// Register makes p available to all acceptors that enable its name, for connections detected from now on.
func (r *Remoting) Register(p Protocol) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.protocols[p.Name()] = p
}

func (r *Remoting) protocol(name string) Protocol {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.protocols[name]
}

// Acceptors lists the acceptors, in the order of Listen.
func (r *Remoting) Acceptors() []*Acceptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.acceptors)
}

// Connections lists the connections of all acceptors.
func (r *Remoting) Connections() []*Conn {
	var all []*Conn
	for _, a := range r.Acceptors() {
		all = append(all, a.Connections()...)
	}
	return all
}

// Unauthenticated is the number of connections that have not been authenticated yet.
func (r *Remoting) Unauthenticated() int { return r.waiting.size() }

func (r *Remoting) add(a *Acceptor) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.acceptors {
		if x.opts.Name == a.opts.Name {
			return fmt.Errorf("transport: acceptor %s exists already", a.opts.Name)
		}
	}
	r.acceptors = append(r.acceptors, a)
	return nil
}

func (r *Remoting) remove(a *Acceptor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acceptors = slices.DeleteFunc(r.acceptors, func(x *Acceptor) bool { return x == a })
}
