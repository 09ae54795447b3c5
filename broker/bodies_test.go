package broker_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// TestBodiesSyncedBehind: while a body is being synced its session goes on, nothing of the message is stored or answered, and
// whatever order the syncs end in, messages are stored, answered and queued in the order in which they were sent. The one whose
// sync fails is refused.
func TestBodiesSyncedBehind(t *testing.T) {
	b := brokertest.New(t, nil)
	var mu sync.Mutex
	var begun []int64
	syncs := map[int64]chan error{}
	ending := func(id int64) chan error {
		mu.Lock()
		defer mu.Unlock()
		if syncs[id] == nil {
			syncs[id] = make(chan error, 1)
		}
		return syncs[id]
	}
	b.Store.SyncBody = func(id int64) error {
		mu.Lock()
		begun = append(begun, id)
		mu.Unlock()
		return <-ending(id)
	}
	b.CreateAnycast("q")
	c := b.Connect(brokertest.AutoCommit)
	var ids []int64
	for i := range int64(3) {
		c.PostLarge(brokertest.Text("q", "", message.Anycast), []byte{'A' + byte(i)}, 100+i)
		b.Until("the sync", func() bool {
			mu.Lock()
			defer mu.Unlock()
			if len(begun) == int(i)+1 {
				ids = append(ids, begun[i])
				return true
			}
			return false
		})
	}
	ending(ids[2]) <- nil
	failed := errors.New("no luck")
	ending(ids[1]) <- failed
	if got := c.Answers(); !c.Unstored() || len(got) != 0 || b.Queue("q").MessageCount() != 0 {
		t.Errorf("answers %v and %d messages before the first body is on disk", got, b.Queue("q").MessageCount())
	}
	for _, op := range b.Store.Ops() {
		if op.Kind == broker.OpAddMessage {
			t.Errorf("message %d was stored before the first body is on disk", op.Msg.ID())
		}
	}
	ending(ids[0]) <- nil
	c.WaitStored()
	var answers []brokertest.Answered
	b.Until("the answers", func() bool { answers = append(answers, c.Answers()...); return len(answers) == 3 })
	for i, a := range answers {
		if a.ID != 100+int64(i) || errors.Is(a.Err, failed) != (i == 1) {
			t.Errorf("answer %d: %d, %v", i, a.ID, a.Err)
		}
	}
	k, err := c.Consume(broker.ConsumerOptions{Queue: "q"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, d := range k.Wait(2) {
		got = append(got, d.ID)
	}
	if want := []int64{ids[0], ids[2]}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}
