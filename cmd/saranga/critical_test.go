package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
)

// A request whose answer never comes back keeps its session's lock: the critical analyzer finds it and does what the policy
// says. In order: code logged, exit code of a halt, and whether whoever runs the node is told to end.
func TestCriticalAnalyzer(t *testing.T) {
	for policy, want := range map[string]struct {
		code  string
		exit  int
		ended string
	}{
		"HALT":     {"AMQ224079", 70, ""},
		"SHUTDOWN": {"AMQ224080", 0, "could not be stopped in good order"},
		"LOG":      {"AMQ224081", 0, ""},
	} {
		t.Run(policy, func(t *testing.T) {
			halted := make(chan int, 1)
			n := runNode(t, newInstance(t, baseXML+fmt.Sprintf(`<critical-analyzer-timeout>40</critical-analyzer-timeout><critical-analyzer-check-period>5</critical-analyzer-check-period><critical-analyzer-policy>%s</critical-analyzer-policy>
<addresses>%s</addresses>`, policy, address("a", `<queue name="q"/>`))), func(n *node) {
				n.halt = func(code int) { halted <- code }
			})
			stuck, release := make(chan bool), make(chan bool)
			conn := n.broker.Connect("c", "127.0.0.1:1", "CORE", func(string) {})
			s, err := conn.NewSession(broker.SessionOptions{Name: "s1", Client: stuckClient{stuck, release}})
			if err != nil {
				t.Fatal(err)
			}
			go s.Done(n.broker.NewWork(), broker.Answer{Kind: 1}, nil)
			<-stuck
			defer close(release)
			if want.exit != 0 {
				if code := <-halted; code != want.exit {
					t.Errorf("exit code %d", code)
				}
			}
			end := time.Now().Add(10 * time.Second)
			for n.logged(want.code) == 0 && time.Now().Before(end) {
				<-time.After(time.Millisecond)
			}
			if n.logged(want.code) != 1 || n.logged("session s1") == 0 || n.logged("AMQ224107") != 1 || n.logged("stuckClient.Answer") == 0 {
				t.Error("not told, or without what the goroutines are at")
			}
			if want.ended != "" {
				if err := <-n.failed; !strings.Contains(err.Error(), want.ended) {
					t.Errorf("ended with %v", err)
				}
			}
		})
	}
}

type stuckClient struct{ stuck, release chan bool }

func (c stuckClient) Answer(*broker.Work, broker.Answer, error) {
	close(c.stuck)
	<-c.release
}
