package broker_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// TestBranchEndsOnce ends a branch from all sides at once: by its client, by a second one, by the timeout and by the operator.
// Whoever was told that it is committed must be right, and nothing may have an effect twice.
func TestBranchEndsOnce(t *testing.T) {
	b := brokertest.New(t, nil)
	q := b.CreateAnycast("q")
	var clients []*brokertest.Client
	for range 3 {
		clients = append(clients, b.Connect(broker.SessionOptions{XA: true}))
	}
	for i := range 300 {
		x := broker.Xid{Format: 1, Global: fmt.Sprint(i), Branch: "b"}
		c := clients[0]
		c.SetXATimeout(1)
		c.Act(func(w *broker.Work) {
			if err := c.XAStart(w, x); err != nil {
				t.Fatal(err)
			}
		})
		if err := c.Send(brokertest.Text("q", "a", message.Anycast)); err != nil {
			t.Fatal(err)
		}
		if err := c.XAEnd(x); err != nil {
			t.Fatal(err)
		}
		onePhase := i%2 == 0
		if !onePhase {
			c.Do(func(w *broker.Work, a broker.Answer) { c.XAPrepare(w, x, a) })
		}
		b.Advance(2000)
		var committed [4]bool
		var ends sync.WaitGroup
		for k, c := range clients {
			ends.Go(func() {
				var refused *broker.XAError
				err := c.Do(func(w *broker.Work, a broker.Answer) {
					if k == 2 && i%3 == 0 {
						refused = c.XARollback(w, x, a)
					} else {
						refused = c.XACommit(w, x, onePhase, a)
					}
					if refused != nil {
						c.Done(w, a, nil)
					}
				})
				committed[k] = refused == nil && err == nil && !(k == 2 && i%3 == 0)
			})
		}
		ends.Go(func() {
			if onePhase {
				b.ScanTransactions()
				return
			}
			if i%5 == 0 {
				ok, err := b.CompleteHeuristically(b.NewWork(), x, true)
				committed[3] = ok && err == nil
			}
		})
		ends.Wait()
		want := int64(0)
		for _, yes := range committed {
			if yes {
				want++
			}
		}
		if want > 1 {
			t.Fatalf("branch %d was committed %d times", i, want)
		}
		if n := q.MessageCount(); n != want {
			t.Fatalf("branch %d: %d messages, want %d", i, n, want)
		}
		if _, err := q.RemoveMessages(""); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.XAInDoubt()) - len(b.Heuristics()); n != 0 {
		t.Errorf("%d branches are left", n)
	}
}

// TestUnusedQueueKeepsMessages looks for unused queues while messages are sent to one that is created for use: what has
// been answered is there.
func TestUnusedQueueKeepsMessages(t *testing.T) {
	b := brokertest.New(t, nil)
	if err := b.Settings.Set("u.#", `{"autoDeleteQueuesSkipUsageCheck":true,"autoDeleteAddressesSkipUsageCheck":true,"autoDeleteAddresses":false}`); err != nil {
		t.Fatal(err)
	}
	b.SettingsChanged()
	done := make(chan struct{})
	var scans sync.WaitGroup
	for range 2 {
		scans.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					b.ScanUnused()
				}
			}
		})
	}
	c := b.Connect(brokertest.AutoCommit)
	lost := 0
	for range 200 {
		if err := c.Send(brokertest.Text("u.q", "a", message.Anycast)); err != nil {
			t.Fatal(err)
		}
		q := b.Queue("u.q")
		if q == nil || q.MessageCount() != 1 {
			lost++
			continue
		}
		if _, err := q.RemoveMessages(""); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	scans.Wait()
	if lost > 0 {
		t.Errorf("%d messages were accepted and deleted with their queue", lost)
	}
}
