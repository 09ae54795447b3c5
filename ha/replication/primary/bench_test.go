package primary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// BenchmarkTap is the cost of one durable message (ADD of 1 KiB and UPDATE) under the append lock: the copy into the queue, and
// its part of sending and of counting the responses. It must not allocate.
func BenchmarkTap(b *testing.B) {
	var q queue
	q.init(wireVersion, 4<<20)
	add := journal.Record{Kind: journal.Add, UserType: 45, Payload: make([]byte, 1024)}
	ref := journal.Record{Kind: journal.Update, UserType: 32, Payload: make([]byte, 8)}
	now := time.Now()
	b.SetBytes(1024)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		add.ID, ref.ID = int64(i), int64(i)
		q.append(journal.MessagesJournal, journal.Mark(2*i+1), &add)
		q.append(journal.MessagesJournal, journal.Mark(2*i+2), &ref)
		if i%64 == 63 {
			frames, _, _ := q.take(0, now)
			q.sent(frames)
			if _, _, err := q.answer(128, false, now); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// An append allocates nothing once the queue has its memory.
func TestTapAllocatesNothing(t *testing.T) {
	var q queue
	q.init(wireVersion, 4<<20)
	r := journal.Record{Kind: journal.AddTx, UserType: 45, Payload: make([]byte, 1024)}
	now := time.Now()
	round := func() {
		for range 64 {
			q.append(journal.MessagesJournal, 1, &r)
		}
		frames, _, _ := q.take(0, now)
		q.sent(frames)
		if _, _, err := q.answer(64, false, now); err != nil {
			t.Fatal(err)
		}
	}
	round()
	round()
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("%v allocations for 64 records", n)
	}
}

// socket is a Link and its reader over a real connection, as the Core front makes them.
type socket struct {
	conn   *transport.Conn
	sender *Sender
	ready  chan struct{}
	ended  chan struct{}
}

func (s *socket) SendFrames(frames []byte, done transport.Releaser) {
	out := s.conn.Output()
	out.Lock()
	out.AppendRef(frames, done)
	out.Unlock()
	out.Flush()
}
func (s *socket) Close(reason error) { s.conn.Close(reason) }
func (s *socket) RemoteAddr() string { return s.conn.RemoteAddr() }

func (s *socket) Handle(_ *transport.Conn, data []byte) (int, error) {
	<-s.ready
	rest := data
	for len(rest) > 0 {
		f, after, need, err := core.Split(rest, 1<<20)
		if err != nil {
			return 0, err
		}
		if need > 0 {
			break
		}
		if err := s.sender.HandleFrame(f); err != nil {
			return 0, err
		}
		rest = after
	}
	return len(data) - len(rest), nil
}
func (s *socket) EndOfBatch(*transport.Conn)          { s.sender.EndOfBatch() }
func (s *socket) Drained(*transport.Conn)             {}
func (s *socket) Closed(_ *transport.Conn, err error) { s.sender.Gone(err); close(s.ended) }

// remote is a replica that answers and forgets.
func remote(nc net.Conn, bytes *atomic.Int64) error {
	response := core.Append(nil, core.ChannelReplication, &core.ReplicationResponse{Form: core.TypeReplicationResponse}, wireVersion)
	in, out := make([]byte, 1<<20), []byte(nil)
	have := 0
	for {
		n, err := nc.Read(in[have:])
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		bytes.Add(int64(n))
		have += n
		rest := in[:have]
		out = out[:0]
		for {
			f, after, need, err := core.Split(rest, len(in))
			if err != nil {
				return err
			}
			if need > 0 || len(rest) == 0 {
				break
			}
			if rest = after; f.Type == core.TypeReplicationStartFinishSync {
				x, err := core.Decode(f.Type, f.Payload, wireVersion)
				if err != nil {
					return err
				}
				out = core.Append(out, core.ChannelReplication, responseTo(x), wireVersion)
			} else {
				out = append(out, response...)
			}
		}
		have = copy(in, rest)
		if _, err := nc.Write(out); err != nil {
			return err
		}
	}
}

// connect registers a replica at the other end of a loopback connection.
func (n *node) connect(bytes *atomic.Int64) (end func()) {
	n.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		nc, err := l.Accept()
		if err != nil {
			n.t.Error(err)
			return
		}
		defer nc.Close()
		if err := remote(nc, bytes); err != nil {
			n.t.Error(err)
		}
	})
	conn, err := new(transport.Dialer).Dial(context.Background(), transport.ConnectorOptions{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port})
	if err != nil {
		n.t.Fatal(err)
	}
	s := &socket{conn: conn, ready: make(chan struct{}), ended: make(chan struct{})}
	conn.Start(s)
	if s.sender, err = n.p.Register(s, wireVersion, false); err != nil {
		n.t.Fatal(err)
	}
	close(s.ready)
	select {
	case <-n.sync:
	case l := <-n.lost:
		n.t.Fatal(l.Reason)
	}
	return func() {
		n.p.Close()
		<-s.ended
		l.Close()
		work.Wait()
	}
}

