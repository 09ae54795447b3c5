package broker_test

import (
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// XPATH in consumers' and queues' filters looks into text messages. What other bodies, large ones among them, hold does
// not count, and an expression that is none is an invalid filter.
func TestXPathFilters(t *testing.T) {
	b := brokertest.New(t, nil)
	b.CreateAnycast("q")
	c := b.Connect(brokertest.AutoCommit)
	const order = `<order id="17"><item n="1"/></order>`
	bytes := message.New("q", message.Bytes)
	bytes.Body = []byte(order)
	for _, m := range []*message.Builder{brokertest.Text("q", order, message.Anycast), brokertest.Text("q", "<note/>", message.Anycast),
		brokertest.Text("q", "no XML", message.Anycast), bytes} {
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SendLarge(brokertest.Text("q", "", message.Anycast), message.AppendText(nil, order)); err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		filter string
		want   int
	}{
		{"XPATH '/order/item[@n = 1]'", 1}, {"XPATH '//note'", 1}, {"XPATH '/*'", 2}, {"XPATH '/order/@id > 17'", 0},
		{"NOT XPATH '/order'", 4}, {"XQUERY '/order'", 0}, {"AMQSize > 0 AND XPATH '//item'", 1},
	} {
		sink, err := c.Consume(broker.ConsumerOptions{Queue: "q", Browse: true, Filter: f.filter}, 1000)
		if err != nil {
			t.Errorf("%s: %v", f.filter, err)
			continue
		}
		got := sink.Wait(f.want)
		if len(got) != f.want {
			t.Errorf("%s: %d messages, want %d", f.filter, len(got), f.want)
		}
	}
	_, err := c.Consume(broker.ConsumerOptions{Queue: "q", Filter: "XPATH '/order['"}, 1000)
	if e := broker.AsError(err); e.Code != broker.InvalidFilterExpression || e.Text != "AMQ229020: Invalid filter: XPATH '/order['" {
		t.Errorf("a bad expression of a consumer: %v", err)
	}
	create := func(name, filter string) error {
		cfg := b.DefaultQueue("f", name)
		cfg.Filter, cfg.Routing = filter, message.Multicast
		_, err := b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true})
		return err
	}
	if err := create("bad", "XPATH 'nosuch()'"); broker.AsError(err).Code != broker.InvalidFilterExpression {
		t.Errorf("a bad expression of a queue: %v", err)
	}
	if err := create("items", "XPATH '//item'"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{order, "<note/>"} {
		if err := c.Send(brokertest.Text("f", text, message.Multicast)); err != nil {
			t.Fatal(err)
		}
	}
	sink, err := c.Consume(broker.ConsumerOptions{Queue: "items"}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if sink.Wait(1); !slices.Equal(sink.Texts(), []string{order}) {
		t.Errorf("a queue with a filter got %q", sink.Texts())
	}
}
