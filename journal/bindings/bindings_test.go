package bindings

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
)

// ss is a SimpleString in hex; nss a nullable one.
func ss(s string) string {
	out := fmt.Sprintf("%08x", 2*len(s))
	for _, c := range []byte(s) {
		out += fmt.Sprintf("%02x00", c)
	}
	return out
}

func nss(s string) string { return "01" + ss(s) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The layout of spec journal §4.1, field by field.
func TestQueueLayout(t *testing.T) {
	q := broker.QueueRecord{ID: 5, QueueConfig: broker.QueueConfig{Name: "q", Address: "a", Filter: "x = 1", User: "bob", Durable: true, AutoCreated: true,
		MaxConsumers: 3, PurgeOnNoConsumers: true, Routing: message.Anycast, Exclusive: true, LastValue: true, ConfigurationManaged: true,
		ConsumersBeforeDispatch: 2, DelayBeforeDispatch: 1000, LastValueKey: "k", NonDestructive: true, GroupRebalance: true, GroupBuckets: 16,
		AutoDelete: true, AutoDeleteDelay: 5000, AutoDeleteMessageCount: -1, GroupFirstKey: "f", RingSize: 77, Enabled: true,
		GroupRebalancePauseDisp: true, Internal: true}}
	want := ss("q") + ss("a") + nss("x = 1") + nss("user=bob;") + "01" + "00000003 01 01" + "01 01 01" + "00000002" + "00000000000003e8" +
		nss("k") + "01 01 00000010 01" + "0000000000001388" + "ffffffffffffffff" + nss("f") + "000000000000004d" + "01 01 01"
	if got := AppendQueue(nil, &q); !slices.Equal(got, unhex(t, want)) {
		t.Errorf("got  %x\nwant %s", got, want)
	}
	if got, err := ReadQueue(5, unhex(t, want)); err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What older writers left out takes its default (spec §4.1 and pitfall 25).
func TestShortQueue(t *testing.T) {
	short := ss("old") + ss("old.a") + "00" + nss("") + "00"
	want := broker.QueueRecord{ID: 1, QueueConfig: broker.NewQueueConfig("old")}
	want.Address = "old.a"
	if got, err := ReadQueue(1, unhex(t, short)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	want.MaxConsumers, want.Routing = 7, message.Anycast
	if got, err := ReadQueue(1, unhex(t, short+"00000007 00 01")); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for _, bad := range []string{"", short[:20], short + "0000", short + "00000007 00 05"} {
		if _, err := ReadQueue(1, unhex(t, bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestAddressLayout(t *testing.T) {
	a := broker.AddressRecord{ID: 9, Name: "both", RoutingTypes: broker.SetOf(message.Anycast, message.Multicast), AutoCreated: true}
	want := ss("both") + "00000002 00 01" + "01 00"
	if got := AppendAddress(nil, &a); !slices.Equal(got, unhex(t, want)) {
		t.Errorf("got %x, want %s", got, want)
	}
	for _, payload := range []string{want, want[:len(want)-3]} { // internal is optional
		if got, err := ReadAddress(9, unhex(t, payload)); err != nil || got != a {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	for _, bad := range []string{ss("x") + "7fffffff", ss("x") + "00000001 09 00"} {
		if _, err := ReadAddress(9, unhex(t, bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestConfigRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`[a-zA-Zäß世#*. =]{0,20}`)
	long := rapid.OneOf(text, rapid.Map(rapid.IntRange(1, 2), func(n int) string { return strings.Repeat("long text ", 300*n) }))
	rapid.Check(t, func(t *rapid.T) {
		c := broker.StoredConfig{Kind: rapid.SampledFrom([]broker.ConfigKind{broker.AddressSettingConfig, broker.SecuritySettingConfig,
			broker.DivertConfigKind, broker.UserConfig, broker.RoleConfig, broker.ConnectorConfig, broker.KeyValueConfig}).Draw(t, "kind")}
		c.Key = text.Draw(t, "key")
		switch c.Kind {
		case broker.AddressSettingConfig:
			c.JSON = long.Draw(t, "json")
		case broker.SecuritySettingConfig:
			c.Roles = rapid.SliceOfN(text, 12, 12).Draw(t, "roles")
		case broker.RoleConfig:
			c.Roles = rapid.SliceOfN(text, 1, 4).Draw(t, "roles")
		case broker.DivertConfigKind:
			c.Divert = broker.DivertConfig{Name: c.Key, Address: text.Draw(t, "address"), ForwardAddress: text.Draw(t, "forward"),
				RoutingName: text.Draw(t, "routing name"), Exclusive: rapid.Bool().Draw(t, "exclusive"), Filter: text.Draw(t, "filter"),
				RoutingType: broker.DivertRouting(rapid.IntRange(0, 3).Draw(t, "routing"))}
			if rapid.Bool().Draw(t, "transformer") {
				c.Divert.TransformerClass, c.Divert.TransformerProps = "T", map[string]string{"a": "1", "b": text.Draw(t, "b")}
			}
		case broker.KeyValueConfig:
			c.Key, c.Text = text.Draw(t, "map")+"\x00"+c.Key, long.Draw(t, "text")
		default:
			c.Text = long.Draw(t, "text")
		}
		got, ok, err := ReadConfig(TypeOf(c.Kind), AppendConfig(nil, &c))
		if err != nil || !ok || !reflect.DeepEqual(got, c) {
			t.Fatalf("got %+v, %v, %v\nwant %+v", got, ok, err, c)
		}
	})
	if _, ok, err := ReadConfig(99, []byte("abc")); ok || err != nil {
		t.Errorf("type 99: %v, %v", ok, err)
	}
}

// Reservations as spec §3.1 has them: 2^31-1 ids at a time, the record takes an id of its own.
func TestIDs(t *testing.T) {
	type record struct{ id, value int64 }
	var stored []record
	store := func(id, value int64) error { stored = append(stored, record{id, value}); return nil }
	g := NewIDs()
	if err := g.Reserve(store); err != nil {
		t.Fatal(err)
	}
	if a, b := g.Next(), g.Next(); a != 2 || b != 3 {
		t.Errorf("ids %d, %d", a, b)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []record{{1, 2147483647}, {5, 5}}; !slices.Equal(stored, want) {
		t.Errorf("stored %v, want %v", stored, want)
	}
	stored = nil
	g = NewIDs()
	g.Load(68)
	if err := g.Reserve(store); err != nil {
		t.Fatal(err)
	}
	if a, b := g.Next(), g.Next(); a != 69 || b != 71 {
		t.Errorf("ids %d, %d", a, b)
	}
	if want := []record{{70, 69 + 2147483647}}; !slices.Equal(stored, want) {
		t.Errorf("stored %v, want %v", stored, want)
	}
	// The next reservation, by many at once: stored before an id of it is given out.
	g.next.Store(69 + 2147483647 - 10)
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[int64]bool{}
	for range 8 {
		all.Go(func() {
			for range 10 {
				id := g.Next()
				mu.Lock()
				if seen[id] {
					t.Errorf("id %d twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(stored) != 2 || stored[1].value != 69+2*2147483647 || seen[stored[1].id] {
		t.Errorf("stored %v", stored)
	}
}

func TestIDsNotStored(t *testing.T) {
	broken := errors.New("broken")
	g := NewIDs()
	if err := g.Reserve(func(int64, int64) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// FuzzRead: no payload of any type makes a reader do more than return an error.
func FuzzRead(f *testing.F) {
	for _, s := range []string{ss("q") + ss("a") + "00" + nss("") + "00", ss("both") + "00000002000101", "0000000000000001 0000"} {
		f.Add(byte(TypeQueue), unhex(f, s))
	}
	f.Add(byte(TypeDivert), AppendConfig(nil, &broker.StoredConfig{Kind: broker.DivertConfigKind, Divert: broker.DivertConfig{Name: "d", TransformerClass: "T", TransformerProps: map[string]string{"k": "v"}}}))
	f.Fuzz(func(t *testing.T, userType byte, b []byte) {
		if q, err := ReadQueue(1, b); err == nil {
			if again, err := ReadQueue(1, AppendQueue(nil, &q)); err != nil || again != q {
				t.Errorf("%+v is not %+v, %v", again, q, err)
			}
		}
		if a, err := ReadAddress(1, b); err == nil {
			if again, err := ReadAddress(1, AppendAddress(nil, &a)); err != nil || again != a {
				t.Errorf("%+v is not %+v, %v", again, a, err)
			}
		}
		_, _ = ReadStatus(b)
		_, _ = ReadIDCounter(b)
		_, _ = ReadBridge(b)
		_, _, _ = ReadConfig(userType, b)
	})
}
