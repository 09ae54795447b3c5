package transport

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A relay passes every frame of its connection to another one, as a queue with a consumer would.
type relay struct {
	*framed
	to atomic.Pointer[Conn]
}

func (r *relay) EndOfBatch(*Conn) {
	if to := r.to.Load(); to != nil {
		to.Output().Flush()
	}
}

func newRelay(t testing.TB) (producer, consumer *net.TCPConn) {
	var in *relay
	ready := make(chan *Conn, 2)
	s := serve(t, Config{}, nil, func(*Conn) Handler {
		r := &relay{framed: newFramed(nil)}
		r.onFrame = func(h *framed, p []byte) error {
			if to := r.to.Load(); to != nil {
				send(to, p)
				return nil
			}
			ready <- h.c
			return nil
		}
		if in == nil {
			in = r
		}
		return r
	})
	producer = s.dialCore(t)
	write(t, producer, frame(nil))
	<-ready
	consumer = s.dialCore(t)
	write(t, consumer, frame(nil))
	in.to.Store(<-ready)
	producer.SetDeadline(time.Time{})
	consumer.SetDeadline(time.Time{})
	return producer, consumer
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRelay is row M1 without a protocol: 1 KiB frames from one connection to another, at most 1000 sent and not
// yet received. CPU is that of relay and client together; the client writes and reads without looking at the bytes.
func BenchmarkRelay(b *testing.B) {
	const window, size = 1000, 4 + 1024
	producer, consumer := newRelay(b)
	one := frame(make([]byte, size-4))
	var batch []byte
	for len(batch) < 64<<10 {
		batch = append(batch, one...)
	}
	var received atomic.Int64
	wake := make(chan struct{}, 1)
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	go func() {
		for sent := 0; sent < b.N; {
			room := window - (sent - int(received.Load()/size))
			if room == 0 {
				<-wake
				continue
			}
			n := min(room, len(batch)/size, b.N-sent)
			if _, err := producer.Write(batch[:n*size]); err != nil {
				return
			}
			sent += n
		}
	}()
	buf := make([]byte, 256<<10)
	for received.Load() < int64(b.N)*size {
		n, err := consumer.Read(buf)
		if err != nil {
			b.Fatal(err)
		}
		received.Add(int64(n))
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkRelayClosedLoop is row M2 without a protocol: one message in flight.
func BenchmarkRelayClosedLoop(b *testing.B) {
	producer, consumer := newRelay(b)
	one := frame(make([]byte, 1024))
	buf := make([]byte, len(one))
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	for range b.N {
		if _, err := producer.Write(one); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(consumer, buf); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
}
