package message

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A message of 2.56.0: no body, address "e.c", no user id, no properties (core-protocol §8).
const smallest = `0000000d 0000000000000000 01 00000006 65002e006300 00 00 00 0000000000000000 000001a22c37fa79 04 00`

func TestSmallest(t *testing.T) {
	m, err := ParseCore(unhex(smallest))
	if err != nil {
		t.Fatal(err)
	}
	if m.Address() != "e.c" || m.IsDurable() || m.Type() != Default || m.Priority() != 4 || m.Timestamp() != 0x1a22c37fa79 ||
		len(m.Body()) != 0 || m.UserID() != nil || m.UserIDText() != "" || m.RoutingType() != Unspecified || m.Special() != 0 ||
		m.Size() != 44 || m.PersistentSize() != 44 || m.ID() != 0 || m.Properties().Len() != 0 || m.IsLarge() {
		t.Errorf("parsed %+v", m)
	}
	m.SetID(77)
	if want := strings.Replace(smallest, "0000000000000000", "000000000000004d", 1); !bytes.Equal(m.Block(), unhex(want)) {
		t.Errorf("with id 77: %x", m.Block())
	}
	if text := "hello"; !bytes.Equal(AppendText(nil, text), unhex("01 0000000a 680065006c006c006f00")) {
		t.Errorf("text body %x", AppendText(nil, text))
	}
}

