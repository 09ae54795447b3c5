package primary

import (
	"fmt"
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
)

// line tells a live packet in the words of ha.md §2.8.
func line(x core.Packet) string {
	of := func(j int8) string {
		if j == core.JournalMessages {
			return ""
		}
		return " bindings"
	}
	switch x := x.(type) {
	case *core.ReplicationAppend:
		tx := ""
		if x.InTx {
			tx = "_TX"
		}
		return fmt.Sprint("APPEND", tx, of(x.Journal), " ", map[core.RecordOperation]string{core.RecordAdd: "ADD", core.RecordUpdate: "UPDATE", core.RecordEvent: "EVENT"}[x.Operation], " ", x.RecordType)
	case *core.ReplicationDelete:
		if x.InTx {
			return fmt.Sprint("DELETE_TX", of(x.Journal))
		}
		return fmt.Sprint("DELETE", of(x.Journal))
	case *core.ReplicationPrepare:
		return fmt.Sprintf("PREPARE %x", x.ExtraData)
	case *core.ReplicationCommitRollback:
		if x.Rollback {
			return fmt.Sprint("ROLLBACK", of(x.Journal))
		}
		return fmt.Sprint("COMMIT", of(x.Journal))
	case *core.ReplicationLargeBegin:
		return "LARGE_BEGIN"
	case *core.ReplicationLargeWrite:
		return fmt.Sprint("LARGE_WRITE ", len(x.Body))
	case *core.ReplicationLargeEnd:
		return fmt.Sprint("LARGE_END ", x.IsDelete)
	}
	return fmt.Sprint(x.Type())
}

