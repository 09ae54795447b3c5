package security

import (
	"container/list"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// The cluster user and its password in a configuration that does not set them. The pair never gets in.
const (
	DefaultClusterUser     = "ACTIVEMQ.CLUSTER.ADMIN.USER"
	DefaultClusterPassword = "CHANGE ME!!"
)

// ErrTooManyFailures is the cause of a login that failed unchecked, because too many from its address wait for their
// turn after failed ones.
var ErrTooManyFailures = errors.New("too many failed logins from this address")

// AuthenticatorOptions configure [NewAuthenticator].
type AuthenticatorOptions struct {
	Disabled        bool   // security-enabled=false: everybody gets in under the name given
	ClusterUser     string // "" : the default
	ClusterPassword string

	Realm            Realm            // of everybody
	CertificateRealm Realm            // of clients with a certificate; nil: Realm
	Domains          map[string]Realm // by the securityDomain of an acceptor

	CacheSize    int           // authentication-cache-size: logins that are remembered; 0: none
	Invalidation time.Duration // security-invalidation-interval: how long they are; 0: not at all
	SlowDown     SlowDown

	Log hclog.Logger // nil: none
}

// Authenticator decides who a client is. Answers, refusals too, are remembered for the invalidation interval. It is
// safe for concurrent use.
type Authenticator struct {
	options AuthenticatorOptions
	cache   loginCache

	slow     sync.Mutex // guards slowDown
	slowDown SlowDown

	succeeded, failed atomic.Int64
	generation        atomic.Int64 // counts calls of Clear
}

// NewAuthenticator makes an authenticator.
func NewAuthenticator(o AuthenticatorOptions) *Authenticator {
	o.ClusterUser = orDefault(o.ClusterUser, DefaultClusterUser)
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return &Authenticator{options: o, slowDown: o.SlowDown, cache: loginCache{size: o.CacheSize, age: o.Invalidation}}
}

// Authenticate checks credentials. It may block: on files, on a directory service, and to slow down an address that
// failed before; ctx ends the wait. A refusal is an *[AuthenticationError]; it has been logged.
//
// A session that lives longer than the invalidation interval has a [Login], as a user may have lost roles or be gone.
func (a *Authenticator) Authenticate(ctx context.Context, c Credentials) (Principal, error) {
	if a.options.Disabled {
		return Principal{User: c.User, all: true}, nil
	}
	key := loginKey(c)
	if p, err, ok := a.cache.get(key, time.Now()); ok && err == nil {
		a.succeeded.Add(1)
		return p, nil
	}
	p, err := a.slowly(ctx, c, func() (Principal, error) { return a.login(ctx, c, key) })
	if err == nil {
		a.succeeded.Add(1)
		return p, nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return Principal{}, err
	}
	return Principal{}, a.refuse(c, err)
}

// refuse counts and logs a refusal.
func (a *Authenticator) refuse(c Credentials, err error) *AuthenticationError {
	a.failed.Add(1)
	refusal := &AuthenticationError{User: c.User, Remote: c.Remote, SubjectDN: c.SubjectDN(), Cluster: c.User == a.options.ClusterUser, Cause: err}
	a.options.Log.Warn("AMQ222216: Security problem while authenticating: "+refusal.Error(), "cause", err)
	return refusal
}

// slowly runs a check after the wait that its source address has earned.
func (a *Authenticator) slowly(ctx context.Context, c Credentials, check func() (Principal, error)) (Principal, error) {
	remote, err := netip.ParseAddrPort(c.Remote)
	if err != nil { // in-VM, or a peer that has no address
		return check()
	}
	address := remote.Addr()
	a.slow.Lock()
	wait, refused := a.slowDown.Begin(address, time.Now())
	a.slow.Unlock()
	if refused {
		return Principal{}, ErrTooManyFailures
	}
	success := false
	defer func() {
		a.slow.Lock()
		a.slowDown.End(address, success, time.Now())
		a.slow.Unlock()
	}()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return Principal{}, ctx.Err()
		}
	}
	p, err := check()
	success = err == nil
	return p, err
}

