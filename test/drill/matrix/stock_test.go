package matrix

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/saranga-mq/saranga/drill"
	"github.com/saranga-mq/saranga/test/drill/lab"
)

// admin connects with the default settings.
var admin = drill.Core{User: "admin", Password: "admin"}

// A stock is what lies in a queue from before the backup came, enough that a synchronisation takes its time.
type stock struct {
	queue  drill.Queue
	bodies [][]byte
}

const (
	stockLarge = 48 // messages of 1 MiB
	stockSmall = 200
)

// store sends the stock.
func store(t *testing.T, n *lab.Node) *stock {
	t.Helper()
	s := &stock{queue: drill.Queue{Address: "stock", Name: "stock"}}
	for i := range stockLarge + stockSmall {
		body := fmt.Appendf(nil, "stock %d ", i)
		if i < stockLarge {
			body = bytes.Repeat(body, (1<<20)/len(body))
		}
		s.bodies = append(s.bodies, body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	c, err := admin.Dial(ctx, n.Instance.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Create(ctx, s.queue); err != nil {
		t.Fatal(err)
	}
	sender, err := c.Sender(ctx, s.queue.Address, false, drill.Plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range s.bodies {
		if err := sender.Send(ctx, drill.Message{Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// check takes the stock from the node: all of it, in order.
func (s *stock) check(t *testing.T, n *lab.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), lab.Patience)
	defer cancel()
	c, err := admin.Dial(ctx, n.Instance.URL())
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	r, err := c.Receiver(ctx, s.queue, drill.Plain)
	if err != nil {
		t.Error(err)
		return
	}
	for i := 0; ; i++ {
		body, err := r.Receive(ctx, 0)
		if err == nil && body != nil {
			err = r.Acknowledge(ctx)
		}
		switch {
		case err != nil:
			t.Errorf("message %d of the stock: %v", i, err)
			return
		case body == nil && i == len(s.bodies):
			return
		case body == nil:
			t.Errorf("of %d messages of the stock %d came", len(s.bodies), i)
			return
		case i >= len(s.bodies) || !bytes.Equal(body, s.bodies[i]):
			t.Errorf("message %d of the stock is %.40q, %d bytes", i, body, len(body))
			return
		}
	}
}
