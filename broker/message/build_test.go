package message

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/wire/buf"
)

type namedValue struct {
	name  string
	value any
}

func drawValue(t *rapid.T) any {
	return rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.Int8(), func(v int8) any { return v }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(v []byte) any { return append([]byte{}, v...) }),
		rapid.Map(rapid.Int16(), func(v int16) any { return v }),
		rapid.Map(rapid.Int32(), func(v int32) any { return v }),
		rapid.Map(rapid.Int64(), func(v int64) any { return v }),
		rapid.Map(rapid.Float32(), func(v float32) any { return v }),
		rapid.Map(rapid.Float64(), func(v float64) any { return v }),
		rapid.Map(rapid.String(), func(v string) any { return v }),
		rapid.Map(rapid.Uint16(), func(v uint16) any { return v }),
	).Draw(t, "value")
}

func drawBuilder(t *rapid.T) *Builder {
	b := &Builder{
		Type:       Type(rapid.SampledFrom([]uint8{0, 2, 3, 4, 5, 6}).Draw(t, "type")),
		Durable:    rapid.Bool().Draw(t, "durable"),
		Expiration: rapid.Int64().Draw(t, "expiration"),
		Timestamp:  rapid.Int64().Draw(t, "timestamp"),
		Priority:   rapid.Uint8Range(0, 9).Draw(t, "priority"),
		Body:       rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body"),
	}
	if rapid.Bool().Draw(t, "has address") {
		address := rapid.String().Draw(t, "address")
		b.Address = &address
	}
	if rapid.Bool().Draw(t, "has user id") {
		b.UserID = rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "user id")
	}
	return b
}

// What is put into a Builder comes out of the message, whatever the order of Set and Remove, and editing without a change
// gives the same bytes. A map and a list are the model.
func TestBuilder(t *testing.T) {
	var pool Pool
	rapid.Check(t, func(t *rapid.T) {
		b := drawBuilder(t)
		var model []namedValue
		remove := func(name string) bool {
			for i, p := range model {
				if p.name == name {
					model = append(model[:i:i], model[i+1:]...)
					return true
				}
			}
			return false
		}
		names := rapid.SampledFrom([]string{"a", "b", "c", "ü", "_AMQ_ORIG_QUEUE", "", "a b"})
		var m *Message
		build := func() {
			var err error
			if m, err = pool.Build(b); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			name := names.Draw(t, "name")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if got := b.Remove(func(n string) bool { return n == name }); got != remove(name) {
					t.Fatalf("Remove(%q) = %v", name, got)
				}
			case 1: // go through an encoded message
				build()
				b = m.Edit()
				defer m.Release()
			default:
				value := drawValue(t)
				remove(name)
				model = append(model, namedValue{name, value})
				b.Set(name, value)
			}
		}
		build()
		defer m.Release()

		if m.IsDurable() != b.Durable || m.Type() != b.Type || m.Expiration() != b.Expiration || m.Timestamp() != b.Timestamp ||
			m.Priority() != b.Priority || !bytes.Equal(m.Body(), b.Body) || !bytes.Equal(m.UserID(), b.UserID) {
			t.Fatalf("built %+v from %+v", m, b)
		}
		if (b.Address == nil) != (m.RawAddress() == nil) || b.Address != nil && m.Address() != *b.Address {
			t.Fatalf("address %q", m.Address())
		}
		i := 0
		for p := m.Properties(); ; i++ {
			key, value, ok := p.Next()
			if !ok {
				break
			}
			if i >= len(model) || buf.StringFromSS(key) != model[i].name || !same(value.Any(), model[i].value) {
				t.Fatalf("property %d is %q = %v, want %v", i, buf.StringFromSS(key), value.Any(), model)
			}
			if got := b.Get(model[i].name); !same(got.Any(), model[i].value) || !same(m.Property(model[i].name).Any(), model[i].value) {
				t.Fatalf("Get(%q) = %v", model[i].name, got.Any())
			}
		}
		if i != len(model) {
			t.Fatalf("%d properties, want %v", i, model)
		}
		again, err := pool.Build(m.Edit())
		if err != nil || !bytes.Equal(again.Block(), m.Block()) {
			t.Fatalf("edited without a change: %x, was %x, %v", again.Block(), m.Block(), err)
		}
		again.Release()
	})
	assertDrained(t, &pool)
}

