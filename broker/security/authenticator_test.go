package security

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// countingRealm lets in whoever has the password "right", and counts.
type countingRealm struct {
	name   string
	logins int
	err    error
}

func (r *countingRealm) Login(_ context.Context, c Credentials) (Principal, error) {
	r.logins++
	if r.err != nil {
		return Principal{}, r.err
	}
	if c.Password != "right" {
		return Principal{}, errors.New("wrong")
	}
	return Principal{User: c.User, Roles: []string{r.name}}, nil
}

func TestAuthenticatorChoosesRealm(t *testing.T) {
	normal, certificates, special := &countingRealm{name: "normal"}, &countingRealm{name: "certificates"}, &countingRealm{name: "special"}
	a := NewAuthenticator(AuthenticatorOptions{Realm: normal, CertificateRealm: certificates, Domains: map[string]Realm{"special": special}})
	right := Credentials{User: "u", Password: "right"}
	withCertificate, withDomain, unknownDomain := right, right, right
	withCertificate.PeerCertificates = certificate(t, pkix.Name{CommonName: "c"})
	withDomain.PeerCertificates, withDomain.Domain = withCertificate.PeerCertificates, "special"
	unknownDomain.Domain = "other"
	for _, c := range []struct {
		credentials Credentials
		want        string
	}{{right, "u(normal)"}, {withCertificate, "u(certificates)"}, {withDomain, "u(special)"}, {unknownDomain, "()"}} {
		if p, _ := a.Authenticate(context.Background(), c.credentials); p.String() != c.want {
			t.Errorf("%v, want %s", p, c.want)
		}
	}
}

// The texts are those that clients of Artemis got.
func TestAuthenticationErrors(t *testing.T) {
	cert := certificate(t, pkix.Name{CommonName: "client", Organization: []string{"Org"}})
	a := NewAuthenticator(AuthenticatorOptions{Realm: &countingRealm{}, ClusterUser: "cluster", ClusterPassword: "pw"})
	for _, c := range []struct {
		credentials Credentials
		want        string
	}{
		{Credentials{User: "admin", Password: "x", Remote: "127.0.0.1:35218"},
			"AMQ229031: Unable to validate user from 127.0.0.1:35218. Username: admin; SSL certificate subject DN: unavailable"},
		{Credentials{Remote: "127.0.0.1:35236"},
			"AMQ229031: Unable to validate user from 127.0.0.1:35236. Username: null; SSL certificate subject DN: unavailable"},
		{Credentials{User: "admin", PeerCertificates: cert},
			"AMQ229031: Unable to validate user from null. Username: admin; SSL certificate subject DN: CN=client, O=Org"},
		{Credentials{User: "cluster", Password: "x"}, "AMQ229099: Unable to authenticate cluster user: cluster"},
	} {
		_, err := a.Authenticate(context.Background(), c.credentials)
		if refusal := new(AuthenticationError); !errors.As(err, &refusal) || err.Error() != c.want || refusal.Cause == nil {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if succeeded, failed := a.Counts(); succeeded != 0 || failed != 4 {
		t.Errorf("%d succeeded, %d failed, want 0 and 4", succeeded, failed)
	}
}

func TestClusterUser(t *testing.T) {
	for _, c := range []struct {
		name, user, password string
		login                Credentials
		accepted             bool
	}{
		{"right", "cluster", "pw", Credentials{User: "cluster", Password: "pw"}, true},
		{"wrong", "cluster", "pw", Credentials{User: "cluster", Password: "x"}, false},
		{"default pair", "", DefaultClusterPassword, Credentials{User: DefaultClusterUser, Password: DefaultClusterPassword}, false},
		{"default user, own password", "", "pw", Credentials{User: DefaultClusterUser, Password: "pw"}, true},
		{"no password configured", "", "", Credentials{User: DefaultClusterUser}, false},
	} {
		realm := &countingRealm{}
		a := NewAuthenticator(AuthenticatorOptions{Realm: realm, ClusterUser: c.user, ClusterPassword: c.password})
		p, err := a.Authenticate(context.Background(), c.login)
		if (err == nil) != c.accepted || p.all != c.accepted || realm.logins != 0 || a.CacheLen() != 0 {
			t.Errorf("%s: %v, %v, all %v, %d logins at the realm", c.name, p, err, p.all, realm.logins)
		}
	}
}

func TestSecurityDisabledLogin(t *testing.T) {
	p, err := NewAuthenticator(AuthenticatorOptions{Disabled: true}).Authenticate(context.Background(), Credentials{User: "x"})
	if err != nil || p.User != "x" || !p.all {
		t.Errorf("%v, %v", p, err)
	}
}

func TestLoginsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm := &countingRealm{}
		a := NewAuthenticator(AuthenticatorOptions{Realm: realm, CacheSize: 2, Invalidation: 10 * time.Second})
		login := func(user, password string, accepted bool, logins int) {
			t.Helper()
			if _, err := a.Authenticate(t.Context(), Credentials{User: user, Password: password}); (err == nil) != accepted {
				t.Errorf("%s, %s: %v", user, password, err)
			}
			if realm.logins != logins {
				t.Errorf("%s, %s: %d logins at the realm, want %d", user, password, realm.logins, logins)
			}
		}
		login("a", "right", true, 1)
		login("a", "right", true, 1)
		login("a", "wrong", false, 2)
		login("a", "wrong", false, 2) // a refusal is remembered too
		login("ar", "ight", false, 3) // not the same credentials; pushes out the oldest
		login("a", "right", true, 4)
		time.Sleep(10*time.Second - time.Nanosecond)
		login("a", "right", true, 4)
		time.Sleep(time.Nanosecond)
		login("a", "right", true, 5)
		a.Clear()
		login("a", "right", true, 6)
		realm.err = unavailable{errors.New("directory is down")}
		login("b", "right", false, 7)
		realm.err = nil
		login("b", "right", true, 8) // an outage is not remembered
		uncached := NewAuthenticator(AuthenticatorOptions{Realm: realm, Invalidation: time.Hour})
		a = uncached
		login("b", "right", true, 9)
		login("b", "right", true, 10)
	})
}

func TestFailuresSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAuthenticator(AuthenticatorOptions{Realm: &countingRealm{}, CacheSize: 10, Invalidation: time.Minute})
		try := func(remote, password string) (time.Duration, error) {
			start := time.Now()
			_, err := a.Authenticate(t.Context(), Credentials{User: "u", Password: password, Remote: remote})
			return time.Since(start), err
		}
		for i, want := range []time.Duration{0, 0, 0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
			if took, err := try(fmt.Sprintf("10.0.0.1:%d", 1000+i), "wrong"); took != want || err == nil {
				t.Errorf("failure %d took %v, %v, want %v", i, took, err, want)
			}
		}
		if took, err := try("10.0.0.2:1", "right"); took != 0 || err != nil {
			t.Errorf("another address: %v, %v", took, err)
		}
		if took, err := try("10.0.0.1:1", "right"); took != 0 || err != nil {
			t.Errorf("credentials that are known to be right: %v, %v", took, err)
		}
		if took, err := try("invm:0", "wrong"); took != 0 || err == nil {
			t.Errorf("in-VM: %v, %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := a.Authenticate(ctx, Credentials{User: "u", Password: "x", Remote: "10.0.0.1:1"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
		refused := 0
		for range 40 {
			go func() {
				if _, err := try("10.0.0.1:1", "wrong"); errors.Is(err, ErrTooManyFailures) {
					refused++ // before any of the others ends its wait
				}
			}()
			synctest.Wait()
		}
		if refused != 24 {
			t.Errorf("%d of 40 logins at a time were refused, want 24", refused)
		}
		time.Sleep(time.Minute)
	})
}
