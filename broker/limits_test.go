package broker_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

func code(err error) broker.Code {
	var e *broker.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return -1
}

// The texts and codes are those that a client of Artemis 2.40.0 got.
func TestResourceLimits(t *testing.T) {
	b := brokertest.New(t, func(o *broker.Options) {
		o.Limits = func(user string) broker.Limits {
			switch user {
			case "lim":
				return broker.Limits{Sessions: 2, Queues: 1}
			case "none":
				return broker.Limits{Sessions: 0, Queues: 0}
			}
			return broker.Limits{Sessions: -1, Queues: -1}
		}
	})
	other := b.Connect(brokertest.AutoCommit)
	n := 0
	open := func(user string) (*broker.Session, error) {
		n++
		return other.Conn.NewSession(broker.SessionOptions{Name: fmt.Sprint("limited", n), Principal: security.Internal(user)})
	}
	first, err := open("lim")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open("lim"); err != nil {
		t.Fatal(err)
	}
	_, err = open("lim")
	if err == nil || code(err) != 112 || err.Error() != "AMQ229110: Too many sessions for user 'lim'. Sessions allowed: 2." {
		t.Errorf("third session: %v", err)
	}
	if _, err := open("none"); code(err) != 112 {
		t.Errorf("a session of a user who may have none: %v", err)
	}
	if _, err := open("other"); err != nil {
		t.Errorf("a user without limits: %v", err)
	}

	create := func(s *broker.Session, name string) error {
		s.MayBlock = true
		cfg := b.DefaultQueue(name, name)
		cfg.Routing = message.Anycast
		return s.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true})
	}
	if err := create(first, "one"); err != nil {
		t.Fatal(err)
	}
	err = create(first, "two")
	if err == nil || code(err) != 105 || err.Error() != "AMQ229111: Too many queues created by user 'lim'. Queues allowed: 1." {
		t.Errorf("second queue: %v", err)
	}
	if b.Address("two") != nil {
		t.Error("the refused queue has left an address behind")
	}
	for i := range 3 {
		if err := create(other.Session, fmt.Sprint("free", i)); err != nil {
			t.Errorf("a queue of a user without limits: %v", err)
		}
	}
	// a deleted queue and a closed session make room
	if err := b.DeleteQueue(b.NewWork(), "one", broker.DeleteQueueOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := create(first, "three"); err != nil {
		t.Errorf("after a queue was deleted: %v", err)
	}
	first.Close(b.NewWork(), false)
	if _, err := open("lim"); err != nil {
		t.Errorf("after a session was closed: %v", err)
	}
}
