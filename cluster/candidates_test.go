package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/wire/buf"
)

// TestCandidates is ha §2.5, as scripts: "up N [primary port] [backup port] [group]", "down", "refused N", and "next T", whose
// result is "N port,port" or "wait MS".
func TestCandidates(t *testing.T) {
	for name, c := range map[string]struct {
		which  Which
		script string // command => result
	}{
		"any node, each in turn, again after the wait": {Which{}, `
			next 0 => wait 1000
			up a 1 2
			next 10 => a 1,2
			next 20 => a 1,2
			up b 3 0
			refused a
			next 30 => b 3
			refused b
			next 40 => wait 1000
			next 1039 => wait 1
			next 1040 => a 1,2
			refused a
			next 1050 => b 3`},
		"any node: the topology tells of one that was tried": {Which{}, `
			up a 1 0
			refused a
			next 0 => wait 1000
			up a 1 5
			next 1 => a 1,5`},
		"any node: one that goes down makes room": {Which{}, `
			up a 1 0
			up b 2 0
			refused a
			refused b
			down
			next 0 => a 1`},
		"any node: without connectors it is a candidate still": {Which{}, `
			up a 0 0
			next 0 => a -
			refused a
			refused a
			refused nobody
			next 0 => wait 1000`},
		"not those of this process": {Which{NotHosted: []string{"a"}}, `
			up a 1 0
			next 0 => wait 1000
			up b 2 0
			next 1 => b 2`},
		"a group": {Which{GroupName: "g"}, `
			up a 1 0
			up b 2 0 h
			up c 0 9 g
			next 0 => wait 1000
			up d 3 4 g
			next 1 => d 3,4
			refused d
			down
			next 2 => wait 1000
			next 1002 => d 3,4`},
		"a node that fails back": {Which{NodeID: "x"}, `
			up a 1 0
			next 0 => wait 1000
			up x 0 5
			next 500 => wait 500
			up x 6 5
			next 501 => x 6,5
			up x 7 0
			next 502 => x 7
			refused x
			down
			next 503 => wait 1000
			next 1503 => x 7`},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewCandidates(c.which, 1000)
			for line := range strings.Lines(strings.TrimSpace(c.script)) {
				command, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
				f := strings.Fields(command)
				switch f[0] {
				case "up":
					m := Member{NodeID: f[1]}
					if f[2] != "0" {
						m.Primary = tc(number(t, f[2]))
					}
					if f[3] != "0" {
						m.Backup = tc(number(t, f[3]))
					}
					if len(f) > 4 {
						m.BackupGroupName = buf.Of(f[4])
					}
					l.NodeUp(m)
				case "down":
					l.NodeDown()
				case "refused":
					l.Refused(f[1])
				case "next":
					found, ok, wait := l.Next(int64(number(t, f[1])))
					got := fmt.Sprintf("wait %d", wait)
					if ok {
						var ports []string
						for _, connector := range found.Connectors {
							port, _ := connector.Text("port")
							ports = append(ports, port)
						}
						got = found.NodeID + " " + strings.Join(ports, ",")
						if len(ports) == 0 {
							got += "-"
						}
					}
					if got != want {
						t.Errorf("%s: %s, want %s", command, got, want)
					}
				}
			}
		})
	}
}

func number(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
