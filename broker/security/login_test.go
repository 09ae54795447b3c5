package security

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A session sees that its user has lost a role, or is gone, within the interval since its answer was found out.
func TestLoginIsCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval = 10 * time.Second
		realm := &countingRealm{name: "before"}
		a := NewAuthenticator(AuthenticatorOptions{Realm: realm, CacheSize: 10, Invalidation: interval})
		c := Credentials{User: "u", Password: "right", Remote: "127.0.0.1:7"}
		start := time.Now()
		who, err := a.Authenticate(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(interval - 2*time.Second)
		l := a.Watch(c, who) // of a second session, which is let in by what is remembered
		realm.name = "after"
		expect := func(fresh bool, want string, changed bool, logins int) {
			t.Helper()
			synctest.Wait()
			if l.Fresh() != fresh {
				t.Errorf("after %v: fresh is %t", time.Since(start), !fresh)
			}
			who, again, err := l.Principal(t.Context())
			got := who.String()
			if refusal := new(AuthenticationError); errors.As(err, &refusal) {
				got = refusal.Error()
			} else if err != nil {
				t.Error(err)
			}
			if got != want || again != changed || realm.logins != logins {
				t.Errorf("after %v: %s, checked %t, %d logins; want %s, %t, %d", time.Since(start), got, again, realm.logins, want, changed, logins)
			}
		}
		const refused = "AMQ229031: Unable to validate user from 127.0.0.1:7. Username: u; SSL certificate subject DN: unavailable"
		expect(true, "u(before)", false, 1)
		time.Sleep(2*time.Second - 1)
		expect(true, "u(before)", false, 1)
		time.Sleep(time.Nanosecond)
		expect(false, "u(after)", true, 2)
		expect(true, "u(after)", false, 2)
		realm.err = errors.New("gone")
		time.Sleep(interval)
		expect(false, refused, true, 3)
		expect(true, refused, false, 3) // remembered, and logged and counted once
		if _, failed := a.Counts(); failed != 1 {
			t.Errorf("%d failed", failed)
		}
		realm.err = nil
		a.Clear() // what management does when users change
		expect(false, "u(after)", true, 4)
		realm.err = unavailable{errors.New("cannot read the file")}
		time.Sleep(interval)
		expect(false, refused, true, 5)
		realm.err = nil
		time.Sleep(time.Second) // says nothing about the user, so it does not last
		expect(false, "u(after)", true, 6)
	})
}

// Without an interval nothing is remembered.
func TestLoginWithoutInterval(t *testing.T) {
	realm := &countingRealm{name: "r"}
	a := NewAuthenticator(AuthenticatorOptions{Realm: realm, CacheSize: 10})
	c := Credentials{User: "u", Password: "right"}
	l := a.Watch(c, Principal{User: "u"})
	for i := range 3 {
		who, _, err := l.Principal(context.Background())
		if err != nil || who.String() != "u(r)" || realm.logins != i+1 || l.Fresh() {
			t.Fatalf("%v, %v, %d logins, fresh %t", who, err, realm.logins, l.Fresh())
		}
	}
}

func TestWatchOfWhoCannotChange(t *testing.T) {
	a := NewAuthenticator(AuthenticatorOptions{ClusterUser: "cluster", ClusterPassword: "pw"})
	c := Credentials{User: "cluster", Password: "pw"}
	who, err := a.Authenticate(context.Background(), c)
	if err != nil || a.Watch(c, who) != nil {
		t.Errorf("%v, %v", who, err)
	}
	disabled := NewAuthenticator(AuthenticatorOptions{Disabled: true})
	if who, _ := disabled.Authenticate(context.Background(), c); disabled.Watch(c, who) != nil {
		t.Error("with security disabled")
	}
}

// A failed login from the same address does not slow down a session that is checked again.
func TestCheckAgainDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAuthenticator(AuthenticatorOptions{Realm: &countingRealm{}, CacheSize: 10, Invalidation: time.Second})
		good := Credentials{User: "u", Password: "right", Remote: "127.0.0.1:7"}
		who, err := a.Authenticate(t.Context(), good)
		if err != nil {
			t.Fatal(err)
		}
		l := a.Watch(good, who)
		for range 5 {
			a.Authenticate(t.Context(), Credentials{User: "u", Password: "wrong", Remote: "127.0.0.1:8"})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		before := time.Now()
		if _, changed, err := l.Principal(t.Context()); err != nil || !changed || time.Since(before) != 0 {
			t.Errorf("%t, %v after %v", changed, err, time.Since(before))
		}
	})
}

// Sessions check at the same time as management clears: run with -race.
func TestLoginConcurrently(t *testing.T) {
	realm := &countingRealm{name: "r"} // called by one at a time, as each login has one watcher here
	a := NewAuthenticator(AuthenticatorOptions{Realm: realm, CacheSize: 10, Invalidation: time.Minute})
	l := a.Watch(Credentials{User: "u", Password: "right"}, Principal{User: "u", Roles: []string{"r"}})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				a.Clear()
				if who, _, err := l.Principal(context.Background()); err != nil || who.String() != "u(r)" {
					t.Errorf("%v, %v", who, err)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkLoginFresh(b *testing.B) {
	a := NewAuthenticator(AuthenticatorOptions{Realm: &countingRealm{}, Invalidation: time.Hour})
	l := a.Watch(Credentials{User: "u", Password: "right"}, Principal{User: "u"})
	b.ReportAllocs()
	for b.Loop() {
		if !l.Fresh() {
			b.Fatal("not fresh")
		}
	}
}
