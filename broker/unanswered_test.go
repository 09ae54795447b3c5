package broker_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// A logText gathers what is logged, from any goroutine.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// TestRefusedWithoutAnswer: of a message that the store refuses and whose client wants no answer the operator is told, once.
func TestRefusedWithoutAnswer(t *testing.T) {
	for name, post := range map[string]func(*testing.T, *brokertest.Broker, *brokertest.Client){
		"message": func(t *testing.T, b *brokertest.Broker, c *brokertest.Client) {
			m, err := b.Pool().Build(brokertest.Text("q", "lost", message.Anycast))
			if err != nil {
				t.Fatal(err)
			}
			c.Act(func(w *broker.Work) {
				if err := c.Session.Send(w, m, broker.SendOptions{Routing: message.Unspecified}); err != nil {
					t.Error(err)
				}
			})
		},
		"large": func(_ *testing.T, _ *brokertest.Broker, c *brokertest.Client) {
			c.PostLarge(brokertest.Text("q", "", message.Anycast), []byte("lost"), 0)
			c.WaitStored()
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := &logText{}
			b := brokertest.New(t, func(o *broker.Options) { o.Log = hclog.New(&hclog.LoggerOptions{Output: log}) })
			b.CreateAnycast("q")
			c := b.Connect(brokertest.AutoCommit)
			b.Store.FailAppend(func([]broker.Op) error { return broker.ErrNoSpace })
			for range 3 {
				post(t, b, c)
			}
			b.Store.FailAppend(nil)
			if n := log.count("asked for no answer"); n != 1 {
				t.Errorf("told %d times", n)
			}
			if n := b.Queue("q").MessageCount(); n != 0 {
				t.Errorf("%d messages", n)
			}
		})
	}
}
