package broker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// realm lets in everybody with its roles, or nobody.
type realm struct {
	roles []string
	err   error
}

func (r *realm) Login(_ context.Context, c security.Credentials) (security.Principal, error) {
	return security.Principal{User: c.User, Roles: r.roles}, r.err
}

// A session that lives on sees what has become of its user within security-invalidation-interval: roles for send and
// consume, and that it is gone, which is an error of authentication.
func TestSessionIsCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval = 10 * time.Second
		access, err := security.NewPermissions(security.PermissionsOptions{}, []security.Setting{{Match: "#", Roles: map[security.Permission][]string{
			security.Send: {"senders"}, security.Consume: {"readers"}}}})
		if err != nil {
			t.Fatal(err)
		}
		b := brokertest.New(t, func(o *broker.Options) { o.Access = access })
		b.CreateAnycast("q")
		b.CreateAnycast("r")
		users := &realm{roles: []string{"senders"}}
		auth := security.NewAuthenticator(security.AuthenticatorOptions{Realm: users, CacheSize: 10, Invalidation: interval})
		c := security.Credentials{User: "u", Password: "p", Remote: "127.0.0.1:9"}
		who, err := auth.Authenticate(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		s := b.Connect(broker.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true, Principal: who, Login: auth.Watch(c, who)})
		const (
			noSend  = "AMQ229032: User: u does not have permission='SEND' on address "
			noRead  = "AMQ229213: User: u does not have permission='CONSUME' for queue q on address q"
			invalid = "AMQ229031: Unable to validate user from 127.0.0.1:9. Username: u; SSL certificate subject DN: unavailable"
		)
		expect := func(what string, err error, want string) {
			t.Helper()
			got := ""
			if err != nil {
				if e := broker.AsError(err); e.Code != broker.SecurityException {
					t.Errorf("%s: %v", what, err)
				} else {
					got = e.Text
				}
			}
			if got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		send := func(address string) error { return s.Send(brokertest.Text(address, "x", message.Anycast)) }
		read := func() error {
			_, err := s.Consume(broker.ConsumerOptions{Queue: "q"}, 10)
			return err
		}
		later := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		expect("send", send("q"), "")
		expect("send elsewhere", send("r"), "")
		expect("read", read(), noRead)

		users.roles = []string{"readers"}
		later(interval / 2)
		expect("send within the interval", send("q"), "")
		later(interval / 2)
		s.MayBlock = false
		w := b.NewWork()
		w.Begin()
		m, err := b.Pool().Build(brokertest.Text("q", "x", message.Anycast))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Session.Send(w, m, broker.SendOptions{Routing: message.Unspecified}); !errors.Is(err, broker.ErrBlocks) {
			t.Errorf("a check where none may wait: %v", err)
		}
		m.Release()
		s.MayBlock = true
		expect("send", send("q"), noSend+"q")
		expect("send elsewhere", send("r"), noSend+"r") // although it was allowed before
		expect("read", read(), "")

		users.err = errors.New("no such user")
		later(interval)
		expect("send without a user", send("q"), invalid)
		expect("send without a user again", send("r"), invalid)

		users.roles, users.err = []string{"senders"}, nil
		auth.Clear()
		expect("send after the users have changed", send("q"), "")
	})
}
