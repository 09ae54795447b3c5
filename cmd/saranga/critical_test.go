package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/security"
)

// Somebody keeps the registry's lock: the critical analyzer finds it and does what the policy says. Codes and the exit code
// are those of Artemis.
func TestCriticalAnalyzer(t *testing.T) {
	for policy, want := range map[string]struct {
		code  string
		exit  int    // of a halt; 0: there is none
		ended string // what whoever runs the node is told
	}{
		"HALT":     {"AMQ224079", 70, ""},
		"SHUTDOWN": {"AMQ224080", 0, "could not be stopped in good order"},
		"LOG":      {"AMQ224081", 0, ""},
	} {
		t.Run(policy, func(t *testing.T) {
			halted := make(chan int, 1)
			stuck, release := make(chan bool), make(chan bool)
			n := runNode(t, newInstance(t, baseXML+fmt.Sprintf(`<critical-analyzer-timeout>100</critical-analyzer-timeout>
<critical-analyzer-check-period>10</critical-analyzer-check-period><critical-analyzer-policy>%s</critical-analyzer-policy>`, policy)), func(n *node) {
				n.halt = func(code int) { halted <- code }
				n.broker.Options().Limits = func(string) broker.Limits { // asked under the lock
					close(stuck)
					<-release
					return broker.Limits{Sessions: -1, Queues: -1}
				}
			})
			conn := n.broker.Connect("c", "127.0.0.1:1", "CORE", func(string) {})
			ended := make(chan bool)
			go func() {
				defer close(ended)
				_, _ = conn.NewSession(broker.SessionOptions{Name: "s1", Principal: security.Internal("u")})
			}()
			<-stuck
			defer func() {
				close(release)
				<-ended
			}()
			brokertest.Until(t, "it is told", func() bool { return n.logged(want.code) > 0 })
			if n.logged(want.code) != 1 || n.logged("registry") == 0 || n.logged("AMQ224107") != 1 || n.logged("broker.(*Connection).NewSession") == 0 {
				t.Error("told more than once, or without what the goroutines are at")
			}
			if want.exit != 0 {
				brokertest.Until(t, "it ends the process", func() bool { return len(halted) > 0 })
				if code := <-halted; code != want.exit {
					t.Errorf("exit code %d", code)
				}
			} else if len(halted) > 0 {
				t.Error("it has ended the process")
			}
			if want.ended != "" {
				brokertest.Until(t, "the node is stopped", func() bool { return len(n.failed) > 0 })
				if err := <-n.failed; !strings.Contains(err.Error(), want.ended) {
					t.Errorf("ended with %v", err)
				}
			} else if len(n.failed) > 0 {
				t.Error("the node is stopped")
			}
		})
	}
}

// Nobody stuck, nothing told, however often it looks.
func TestCriticalAnalyzerAtRest(t *testing.T) {
	n := startNode(t, `<critical-analyzer-timeout>1000</critical-analyzer-timeout><critical-analyzer-check-period>1</critical-analyzer-check-period><addresses>`+address("a", `<queue name="q"/>`)+`</addresses>`)
	for i := range 50 {
		n.edit(`<addresses>` + address(fmt.Sprint("a", i), "") + `</addresses>`)
	}
	if n.logged("AMQ2240") != 0 || n.logged("AMQ224107") != 0 {
		t.Error("something was told to be stuck")
	}
}