func diskNode(b *testing.B) *node {
	n := &node{t: b, o: storeOptions(fs.OS{}), lost: make(chan Lost, 10), sync: make(chan *Sender, 10), fatal: make(chan error, 1)}
	dir := b.TempDir()
	n.o.Bindings, n.o.Journal, n.o.Paging, n.o.Large = dir+"/bindings", dir+"/journal", dir+"/paging", dir+"/large"
	n.o.FileSize = 10 << 20
	n.store, _ = load(b, n.o)
	n.store.Start(hooks{n.fatal})
	n.p = New(Options{Store: n.store, NodeID: nodeID, OnLost: func(l Lost) { n.lost <- l }, OnSynchronised: func(s *Sender) { n.sync <- s }})
	return n
}

type countdown struct{ *sync.WaitGroup }

func (c countdown) Stored() { c.Done() }

// BenchmarkDurable is durable messages of 1 KiB on a real disk, alone and with a replica at the other end of a loopback
// connection that keeps nothing: n appenders that each wait for each message.
func BenchmarkDurable(b *testing.B) {
	for _, appenders := range []int{1, 16, 128} {
		for _, replicated := range []bool{false, true} {
			b.Run(fmt.Sprintf("appenders=%d/replicated=%v", appenders, replicated), func(b *testing.B) {
				n := diskNode(b)
				q := n.queue("q")
				end := func() {}
				if replicated {
					end = n.connect(new(atomic.Int64))
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				var all sync.WaitGroup
				b.SetBytes(1024)
				b.ResetTimer()
				for range appenders {
					all.Go(func() {
						m := n.text(string(make([]byte, 480)))
						var w sync.WaitGroup
						ops := []broker.Op{{Kind: broker.OpAddMessage, Msg: m}, {Kind: broker.OpAddRef, Msg: m, Queue: q}, {Kind: broker.OpDeleteMessage, Msg: m}}
						for left.Add(-1) >= 0 {
							m.SetID(0)
							w.Add(1)
							if _, err := n.store.Append(ops, countdown{&w}, 0); err != nil {
								b.Error(err)
								return
							}
							w.Wait()
						}
						m.Release()
					})
				}
				all.Wait()
				b.StopTimer()
				end()
				if err := n.store.Close(); err != nil {
					b.Error(err)
				}
			})
		}
	}
}

// BenchmarkSynchronise is the copying of 64 MiB of journal files to a replica that keeps nothing.
func BenchmarkSynchronise(b *testing.B) {
	n := diskNode(b)
	n.o.FileSize = 10 << 20
	q := n.queue("q")
	var w stored
	for range 6 * 1024 {
		_, w = n.send(q, string(make([]byte, 5000)))
	}
	<-w
	var bytes atomic.Int64
	for b.Loop() {
		n.connect(&bytes)()
		n.p = New(Options{Store: n.store, NodeID: nodeID, OnLost: func(l Lost) { n.lost <- l }, OnSynchronised: func(s *Sender) { n.sync <- s }})
		n.store.Release()
	}
	b.SetBytes(bytes.Load() / int64(b.N))
	if err := n.store.Close(); err != nil {
		b.Error(err)
	}
}
