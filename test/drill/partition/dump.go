//go:build linux

package partition

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/saranga-mq/saranga/drill"
)

// writeHistory writes all sends and receipts, a line each, with the times that logs have.
func writeHistory(file string, h *drill.History, began time.Time) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	at := func(t drill.Time) string { return began.Add(t.Duration()).Format("15:04:05.000") }
	for _, p := range h.Producers {
		for i := range p.Len() {
			s := p.At(i)
			fmt.Fprintf(out, "send %v %s sent %s answered %s by %v: %v, attempts %d\n", p.ID(i), p.Name, at(s.Sent), at(s.Answered), h.TermInfo(s.Term), s.Outcome, s.Attempts)
		}
	}
	for n, c := range h.Consumers {
		for i := range c.Len() {
			r := c.At(i)
			fmt.Fprintf(out, "receipt %v consumer %d of %s received %s answered %s from %v: %v\n", r.ID(), n, c.Queue.Name, at(r.Received), at(r.Answered), h.TermInfo(r.Term), r.Outcome)
		}
	}
	return out.Flush()
}
