package broker_test

import (
	"fmt"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// A forced delivery comes after everything that the consumer may have: also after what takes more than one pass, and
// after what its sink cannot take yet.
func TestForcedDeliveryComesLast(t *testing.T) {
	const n = 600 // more than two passes
	for _, browse := range []bool{false, true} {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprintf("browse=%v busy=%v", browse, busy), func(t *testing.T) {
				b := brokertest.New(t, nil)
				b.CreateAnycast("q")
				c := b.Connect(brokertest.AutoCommit)
				for i := range n {
					if err := c.Send(brokertest.Text("q", fmt.Sprint(i), message.Anycast)); err != nil {
						t.Fatal(err)
					}
				}
				k, err := c.Consume(broker.ConsumerOptions{Queue: "q", Browse: browse}, 0)
				if err != nil {
					t.Fatal(err)
				}
				if busy {
					k.SetBusy(true)
				}
				settled := make(chan int, 1)
				c.Act(func(w *broker.Work) {
					k.Grant(w, broker.Unlimited)
					k.Settled(w, func(*broker.Work) { settled <- len(k.Got()) })
				})
				if busy {
					select {
					case at := <-settled:
						t.Errorf("called after %d deliveries, before the sink could take any", at)
					default:
					}
					k.SetBusy(false)
				}
				b.Until("the forced delivery", func() bool { return len(settled) == 1 })
				if at := <-settled; at != n {
					t.Errorf("called after %d of %d deliveries", at, n)
				}
			})
		}
	}
}