func (a *Authenticator) login(ctx context.Context, c Credentials, key [sha256.Size]byte) (Principal, error) {
	o := &a.options
	if c.User == o.ClusterUser {
		return a.clusterLogin(c)
	}
	if p, err, ok := a.cache.get(key, time.Now()); ok {
		return p, err
	}
	realm := o.Realm
	switch {
	case c.Domain != "":
		realm = o.Domains[c.Domain]
	case len(c.PeerCertificates) > 0 && o.CertificateRealm != nil:
		realm = o.CertificateRealm
	}
	if realm == nil {
		return Principal{}, errors.New("no realm " + c.Domain)
	}
	p, err := realm.Login(ctx, c)
	if err == nil || !errors.As(err, new(unavailable)) && ctx.Err() == nil {
		a.cache.put(key, p, err, time.Now())
	}
	return p, err
}

func (a *Authenticator) clusterLogin(c Credentials) (Principal, error) {
	o := &a.options
	switch {
	case o.ClusterUser == DefaultClusterUser && o.ClusterPassword == DefaultClusterPassword:
		return Principal{}, errors.New("cluster-user and cluster-password are the default ones")
	case o.ClusterPassword == "" || subtle.ConstantTimeCompare([]byte(c.Password), []byte(o.ClusterPassword)) != 1:
		return Principal{}, errors.New("cluster-password does not match")
	}
	return Internal(c.User), nil
}

// Clear forgets all logins, those of sessions too: each is checked again before its next operation.
func (a *Authenticator) Clear() {
	a.cache.clear()
	a.generation.Add(1)
}

// CacheLen is the number of remembered logins.
func (a *Authenticator) CacheLen() int { return a.cache.len() }

// Counts are the logins that succeeded and failed.
func (a *Authenticator) Counts() (succeeded, failed int64) {
	return a.succeeded.Load(), a.failed.Load()
}

// loginKey identifies credentials without keeping them.
func loginKey(c Credentials) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{c.Domain, c.User, c.Password} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	if len(c.PeerCertificates) > 0 {
		h.Write(c.PeerCertificates[0].Raw)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// loginCache remembers the outcome of logins for a time, the latest size of them.
type loginCache struct {
	size int
	age  time.Duration

	mu     sync.Mutex
	logins map[[sha256.Size]byte]*list.Element
	order  list.List // of *rememberedLogin, the oldest in front
}

type rememberedLogin struct {
	key       [sha256.Size]byte
	principal Principal
	err       error
	at        time.Time
}

func (c *loginCache) get(key [sha256.Size]byte, now time.Time) (Principal, error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil && now.Sub(e.Value.(*rememberedLogin).at) >= c.age; e = c.order.Front() {
		c.remove(e)
	}
	e := c.logins[key]
	if e == nil {
		return Principal{}, nil, false
	}
	login := e.Value.(*rememberedLogin)
	return login.principal, login.err, true
}

// writtenAt is when the answer for key was remembered.
func (c *loginCache) writtenAt(key [sha256.Size]byte, now time.Time) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.logins[key]
	if e == nil {
		return time.Time{}, false
	}
	at := e.Value.(*rememberedLogin).at
	return at, now.Sub(at) < c.age
}

func (c *loginCache) put(key [sha256.Size]byte, p Principal, err error, now time.Time) {
	if c.size <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logins == nil {
		c.logins = make(map[[sha256.Size]byte]*list.Element)
	}
	if e := c.logins[key]; e != nil {
		c.remove(e)
	}
	for len(c.logins) >= c.size {
		c.remove(c.order.Front())
	}
	c.logins[key] = c.order.PushBack(&rememberedLogin{key, p, err, now})
}

func (c *loginCache) remove(e *list.Element) {
	c.order.Remove(e)
	delete(c.logins, e.Value.(*rememberedLogin).key)
}

func (c *loginCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.logins)
	c.order.Init()
}

func (c *loginCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.logins)
}
