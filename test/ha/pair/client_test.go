package pair

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

// ends are how a primary ends.
var ends = []struct {
	name string
	do   func(*node)
}{{"Kill", (*node).kill}, {"Stop", (*node).stop}}

// ready starts a pair with voting.
func ready(t *testing.T, primary, backup string) pair {
	p := newPair(t, primary, backup, votingPrimary, votingBackup)
	p.primary.start()
	p.primary.serves()
	p.backup.start()
	p.backup.says(announced)
	return p
}

// TestJMSClient: a JMS client that was given the primary's address only learns of the backup and goes on there with its sessions; an
// open transaction is rolled back, and it is told so. The facts are those that it states with two real brokers.
func TestJMSClient(t *testing.T) {
	program := peers.CompileJava(t, peers.RealArtemis(t), "jms")
	for _, who := range [][2]string{{"saranga", "saranga"}, {"saranga", "artemis"}, {"artemis", "saranga"}, {"artemis", "artemis"}} {
		for _, end := range ends {
			t.Run(who[0]+"-"+who[1]+end.name, func(t *testing.T) {
				p := ready(t, who[0], who[1])
				url := fmt.Sprintf("tcp://127.0.0.1:%d?ha=true&reconnectAttempts=-1&retryInterval=100&callTimeout=20000", p.primary.instance.Port)
				cmd := program.Command(background(t), "pair.Failover", url)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				began := time.Now()
				for _, want := range []string{"committed", "ready", "failure detected", "failover completed", "the transaction was rolled back", "received 25", "closed"} {
					if !lines.Scan() {
						t.Fatalf("the client has ended, want %q", want)
					}
					if t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), lines.Text()); lines.Text() != want {
						t.Errorf("the client says %q, want %q", lines.Text(), want)
					}
					if want == "ready" {
						end.do(p.primary)
						if _, err := io.WriteString(in, "\n"); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestGoClient does the same with this project's client.
func TestGoClient(t *testing.T) {
	for _, who := range [][2]string{{"artemis", "artemis"}, {"saranga", "saranga"}} {
		for _, end := range ends {
			t.Run(who[0]+"-"+who[1]+end.name, func(t *testing.T) { follow(t, ready(t, who[0], who[1]), end.do) })
		}
	}
}

func follow(t *testing.T, p pair, end func(*node)) {
	ctx := background(t)
	conn, err := client.Dial(ctx, client.Config{Hosts: []transport.ConnectorOptions{{Host: "127.0.0.1", Port: p.primary.instance.Port}}, User: "admin", Password: "admin",
		HA: true, ReconnectAttempts: -1, RetryInterval: 100 * time.Millisecond, InitialConnectAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	acked, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		t.Fatal(err)
	}
	transacted, err := conn.NewSession(ctx, client.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := acked.CreateSharedQueue(ctx, client.QueueOptions{Name: queue, Durable: true, RoutingType: core.RoutingAnycast}); err != nil {
		t.Fatal(err)
	}
	producer := func(s *client.Session) *client.Producer {
		p, err := s.NewProducer(ctx, queue)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	send, inTransaction := producer(acked), producer(transacted)
	post := func(text string) {
		for {
			m := brokertest.Text(queue, text, message.Anycast)
			m.Set("_AMQ_DUPL_ID", text)
			err := send.Send(ctx, m)
			if err == nil {
				return
			}
			if !errors.Is(err, core.Unblocked) {
				t.Fatal(err)
			}
		}
	}
	for i := range 20 {
		post(fmt.Sprint("before-", i))
	}
	if err := inTransaction.Send(ctx, brokertest.Text(queue, "rolled back", message.Anycast)); err != nil {
		t.Fatal(err)
	}
	end(p.primary)
	for i := range 10 {
		post(fmt.Sprint("after-", i))
	}
	if err := transacted.Commit(ctx); !errors.Is(err, core.TransactionRolledBack) {
		t.Errorf("commit: %v", err)
	}
	received := map[string]bool{}
	c, err := acked.NewConsumer(ctx, queue, client.ConsumerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := acked.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := c.ReceiveTimeout(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			break
		}
		text, _ := m.Text()
		if received[text] || text == "rolled back" {
			t.Errorf("%q came, again or at all", text)
		}
		received[text] = true
		if err := m.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if len(received) != 30 {
		t.Errorf("%d messages, want 30", len(received))
	}
	if got := context.Cause(ctx); got != nil {
		t.Error(got)
	}
}
