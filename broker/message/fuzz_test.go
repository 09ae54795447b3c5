package message

import (
	"bytes"
	"errors"
	"testing"

	"github.com/saranga-mq/saranga/wire/buf"
)

// visit reads everything there is in a message.
func visit(t *testing.T, m *Message) {
	_ = m.Address() + m.UserIDText()
	_, _, _ = m.GroupID(), m.DuplicateID(), m.UserID()
	_, _ = m.TextBody()
	_, _, _ = m.Type(), m.Size(), m.PersistentSize()
	for _, name := range []string{"a", "m.x", "JMSType", "JMSCorrelationID", "JMSXUserID", PropGroupSequence, PropGroupID} {
		_ = m.Property(name).Any()
	}
	for p := m.Properties(); ; {
		_, v, ok := p.Next()
		if !ok {
			break
		}
		_ = v.Any()
	}
	if m.RecordSize() != len(m.AppendRecord(nil)) {
		t.Fatalf("record of %d bytes, said %d", len(m.AppendRecord(nil)), m.RecordSize())
	}
}

func FuzzParseCore(f *testing.F) {
	for i, c := range captures(f) {
		if i%8 == 0 && c.Form == "2x" {
			f.Add(unhex(c.Msg))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseCore(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		visit(t, m)
		r := buf.NewReader(m.Block()[m.props:]) // the other reader of properties
		if r.Props(); r.Err() != nil || r.Len() != 0 {
			t.Fatalf("properties: %v, %d bytes left", r.Err(), r.Len())
		}
		var pool Pool
		copied, err := pool.Build(m.Edit())
		if err != nil || copied.Address() != m.Address() || !bytes.Equal(copied.Body(), m.Body()) || copied.Properties().Len() != m.Properties().Len() {
			t.Fatalf("copy %+v of %+v, %v", copied, m, err)
		}
		back, err := pool.NewCore1x(m.Append1x(nil))
		if err != nil || !bytes.Equal(back.Block(), m.Block()) {
			t.Fatalf("through 1.x: %+v, %v", back, err)
		}
	})
}

func FuzzFromRecord(f *testing.F) {
	for i, g := range goldenRecords(f) {
		if i%300 == 0 || g.kind == RecordLargeMessage || g.payload[0] != persisterCore {
			f.Add(g.kind == RecordLargeMessage, g.payload)
		}
	}
	f.Fuzz(func(t *testing.T, large bool, b []byte) {
		kind := byte(RecordMessage)
		if large {
			kind = RecordLargeMessage
		}
		_, _, _ = SplitRecord(b)
		var pool Pool
		m, err := pool.FromRecord(kind, b)
		if err != nil {
			assertDrained(t, &pool)
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		visit(t, m)
		again, err := pool.FromRecord(kind, m.AppendRecord(nil))
		if err != nil || !bytes.Equal(again.AppendRecord(nil), m.AppendRecord(nil)) {
			t.Fatalf("read again %+v, %v", again, err)
		}
		again.Release()
		m.Release()
		assertDrained(t, &pool)
	})
}

// Any bytes as the AMQP encoding of a record: what is accepted can be looked at, edited and read again.
func FuzzAMQP(f *testing.F) {
	for _, g := range goldenRecords(f) {
		if m, err := new(Pool).FromRecord(g.kind, g.payload); err == nil && m.Encoding() == AMQP && !m.IsLarge() {
			f.Add(m.amqp.encoding)
		}
	}
	f.Fuzz(func(t *testing.T, encoding []byte) {
		record := amqpRecord(persisterAMQP, "", "", 0)
		record = append(record[:len(record)-4], byte(len(encoding)>>24), byte(len(encoding)>>16), byte(len(encoding)>>8), byte(len(encoding)))
		pool := Pool{Now: func() int64 { return testNow }}
		m, err := pool.FromRecord(RecordMessage, append(record, encoding...))
		if err != nil {
			return
		}
		visit(t, m)
		b := m.Edit()
		address := "other"
		b.Address, b.Expiration = &address, 0
		b.Set(PropOrigQueue, "q")
		copied, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		visit(t, copied)
		rest := m.amqp.encoding[m.amqp.fromApplication:]
		if copied.Address() != "other" || copied.Expiration() != 0 || copied.IsDurable() != m.IsDurable() || copied.Priority() != m.Priority() ||
			!bytes.Equal(copied.amqp.encoding[copied.amqp.fromApplication:], rest) {
			t.Fatalf("copy %+v of %+v", copied, m)
		}
		copied.Release()
		m.Release()
		assertDrained(t, &pool)
	})
}
