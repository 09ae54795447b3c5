package drill_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/drill"
)

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// workload is a small one.
func workload(nodes ...*fakeNode) drill.Workload {
	w := drill.Workload{Dialers: []drill.Dialer{drill.Core{User: "admin", Password: "admin"}}, Rate: 200, Streams: drill.DefaultStreams()}
	for i := range w.Streams {
		w.Streams[i].Rate = min(w.Streams[i].Rate, 50)
	}
	for _, n := range nodes {
		w.URLs = append(w.URLs, n.url())
	}
	return w
}

// more waits for so many more acknowledgements of sends and receipts.
func more(t testing.TB, r *drill.Run, n uint64) {
	t.Helper()
	from := r.Progress()
	brokertest.Until(t, "acknowledgements", func() bool {
		p := r.Progress()
		return p.Acknowledged >= from.Acknowledged+n && p.Consumed >= from.Consumed+n
	})
}

// TestWorkload: a perfect pair passes, whoever connects again.
func TestWorkload(t *testing.T) {
	for _, x := range []struct {
		name      string
		reconnect bool
	}{{"Dial", false}, {"Reconnect", true}} {
		t.Run(x.name, func(t *testing.T) {
			var sequence atomic.Int64
			b := engine(t, &sequence, management.Node{})
			one, two := newNode(t, b, &sequence), newNode(t, b, &sequence)
			w := workload(one, two)
			w.Dialers = []drill.Dialer{drill.Core{User: "admin", Password: "admin", Reconnect: x.reconnect, Others: w.URLs}}
			one.open()
			before := len(b.Addresses())
			ctx := within(t)
			run, err := w.Start(ctx)
			if err != nil {
				t.Fatal(err)
			}
			more(t, run, 300)
			for range 3 {
				one.close()
				two.open()
				more(t, run, 100)
				two.close()
				one.open()
				more(t, run, 100)
			}
			h, err := run.Stop(ctx)
			if err != nil {
				t.Error(err)
			}
			v := drill.Check(h)
			t.Log(v)
			if !v.OK() {
				t.Error("the verdict is bad")
			}
			if v.Acknowledged < 900 || v.Consumed < 900 {
				t.Error("too little was done")
			}
			for _, a := range b.Addresses() {
				if strings.HasPrefix(a.Name(), "saranga.drill.") {
					t.Errorf("the address %s is left", a.Name())
				}
			}
			if after := len(b.Addresses()); after != before {
				t.Errorf("%d addresses afterwards, %d before", after, before)
			}
		})
	}
}
