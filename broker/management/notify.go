package management

import (
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// Properties of notifications.
const (
	PropNotifType      = "_AMQ_NotifType"
	PropNotifTimestamp = "_AMQ_NotifTimestamp"
)

// maxNotifications bounds how many notifications wait to be sent.
const maxNotifications = 10000

// A Notifier sends notifications: what the engine reports becomes a message on the notification address, in the order it
// was reported, while something is bound to that address. Notify may be called from anywhere, under any lock; one
// goroutine, which runs while there is something to do, sends.
//
// When notifications come faster than they can be stored, those above the bound are dropped, which is logged.
type Notifier struct {
	o NotifierOptions

	mu      sync.Mutex
	b       *broker.Broker
	pending []stamped
	running bool
	closed  bool
	dropped int
	done    sync.WaitGroup
}

// NotifierOptions configure a Notifier.
type NotifierOptions struct {
	Address          string // management-notification-address
	SuppressSessions bool   // suppress-session-notifications
	ClusterUser      string // whose sessions are not reported
	// What Artemis' notification plugin adds.
	Connections, Addresses bool
	Log                    hclog.Logger // nil: none
}

type stamped struct {
	broker.Notification
	at int64
}

// NewNotifier makes a notifier. Its Notify is broker.Options.Notify; Start follows when the broker is started.
func NewNotifier(o NotifierOptions) *Notifier {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return &Notifier{o: o}
}

// Start begins to send. Before it notifications are not kept: nobody could have asked for them.
func (n *Notifier) Start(b *broker.Broker) {
	n.mu.Lock()
	n.b = b
	n.mu.Unlock()
}

// Stop ends sending and waits for the goroutine. It comes before the broker's own Stop.
func (n *Notifier) Stop() {
	n.mu.Lock()
	n.closed, n.pending = true, nil
	n.mu.Unlock()
	n.done.Wait()
}

// Notify takes a notification. It does not block.
func (n *Notifier) Notify(x broker.Notification) {
	if !n.wanted(&x) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.b == nil || n.closed {
		return
	}
	if len(n.pending) >= maxNotifications {
		n.dropped++
		return
	}
	n.pending = append(n.pending, stamped{x, n.b.Wheel().Now()})
	if !n.running {
		n.running = true
		n.done.Go(n.run)
	}
}

func (n *Notifier) wanted(x *broker.Notification) bool {
	switch x.Type {
	case "SESSION_CREATED", "SESSION_CLOSED":
		if n.o.SuppressSessions {
			return false
		}
		for _, p := range x.Props {
			if p.Name == "_AMQ_User" && p.Value == n.o.ClusterUser && n.o.ClusterUser != "" {
				return false
			}
		}
	case "ADDRESS_ADDED", "ADDRESS_REMOVED":
		return n.o.Addresses
	case "CONNECTION_CREATED", "CONNECTION_DESTROYED":
		return n.o.Connections
	}
	return true
}

// run sends what waits and ends when nothing is left.
func (n *Notifier) run() {
	var p *broker.Publisher
	for {
		n.mu.Lock()
		list, b, dropped := n.pending, n.b, n.dropped
		n.pending, n.dropped = nil, 0
		if len(list) == 0 {
			n.running = false
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		if dropped > 0 {
			n.o.Log.Warn("notifications were dropped: they came faster than they could be stored", "number", dropped)
		}
		if !b.Bound(n.o.Address) {
			continue
		}
		if p == nil {
			p = b.NewPublisher(security.Internal(""))
		}
		for i, x := range list {
			if i%64 == 0 && !b.Bound(n.o.Address) {
				break
			}
			if _, err := p.Send(n.message(x)); err != nil {
				n.o.Log.Warn("a notification could not be sent", "type", x.Type, "error", err)
			}
		}
	}
}

// message builds the message of a notification.
func (n *Notifier) message(x stamped) *message.Builder {
	m := message.New(n.o.Address, message.Default)
	m.Durable, m.Priority, m.Timestamp = true, 0, x.at
	for _, p := range x.Props {
		m.Set(p.Name, p.Value)
	}
	if x.Type == "SESSION_CREATED" || x.Type == "SESSION_CLOSED" {
		// cluster bridges choose what they want by address and distance
		m.Set("_AMQ_Address", n.o.Address)
		m.Set("_AMQ_Distance", int32(0))
	}
	m.Set(PropNotifType, x.Type)
	m.Set(PropNotifTimestamp, x.at)
	return m
}

// AuthenticationFailed reports a refused login.
func (n *Notifier) AuthenticationFailed(user, remote, subjectDN string) {
	if subjectDN == "" {
		subjectDN = "unavailable"
	}
	n.Notify(broker.Notification{Type: "SECURITY_AUTHENTICATION_VIOLATION", Props: []broker.Prop{{Name: "_AMQ_CertSubjectDN", Value: subjectDN}, {Name: "_AMQ_User", Value: textOrNull(user)}, {Name: "_AMQ_RemoteAddress", Value: remote}}})
}
