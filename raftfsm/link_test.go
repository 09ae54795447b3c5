package raftfsm

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestMutePeer: a connection on which nothing is answered is given up, one that answers late is not.
func TestMutePeer(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers bool
	}{{"mute", false}, {"slow", true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				l := newLink(near)
				go l.run()
				go func() {
					if !c.answers {
						_, _ = io.Copy(io.Discard, far)
						return
					}
					for {
						f, err := readFrame(far)
						if err != nil {
							return
						}
						time.AfterFunc(500*time.Millisecond, func() { _, _ = far.Write(frame{kindReply, f.ID, nil}.append(nil)) })
					}
				}()
				for range 10 {
					ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
					_, _ = l.ask(ctx, kindReport, nil)
					cancel()
				}
				synctest.Wait()
				ended := false
				select {
				case <-l.done:
					ended = true
				default:
				}
				if ended == c.answers {
					t.Errorf("the connection has ended: %v", ended)
				}
				near.Close()
				far.Close()
				<-l.done
			})
		})
	}
}
