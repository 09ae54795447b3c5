package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
)

func TestStuck(t *testing.T) {
	t.Run("write", func(t *testing.T) {
		j, f, _ := faultyJournal(t, nil)
		if d := j.Stuck(); d != 0 {
			t.Errorf("at rest: %v", d)
		}
		blocked, release := blockWrites(f)
		r := &recorder{}
		post(t, j, r, 1)
		<-blocked
		until(t, "the batch is 2 ms old", func() bool { return j.Stuck() >= 2*time.Millisecond })
		release()
		until(t, "the flusher rests", func() bool { return j.Stuck() == 0 && len(r.all()) == 1 })
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("waiter", func(t *testing.T) { // somebody who is told does not come back
		j, _, _ := faultyJournal(t, nil)
		enter, leave := make(chan bool), make(chan bool)
		j.Start(Hooks{BatchEnd: func() {
			if enter != nil {
				close(enter)
				enter = nil
				<-leave
			}
		}})
		told := enter
		post(t, j, &recorder{}, 1)
		<-told
		until(t, "the batch is 2 ms old", func() bool { return j.Stuck() >= 2*time.Millisecond })
		close(leave)
		until(t, "the flusher rests", func() bool { return j.Stuck() == 0 })
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("file", func(t *testing.T) { // an append waits for a file that cannot be made
		f := fs.NewFaulty(newMem(t))
		j := open(t, testOptions(f))
		hold := make(chan bool)
		f.SetHook(func(op fs.Op, name string) {
			if op == fs.OpCreate && strings.Contains(name, ".amq") {
				<-hold
			}
		})
		r := &recorder{}
		done := make(chan bool)
		go func() {
			defer close(done)
			for id := range int64(500) { // several files of them
				post(t, j, r, id+1)
			}
		}()
		until(t, "an append has waited 2 ms for a file", func() bool { return j.rolling.running() >= 2*time.Millisecond && j.Stuck() >= 2*time.Millisecond })
		close(hold)
		<-done
		until(t, "nothing waits", func() bool { return j.Stuck() == 0 })
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}
