package management_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
)

const notifications = "activemq.notifications"

// captured are the properties with their types of each type of notification, as Artemis sends them: of the first captured.
func captured(t *testing.T) map[string][]string {
	data, err := os.ReadFile("testdata/notifications.txt")
	if err != nil {
		t.Fatal(err)
	}
	property := regexp.MustCompile(`(\w+)=(null|\w+:[^,}]*)`)
	out := map[string][]string{}
	for _, line := range strings.Split(string(data), "\n") {
		_, props, ok := strings.Cut(line, "{")
		if !ok {
			continue
		}
		var list []string
		kind := ""
		for _, m := range property.FindAllStringSubmatch(props, -1) {
			list = append(list, m[1])
			if m[1] == "_AMQ_NotifType" {
				_, kind, _ = strings.Cut(m[2], ":")
			}
		}
		slices.Sort(list)
		if kind == "BINDING_ADDED" && strings.Contains(props, "Binding_Type=Integer:2") {
			continue
		}
		if out[kind] == nil {
			out[kind] = list
		}
	}
	return out
}

func TestNotifications(t *testing.T) {
	n := management.NewNotifier(management.NotifierOptions{Address: notifications, Connections: true, Addresses: true})
	b := brokertest.New(t, func(o *broker.Options) { o.Notify = n.Notify })
	defer n.Stop()
	admin := b.Connect(brokertest.AutoCommit)
	cfg := broker.NewQueueConfig("notif")
	cfg.Address = notifications
	if _, err := b.CreateQueue(cfg, broker.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	k, err := admin.Consume(broker.ConsumerOptions{Queue: "notif"}, broker.Unlimited)
	if err != nil {
		t.Fatal(err)
	}
	n.Start(b.Broker) // what was before is not reported
	// things happen
	b.CreateAnycast("q")
	c := b.Connect(brokertest.AutoCommit)
	if _, err := c.Consume(broker.ConsumerOptions{Queue: "q"}, 1); err != nil {
		t.Fatal(err)
	}
	c.Disconnect(false)
	w := b.NewWork()
	if err := b.DeleteAddress(w, "q", true); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	n.AuthenticationFailed("", "127.0.0.1:9", "")
	want := []string{"ADDRESS_ADDED", "BINDING_ADDED q", "CONNECTION_CREATED", "SESSION_CREATED", "CONSUMER_CREATED q",
		"CONSUMER_CLOSED q", "SESSION_CLOSED", "CONNECTION_DESTROYED", "BINDING_REMOVED q", "ADDRESS_REMOVED", "SECURITY_AUTHENTICATION_VIOLATION"}
	types := func() []string {
		var out []string
		for _, d := range k.Got() {
			text := d.Prop("_AMQ_NotifType")
			if name := d.Prop("_AMQ_RoutingName"); name != "absent" {
				text += " " + name
			}
			out = append(out, text)
		}
		return out
	}
	b.Until("all notifications", func() bool {
		got := types()
		return len(got) > 0 && got[len(got)-1] == want[len(want)-1]
	})
	if got := types(); !slices.Equal(got, want) {
		t.Errorf("notifications\n got: %q\nwant: %q", got, want)
	}
	golden := captured(t)
	seen := map[string]bool{}
	for _, d := range k.Got() {
		kind := d.Prop("_AMQ_NotifType")
		seen[kind] = true
		var have []string
		for name := range d.Props {
			have = append(have, name)
		}
		slices.Sort(have)
		if !slices.Equal(have, golden[kind]) {
			t.Errorf("%s has\n%v, want\n%v", kind, have, golden[kind])
		}
		if d.Type != message.Default || !d.Durable || d.Priority != 0 || d.Address != notifications || d.Prop("_AMQ_NotifTimestamp") != "1700000000000" {
			t.Errorf("%s: %+v", kind, d)
		}
	}
	if len(seen) < 11 {
		t.Errorf("only %d types", len(seen))
	}
}

// Nothing is stored while nobody listens.
func TestNobodyListens(t *testing.T) {
	n := management.NewNotifier(management.NotifierOptions{Address: notifications})
	b := brokertest.New(t, func(o *broker.Options) { o.Notify = n.Notify })
	n.Start(b.Broker)
	b.CreateAnycast("q")
	b.Connect(brokertest.AutoCommit)
	n.Stop()
	b.Store.Settle()
	if n := b.Store.Messages() + b.Store.Orphans(); n != 0 {
		t.Errorf("%d messages were stored", n)
	}
}

// Sessions can be left out.
func TestSuppressSessions(t *testing.T) {
	n := management.NewNotifier(management.NotifierOptions{Address: notifications, SuppressSessions: true})
	b := brokertest.New(t, func(o *broker.Options) { o.Notify = n.Notify })
	n.Start(b.Broker)
	b.CreateAnycast(notifications)
	admin := b.Connect(brokertest.AutoCommit)
	k, err := admin.Consume(broker.ConsumerOptions{Queue: notifications}, broker.Unlimited)
	if err != nil {
		t.Fatal(err)
	}
	b.Connect(brokertest.AutoCommit).Disconnect(false)
	b.CreateAnycast("last")
	b.Until("the last notification", func() bool {
		got := k.Got()
		return len(got) > 0 && got[len(got)-1].Prop("_AMQ_RoutingName") == "last"
	})
	for _, d := range k.Got() {
		if strings.HasPrefix(d.Prop("_AMQ_NotifType"), "SESSION_") {
			t.Errorf("got %s", d.Prop("_AMQ_NotifType"))
		}
	}
	n.Stop()
}