// Each operation gives the packets of the table in ha.md §2.8, which is from a capture. The one difference is the deletion of a
// large message, whose file goes after its record.
func TestLiveStream(t *testing.T) {
	xid := broker.Xid{Format: 1, Global: "gtrid", Branch: "br"}
	type world struct {
		n     *node
		queue int64
		plain func() int64 // the id of a message in the queue, which was sent before
		large int64
	}
	tests := []struct {
		name string
		do   func(w *world) stored
		want []string
	}{
		{"durable send", func(w *world) stored { _, x := w.n.send(w.queue, "x"); return x }, []string{"APPEND ADD 45", "APPEND UPDATE 32"}},
		{"durable send with duplicate id", func(w *world) stored {
			m, tx := w.n.text("x"), w.n.store.NextID()
			defer m.Release()
			return w.n.append(broker.Op{Kind: broker.OpAddDuplicate, Tx: tx, ID: w.n.store.NextID(), Name: "orders", Bytes: []byte("dup")},
				broker.Op{Kind: broker.OpAddMessage, Tx: tx, Msg: m}, broker.Op{Kind: broker.OpAddRef, Tx: tx, Msg: m, Queue: w.queue}, broker.Op{Kind: broker.OpCommit, Tx: tx})
		}, []string{"APPEND_TX ADD 37", "APPEND_TX ADD 45", "APPEND_TX UPDATE 32", "COMMIT"}},
		{"ack", func(w *world) stored {
			id, tx := w.plain(), w.n.store.NextID()
			return w.n.append(broker.Op{Kind: broker.OpAckRef, Tx: tx, ID: id, Queue: w.queue}, broker.Op{Kind: broker.OpCommit, Tx: tx}, broker.Op{Kind: broker.OpDeleteMessage, ID: id})
		}, []string{"APPEND_TX UPDATE 33", "COMMIT", "DELETE"}},
		{"rollback", func(w *world) stored {
			id, m, tx := w.plain(), w.n.text("x"), w.n.store.NextID()
			defer m.Release()
			return w.n.append(broker.Op{Kind: broker.OpAddMessage, Tx: tx, Msg: m}, broker.Op{Kind: broker.OpAddRef, Tx: tx, Msg: m, Queue: w.queue},
				broker.Op{Kind: broker.OpAckRef, Tx: tx, ID: id, Queue: w.queue}, broker.Op{Kind: broker.OpRollback, Tx: tx}, broker.Op{Kind: broker.OpDeliveryCount, ID: id, Queue: w.queue, N: 1})
		}, []string{"APPEND_TX ADD 45", "APPEND_TX UPDATE 32", "APPEND_TX UPDATE 33", "ROLLBACK", "APPEND UPDATE 34"}},
		{"XA prepare and commit", func(w *world) stored {
			m, tx := w.n.text("x"), w.n.store.NextID()
			defer m.Release()
			w.n.append(broker.Op{Kind: broker.OpAddMessage, Tx: tx, Msg: m}, broker.Op{Kind: broker.OpAddRef, Tx: tx, Msg: m, Queue: w.queue}, broker.Op{Kind: broker.OpPrepare, Tx: tx, Xid: xid})
			return w.n.append(broker.Op{Kind: broker.OpCommit, Tx: tx})
		}, []string{"APPEND_TX ADD 45", "APPEND_TX UPDATE 32", "PREPARE 00000001000000026272000000056774726964", "COMMIT"}}, // the capture's bytes
		{"large send", func(w *world) stored {
			var x stored
			w.large, x = w.n.large(w.queue, "big", 25000)
			return x
		}, []string{"LARGE_BEGIN", "LARGE_WRITE 10000", "LARGE_WRITE 10000", "LARGE_WRITE 5000", "LARGE_END false", "APPEND ADD 30", "APPEND UPDATE 32"}},
		{"large ack", func(w *world) stored {
			tx := w.n.store.NextID()
			x := w.n.append(broker.Op{Kind: broker.OpAckRef, Tx: tx, ID: w.large, Queue: w.queue}, broker.Op{Kind: broker.OpCommit, Tx: tx}, broker.Op{Kind: broker.OpDeleteMessage, ID: w.large})
			w.n.store.DeleteBody(w.large)
			return x
		}, []string{"APPEND_TX UPDATE 33", "COMMIT", "DELETE", "LARGE_END true"}},
		{"create queue", func(w *world) stored {
			id := w.n.store.NextID()
			if err := w.n.store.StoreAddress(broker.AddressRecord{ID: id, Name: "a", RoutingTypes: broker.AnycastSet}); err != nil {
				t.Error(err)
			}
			w.n.queue("a")
			return nil
		}, []string{"APPEND_TX bindings ADD 44", "COMMIT bindings", "APPEND_TX bindings ADD 21", "COMMIT bindings"}},
		{"delete queue", func(w *world) stored {
			if err := w.n.store.DeleteQueue(w.queue); err != nil {
				t.Error(err)
			}
			return nil
		}, []string{"DELETE_TX bindings", "COMMIT bindings"}},
	}
	n := newNode(t, fs.NewMem(), nil)
	w := &world{n: n, queue: n.queue("q")}
	var spare []int64
	for range 2 {
		id, x := n.send(w.queue, "before")
		<-x
		spare = append(spare, id)
	}
	w.plain = func() int64 { id := spare[0]; spare = spare[1:]; return id }
	p := n.attach(wireVersion)
	for _, test := range tests {
		before, _ := p.count()
		if x := test.do(w); x != nil {
			<-x
		}
		lines := func() (out []string) {
			for _, x := range p.all()[before:] {
				out = append(out, line(x))
			}
			return out
		}
		until(t, test.name+": the packets", func() bool { return len(lines()) >= len(test.want) })
		if got := lines(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	n.close(p)
}

// Peers before 2.18 and 2.24 get the encodings they know.
func TestOldPeers(t *testing.T) {
	for _, v := range []core.Version{130, 132} {
		n := newNode(t, fs.NewMem(), nil)
		writePage(t, n.o.FS, "data/paging/x", "pg.a", []byte("{page}"))
		q := n.queue("q")
		p := n.attach(v) // it decodes with its version, and panics on what it does not know
		_, w := n.send(q, "x")
		<-w
		all := p.all()
		var finish *core.ReplicationStartFinishSync
		for _, x := range all {
			if x, ok := x.(*core.ReplicationStartFinishSync); ok && x.Finished {
				finish = x
			}
		}
		if finish.DataType.Valid != (v >= 131) {
			t.Errorf("%d: finish packet %+v", v, finish)
		}
		if got := []string{line(all[len(all)-2]), line(all[len(all)-1])}; !slices.Equal(got, []string{"APPEND ADD 45", "APPEND UPDATE 32"}) {
			t.Errorf("%d: %q", v, got)
		}
		if c := after(t, n.o, all); len(c.refs) != 1 {
			t.Errorf("%d: the replica holds %v", v, c)
		}
		n.close(p)
	}
}