// An encoder that never opened the body may leave four meaningless bytes (journal §5.2).
func TestUnopenedBody(t *testing.T) {
	m, err := ParseCore(unhex(strings.Replace(smallest, "0000000d", "00000011 deadbeef", 1)))
	if err != nil || m.Address() != "e.c" || len(m.Body()) != 4 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestMalformedCore(t *testing.T) {
	header := `0000000000000000 00 00 00 00 0000000000000000 0000000000000000 04 `
	for name, block := range map[string]string{
		"empty":                         ``,
		"cut end of body":               `000000`,
		"end of body below the least":   `0000000c 00` + header + `00`,
		"negative end of body":          `ffffffff` + header + `00`,
		"end of body behind the end":    `00001000` + header + `00`,
		"end of body of 2 GiB":          `7fffffff` + header + `00`,
		"no header":                     `0000000d`,
		"no properties":                 `0000000d` + header,
		"cut address":                   `0000000d 0000000000000000 01 00000008 6100`,
		"negative address":              `0000000d 0000000000000000 01 fffffffe 6100 00 00 00 0000000000000000 0000000000000000 04 00`,
		"odd address":                   `0000000d 0000000000000000 01 00000001 61 00 00 00 0000000000000000 0000000000000000 04 00`,
		"cut user id":                   `0000000d 0000000000000000 00 01 0102030405`,
		"more after the properties":     `0000000d` + header + `00 00`,
		"count without properties":      `0000000d` + header + `01 00000001`,
		"negative count":                `0000000d` + header + `01 ffffffff`,
		"a count for 8 GiB":             `0000000d` + header + `01 7fffffff 00000000 00`,
		"property type 1":               `0000000d` + header + `01 00000001 00000002 6100 01`,
		"property type 12":              `0000000d` + header + `01 00000001 00000002 6100 0c`,
		"cut long":                      `0000000d` + header + `01 00000001 00000002 6100 07 00000000`,
		"bytes behind the end":          `0000000d` + header + `01 00000001 00000002 6100 04 00000100 00`,
		"odd string":                    `0000000d` + header + `01 00000001 00000002 6100 0a 00000003 610062`,
		"second property missing":       `0000000d` + header + `01 00000002 00000002 6100 00 00000000`,
		"routing type without a value":  `0000000d` + header + `01 00000001 00000022 5f0041004d0051005f0052004f005500540049004e0047005f005400590050004500 03`,
		"property name longer than all": `0000000d` + header + `01 00000001 7ffffffe 6100`,
	} {
		if m, err := ParseCore(unhex(block)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		var pool Pool
		if m, err := pool.NewCore(unhex(block)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: pooled %+v, %v", name, m, err)
		}
		assertDrained(t, &pool)
	}
}

func TestMalformed1x(t *testing.T) {
	header := ` 0000000000000000 00 00 00 00 0000000000000000 0000000000000000 04 00`
	for name, block := range map[string]string{
		"empty":                ``,
		"2.x end of body":      `0000000d 00000038` + header,
		"negative":             `ffffffff 00000038` + header,
		"behind the end":       `00000200 00000038` + header,
		"no end of message":    `00000011 0000`,
		"no header":            `00000011 00000011`,
		"end at the very last": `00000013 0102 00000001`,
	} {
		var pool Pool
		if m, err := pool.NewCore1x(unhex(block)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		assertDrained(t, &pool)
	}
}

func TestMalformedRecord(t *testing.T) {
	block := strings.Join(strings.Fields(smallest), "")
	for name, r := range map[string]struct {
		kind    byte
		payload string
	}{
		"no payload":            {RecordMessage, ``},
		"a reference":           {32, `0000000000000001`},
		"persister 0":           {RecordMessage, `00 0000000000000001`},
		"persister 6":           {RecordMessage, `06 0000000000000001`},
		"cut id":                {RecordMessage, `01 00000000`},
		"cut address":           {RecordMessage, `01 0000000000000001 01 00000006 6500`},
		"cut message":           {RecordMessage, `01 0000000000000001 00 0000002c 0000000d`},
		"negative message":      {RecordMessage, `01 0000000000000001 00 ffffffff 0000000d`},
		"bytes after a message": {RecordMessage, `01 0000000000000001 00 0000002c` + block + `00`},
		"large, cut":            {RecordLargeMessage, `0000000000000001 00`},
		"large, empty":          {RecordLargeMessage, ``},
	} {
		var pool Pool
		if m, err := pool.FromRecord(r.kind, unhex(r.payload)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		assertDrained(t, &pool)
	}
	for name, payload := range map[string]string{
		"empty":       ``,
		"persister 0": `00`,
		"cut message": `01 0000000000000001 00 0000002c 0000000d`,
		"cut AMQP":    `05 0000000000000001 0000000000000000 00 00000000 00000000 000000`,
		"cut large":   `04 0000000000000001 01 0000000000000000 00 00000000 ffffffff 00000000 c0`,
	} {
		if payload, _, err := SplitRecord(unhex(payload)); !errors.Is(err, ErrMalformed) {
			t.Errorf("split %s: %x, %v", name, payload, err)
		}
	}
}

// The id and the address in front of the message win over those inside (journal §5.2).
func TestOuterAddressWins(t *testing.T) {
	block := strings.Join(strings.Fields(smallest), "")
	var pool Pool
	for name, c := range map[string]struct{ outer, want string }{
		"other address": {`01 00000004 78007900`, "xy"},
		"same address":  {`01 00000006 65002e006300`, "e.c"},
		"empty address": {`01 00000000`, ""},
		"no address":    {`00`, ""},
	} {
		payload := unhex(`01 00000000000003e8 ` + c.outer + ` 0000002c ` + block)
		m, err := pool.FromRecord(RecordMessage, payload)
		if err != nil {
			t.Fatal(name, err)
		}
		if m.ID() != 1000 || m.Address() != c.want || m.Timestamp() != 0x1a22c37fa79 {
			t.Errorf("%s: id %d, address %q", name, m.ID(), m.Address())
		}
		if null := c.outer == `00`; null != (m.RawAddress() == nil) {
			t.Errorf("%s: raw address %x", name, m.RawAddress())
		}
		again, err := ParseCore(m.Block())
		if err != nil || again.ID() != 1000 || again.Address() != c.want {
			t.Errorf("%s: block %+v, %v", name, again, err)
		}
		m.Release()
	}
	assertDrained(t, &pool)
}

func TestSpecialProperties(t *testing.T) {
	type fields struct {
		special   Special
		routing   RoutingType
		scheduled int64
	}
	none := fields{0, Unspecified, 0}
	for _, c := range []struct {
		name  string
		value any
		want  fields
	}{
		{PropRoutingType, int8(0), fields{0, Multicast, 0}},
		{PropRoutingType, int8(1), fields{0, Anycast, 0}},
		{PropRoutingType, int8(2), none},
		{PropRoutingType, int8(-1), none},
		{PropRoutingType, int32(1), none},
		{PropRoutingType, nil, none},
		{PropScheduled, int64(5), fields{HasScheduled, Unspecified, 5}},
		{PropScheduled, int32(5), fields{HasScheduled, Unspecified, 5}},
		{PropScheduled, int64(0), none},
		{PropScheduled, int64(-5), none},
		{PropScheduled, "5", none},
		{PropGroupID, "g", fields{HasGroupID, Unspecified, 0}},
		{PropDuplicateID, "d", fields{HasDuplicateID, Unspecified, 0}},
		{PropDuplicateID, []byte{1}, fields{HasDuplicateID, Unspecified, 0}},
		{PropDuplicateID, int32(1), none},
		{PropLastValue, "k", fields{HasLastValue, Unspecified, 0}},
		{PropBridgeDuplicate, []byte{1}, fields{HasBridgeDupID, Unspecified, 0}},
		{PropValidatedUser, "u", fields{HasValidatedUsr, Unspecified, 0}},
		{"_AMQ_ROUTE_TOabc", []byte{1}, fields{HasInternal, Unspecified, 0}},
		{"_AMQ_ACK_ROUTE_TOabc", []byte{1}, fields{HasInternal, Unspecified, 0}},
		{"_AMQ_ROUTE_TO", []byte{1}, fields{HasInternal, Unspecified, 0}},
		{"_AMQ_ACK_ROUTE_TO", []byte{1}, fields{HasInternal, Unspecified, 0}},
		{"_AMQ_ROUTE_T", []byte{1}, none},
		{PropOrigQueue, "q", fields{HasOrigMessage, Unspecified, 0}},
		{"_AMQ_GROUP_IDx", "g", none},
		{"_AMQ_GROUP_I", "g", none},
		{"_AMQ_FOO", "g", none},
		{"_AMQ", "g", none},
		{"\u5f5f_AMQ_GROUP_ID", "g", none},
		{"", "g", none},
	} {
		b := New("a", Text)
		b.Set("before", "x")
		b.Set(c.name, c.value)
		b.Set("behind", "y")
		var pool Pool
		m, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := (fields{m.Special(), m.RoutingType(), m.Scheduled()}); got != c.want {
			t.Errorf("%s = %v: %+v, want %+v", c.name, c.value, got, c.want)
		}
		if !m.HasProperty(c.name) {
			t.Errorf("%s is not there", c.name)
		}
		m.Release()
		assertDrained(t, &pool)
	}
}

// Ids for duplicate detection: a string counts as its UTF-16LE bytes (queue-semantics §12), so that "x" equals 78 00.
func TestDuplicateAndGroupID(t *testing.T) {
	var pool Pool
	for _, c := range []struct {
		value any
		want  []byte
	}{{"x", []byte{0x78, 0}}, {[]byte{0x78, 0}, []byte{0x78, 0}}, {nil, nil}} {
		b := New("a", Default)
		b.Set(PropDuplicateID, c.value)
		b.Set(PropGroupID, "g")
		m, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.DuplicateID(); !bytes.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%v: duplicate id %x, want %x", c.value, got, c.want)
		}
		if !bytes.Equal(m.GroupID(), []byte{'g', 0}) {
			t.Errorf("group %x", m.GroupID())
		}
		m.Release()
	}
	m, err := ParseCore(unhex(smallest))
	if err != nil || m.DuplicateID() != nil || m.GroupID() != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestUserIDText(t *testing.T) {
	var pool Pool
	for _, c := range []struct {
		id     []byte
		native any
		want   string
	}{
		{unhex("11cb7973ecb111f1b24d02fc00000001"), nil, "ID:11cb7973-ecb1-11f1-b24d-02fc00000001"},
		// as a real client saw it: version and variant are forced
		{unhex("0102030405060708090a0b0c0d0e0f10"), "n", "ID:01020304-0506-1708-890a-0b0c0d0e0f10"},
		{nil, "ID:native", "ID:native"},
		{nil, nil, ""},
	} {
		b := New("a", Text)
		b.UserID = c.id
		if c.native != nil {
			b.Set(PropNativeID, c.native)
		}
		m, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.UserIDText(); got != c.want {
			t.Errorf("%x, %v: %q, want %q", c.id, c.native, got, c.want)
		}
		m.Release()
	}
}

func TestPriorityIsAtMost9(t *testing.T) {
	for _, c := range []struct {
		wire string
		want uint8
	}{{"00", 0}, {"09", 9}, {"0a", 9}, {"ff", 9}} {
		m, err := ParseCore(unhex(strings.Replace(smallest, "79 04 00", "79 "+c.wire+" 00", 1)))
		if err != nil || m.Priority() != c.want {
			t.Errorf("priority %s: %d, %v", c.wire, m.Priority(), err)
		}
	}
}

func TestTextBody(t *testing.T) {
	for _, c := range []struct {
		body string
		text string
		ok   bool
	}{
		{"01 0000000a 680065006c006c006f00", "hello", true},
		{"01 00000000", "", true},
		{"00", "", false},
		{"", "", false},
		{"01 0000000a 6800", "", false},
	} {
		b := New("a", Text)
		b.Body = unhex(c.body)
		m, err := ParseCore(b.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := m.TextBody(); text != c.text || ok != c.ok {
			t.Errorf("%s: %q, %v", c.body, text, ok)
		}
	}
}

func TestInternalProperty(t *testing.T) {
	for name, want := range map[string]bool{
		"_AMQ_ROUTE_TO": false, "_AMQ_ROUTE_TOabc": true, "_AMQ_ACK_ROUTE_TO": false, "_AMQ_ACK_ROUTE_TO1": true, "_AMQ_FOO": false, "": false,
	} {
		if IsInternalProperty(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestRoutingTypeText(t *testing.T) {
	for r, want := range map[RoutingType]string{Multicast: "MULTICAST", Anycast: "ANYCAST", Unspecified: "UNSPECIFIED", 7: "UNSPECIFIED"} {
		if r.String() != want {
			t.Errorf("%d is %s, want %s", int8(r), r, want)
		}
	}
}

// The mark and the count of one message do not show on the next that uses its memory.
func TestReuse(t *testing.T) {
	var pool Pool
	for range 3 {
		m, err := pool.NewCore(unhex(smallest))
		if err != nil {
			t.Fatal(err)
		}
		if m.ID() != 0 || m.Durable.Load() != 0 || m.Queued.Load() != 0 || !m.MarkUndeliverable() || m.MarkUndeliverable() || m.IsLarge() || m.Encoding() != Core {
			t.Errorf("new message %+v", m)
		}
		m.SetID(9)
		m.Durable.Store(3)
		m.Queued.Store(3)
		m.Release()
		large, err := pool.NewCoreLarge(smallestHeaders(), &fakeBody{})
		if err != nil || !large.IsLarge() {
			t.Fatal(err)
		}
		large.Release()
		amqp, err := pool.FromRecord(RecordMessage, amqpRecord(persisterAMQP, body, "", 0))
		if err != nil || amqp.Encoding() != AMQP {
			t.Fatal(err)
		}
		amqp.Release()
	}
	assertDrained(t, &pool)
}

func smallestHeaders() []byte { return unhex(smallest)[4:] }
