package security

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// retryUnavailable is how long a check that failed for a reason other than the credentials is not tried again.
const retryUnavailable = time.Second

// Login is the login of a session, whose user may lose roles, or be gone, while the session lives. What was found out
// counts for the invalidation interval, or until [Authenticator.Clear]; then the credentials are checked again. It is
// safe for concurrent use.
type Login struct {
	a           *Authenticator
	credentials Credentials

	renewing sync.Mutex
	state    atomic.Pointer[loginState]
}

// loginState is the outcome of a check. It does not change but for being over.
type loginState struct {
	principal  Principal
	err        error
	generation int64 // of the authenticator before the check
	over       atomic.Bool
}

// lasts lets the outcome count for d. A timer, which nobody needs to stop, spares every message a look at the clock.
func (s *loginState) lasts(d time.Duration) {
	if d <= 0 {
		s.over.Store(true)
	} else {
		time.AfterFunc(d, func() { s.over.Store(true) })
	}
}

// Watch makes the login of a session from what Authenticate has just answered. It is nil for principals that cannot
// change: the cluster user, and everybody with security-enabled=false.
func (a *Authenticator) Watch(c Credentials, who Principal) *Login {
	if who.all {
		return nil
	}
	l := &Login{a: a, credentials: c}
	s := &loginState{principal: who, generation: a.generation.Load()}
	s.lasts(a.remembered(c))
	l.state.Store(s)
	return l
}

// Fresh says that Principal need not check the credentials again: it neither blocks nor can its answer have changed. It
// takes no time.
func (l *Login) Fresh() bool { return l.fresh(l.state.Load()) }

func (l *Login) fresh(s *loginState) bool {
	return !s.over.Load() && s.generation == l.a.generation.Load()
}

// Principal is who the session works for now. Unless the login is [Login.Fresh] it checks the credentials, which may block
// as a login does, but does not wait for failed logins from the same address. An *[AuthenticationError] says that they
// are no longer good; a new one, which changed tells, has been logged. changed is true for a check that was made now.
func (l *Login) Principal(ctx context.Context) (who Principal, changed bool, err error) {
	if s := l.state.Load(); l.fresh(s) {
		return s.principal, false, s.err
	}
	l.renewing.Lock()
	defer l.renewing.Unlock()
	if s := l.state.Load(); l.fresh(s) {
		return s.principal, false, s.err
	}
	a := l.a
	s := &loginState{generation: a.generation.Load()}
	s.principal, s.err = a.login(ctx, l.credentials, loginKey(l.credentials))
	d := a.remembered(l.credentials)
	if s.err != nil {
		if errors.As(s.err, new(unavailable)) || ctx.Err() != nil {
			d = min(d, retryUnavailable)
		}
		s.err = a.refuse(l.credentials, s.err)
	}
	s.lasts(d)
	l.state.Store(s)
	return s.principal, true, s.err
}

// remembered is how long the answer for credentials counts yet: from when it was found out, which is now unless it comes
// out of the cache.
func (a *Authenticator) remembered(c Credentials) time.Duration {
	now := time.Now()
	if at, ok := a.cache.writtenAt(loginKey(c), now); ok {
		return a.options.Invalidation - now.Sub(at)
	}
	return a.options.Invalidation
}
