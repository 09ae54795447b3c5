//go:build linux

package partition

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/drill"
)

// workload is what the clients do throughout, each from an address of its own.
func (w *world) workload(log *os.File) drill.Workload {
	load := drill.Workload{URLs: brokerNames, Rate: w.plan.Rate}
	var mu sync.Mutex
	load.Log = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(log, "%s %s\n", time.Now().Format("15:04:05.000"), line)
	}
	for _, c := range clientNames {
		load.Dialers = append(load.Dialers, dialer{drill.Core{User: user, Password: password, CallTimeout: 3 * time.Second}, w, c})
	}
	return load
}

// A dialer connects from a client's address. Its URLs are names of brokers.
type dialer struct {
	drill.Core
	w      *world
	client string
}

// Dial implements drill.Dialer.
func (d dialer) Dial(ctx context.Context, broker string) (drill.Client, error) {
	c, err := d.Core.Dial(ctx, d.w.url(d.client, broker))
	if err != nil {
		return nil, err
	}
	return pairClient{c, drill.TermInfo{Node: broker, Sequence: c.Node().Sequence}}, nil
}

// A pairClient knows its broker by name.
type pairClient struct {
	drill.Client
	node drill.TermInfo
}

// Node implements drill.Client.
func (c pairClient) Node() drill.TermInfo { return c.node }