func same(a, b any) bool {
	if f, ok := a.(float32); ok && math.IsNaN(float64(f)) {
		g, ok := b.(float32)
		return ok && math.IsNaN(float64(g))
	}
	if f, ok := a.(float64); ok && math.IsNaN(f) {
		g, ok := b.(float64)
		return ok && math.IsNaN(g)
	}
	return reflect.DeepEqual(a, b)
}

// What expiry does to a message (queue-semantics §9.2). The first message must not notice.
func TestExpiryCopy(t *testing.T) {
	var pool Pool
	b := New("orders", Text)
	b.Durable, b.Expiration, b.Timestamp, b.UserID = true, 1000, 77, unhex("11cb7973ecb111f1b24d02fc00000001")
	b.Body = AppendText(nil, "hello")
	b.Set("k", "v")
	b.Set(PropRoutingType, int8(1))
	b.Set(PropOrigQueue, "older")
	b.Set(PropDuplicateID, "d1")
	m, err := pool.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	m.SetID(2817)
	before := bytes.Clone(m.Block())

	c := m.Edit()
	expiry := "ExpiryQueue"
	c.Address, c.Expiration = &expiry, 0
	if !c.Remove(func(name string) bool { return strings.HasPrefix(name, "_AMQ_ORIG_") || name == PropRoutingType }) {
		t.Error("nothing removed")
	}
	c.Set(PropOrigAddress, m.Address())
	c.Set(PropOrigQueue, "orders")
	c.Set(PropOrigMessageID, m.ID())
	c.Set(PropOrigRoutingType, int8(m.RoutingType()))
	c.Set(PropActualExpiry, int64(1001))
	copied, err := pool.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Block(), before) {
		t.Errorf("the first message changed to %x", m.Block())
	}
	got := map[string]any{}
	for p := copied.Properties(); ; {
		key, v, ok := p.Next()
		if !ok {
			break
		}
		got[buf.StringFromSS(key)] = v.Any()
	}
	want := map[string]any{"k": "v", PropDuplicateID: "d1", PropOrigAddress: "orders", PropOrigQueue: "orders",
		PropOrigMessageID: int64(2817), PropOrigRoutingType: int8(1), PropActualExpiry: int64(1001)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("properties %v, want %v", got, want)
	}
	text, _ := copied.TextBody()
	if copied.ID() != 0 || copied.Address() != "ExpiryQueue" || copied.Expiration() != 0 || copied.Timestamp() != 77 || !copied.IsDurable() ||
		text != "hello" || copied.RoutingType() != Unspecified || copied.Special() != HasDuplicateID|HasOrigMessage || !bytes.Equal(copied.UserID(), m.UserID()) {
		t.Errorf("copy %+v, text %q", copied, text)
	}
	copied.Release()
	m.Release()
	assertDrained(t, &pool)
}

// A large message is edited without its body; the copy owns the file that it is given.
func TestLarge(t *testing.T) {
	var pool Pool
	first, second := &fakeBody{size: 1000, holds: 1}, &fakeBody{size: 1000, holds: 1}
	b := New("big", Bytes)
	b.Set(PropLargeSize, int64(1000))
	b.SetLarge(first)
	m, err := pool.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	if !m.IsLarge() || m.Large() != first || m.RecordType() != RecordLargeMessage || !bytes.Equal(m.AppendRecord(nil), m.Headers()) ||
		m.Size() != len(m.Headers()) || m.PersistentSize() != int64(len(m.Headers()))+1000 || len(m.Body()) != 0 {
		t.Errorf("large message %+v", m)
	}
	parsed, err := ParseCoreHeaders(m.Headers())
	if err != nil || !parsed.IsLarge() || parsed.Address() != "big" {
		t.Errorf("parsed headers %+v, %v", parsed, err)
	}
	c := m.Edit()
	address := "DLQ"
	c.Address = &address
	copied, err := pool.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	if !copied.IsLarge() || copied.Large() != nil || copied.RecordType() != RecordLargeMessage {
		t.Errorf("copy %+v", copied)
	}
	copied.SetLarge(second)
	m.Release()
	if first.holds != 0 || second.holds != 1 {
		t.Errorf("holds %d and %d after the first message went", first.holds, second.holds)
	}
	copied.Release()
	if second.holds != 0 {
		t.Errorf("%d holds after the copy went", second.holds)
	}
	assertDrained(t, &pool)
}

func TestSetRefusesOtherTypes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a struct was taken as a property")
		}
	}()
	New("a", Text).Set("k", struct{}{})
}
