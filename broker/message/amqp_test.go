package message

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/wire/buf"
)

const testNow = 1_700_000_000_000

// amqpRecord is the record of message 5 at address "q".
func amqpRecord(persister byte, encoding, extra string, expiration int64) []byte {
	b := []byte{persister}
	b = binary.BigEndian.AppendUint64(b, 5)
	b = append(b, make([]byte, 8)...)
	b = buf.AppendSS(append(b, 1), "q")
	b = buf.AppendBlock(b, unhex(encoding))
	if persister >= persisterAMQPv2 {
		b = buf.AppendBlock(b, unhex(extra))
	}
	if persister == persisterAMQPv3 {
		b = binary.BigEndian.AppendUint64(b, uint64(expiration))
	}
	return b
}

func str(s string) string    { return fmt.Sprintf("a1%02x%x", len(s), s) }
func symbol(s string) string { return fmt.Sprintf("a3%02x%x", len(s), s) }

// sec is a section that is a list or map of n encoded items.
func sec(code string, compound byte, items ...string) string {
	all := unhex(strings.Join(items, ""))
	if len(all) >= 255 {
		return fmt.Sprintf("0053%s%02x%08x%08x%x", code, compound+0x10, 4+len(all), len(items), all)
	}
	return fmt.Sprintf("0053%s%02x%02x%02x%x", code, compound, 1+len(all), len(items), all)
}

func header(items ...string) string      { return sec("70", 0xc0, items...) }
func annotations(items ...string) string { return sec("72", 0xc1, items...) }
func properties(items ...string) string  { return sec("73", 0xc0, items...) }
func application(items ...string) string { return sec("74", 0xc1, items...) }

func fromAMQP(t *testing.T, pool *Pool, payload []byte) *Message {
	t.Helper()
	pool.Now = func() int64 { return testNow }
	m, err := pool.FromRecord(RecordMessage, payload)
	if err != nil {
		t.Fatal(err)
	}
	if m.Encoding() != AMQP || m.ID() != 5 || m.Address() != "q" || !bytes.Equal(m.AppendRecord(nil), payload) {
		t.Fatalf("read %+v", m)
	}
	return m
}

const (
	null    = "40"
	yes, no = "41", "42"
	body    = "005377a10568656c6c6f" // amqp-value "hello"
)

// What the broker takes from an AMQP message (amqp §5.1).
func TestAMQPFields(t *testing.T) {
	type fields struct {
		durable    bool
		priority   uint8
		expiration int64
		timestamp  int64
		scheduled  int64
		routing    RoutingType
		special    Special
	}
	plain := fields{priority: 4, routing: Unspecified}
	with := func(change func(f *fields)) fields {
		f := plain
		change(&f)
		return f
	}
	durable := with(func(f *fields) { f.durable = true })
	for name, c := range map[string]struct {
		encoding string
		want     fields
	}{
		"nothing":                    {"", plain},
		"body only":                  {body, plain},
		"empty header":               {header() + body, plain},
		"list0 header":               {"00537045" + body, plain},
		"durable":                    {header(yes) + body, durable},
		"durable as boolean 1":       {header("5601") + body, durable},
		"not durable":                {header(no) + body, plain},
		"null durable":               {header(null) + body, plain},
		"ulong descriptor":           {"00 80 0000000000000070 c0 02 01 41" + body, durable},
		"symbol descriptor":          {"00 a3 10 " + fmt.Sprintf("%x", "amqp:header:list") + " c0 02 01 41" + body, durable},
		"list32 header":              {"00 53 70 d0 00000005 00000001 41" + body, durable},
		"delivery annotations first": {"005371c10100" + header(yes) + body, durable}, // golden handold 103
		"delivery annotations":       {header(yes) + "005371c10100" + body, durable},
		"priority 9":                 {header(yes, "5009") + body, with(func(f *fields) { f.durable, f.priority = true, 9 })},
		"priority 200 acts as 9":     {header(no, "50c8") + body, with(func(f *fields) { f.priority = 9 })},
		"ttl":                        {header(no, null, "70000003e8") + body, with(func(f *fields) { f.expiration = testNow + 1000 })},
		"small ttl":                  {header(no, null, "5201") + body, with(func(f *fields) { f.expiration = testNow + 1 })},
		"ttl 0 is expired at once":   {header(no, null, "43") + body, with(func(f *fields) { f.expiration = testNow })},
		"expiry overrides ttl": {header(no, null, "5201") + properties(null, null, null, null, null, null, null, null, "8300000000000003e8") + body,
			with(func(f *fields) { f.expiration = 1000 })},
		"expiry 0 does not": {header(no, null, "5201") + properties(null, null, null, null, null, null, null, null, "830000000000000000") + body,
			with(func(f *fields) { f.expiration = testNow + 1 })},
		"creation time": {properties(null, null, null, null, null, null, null, null, null, "830000018bcfe56801") + body,
			with(func(f *fields) { f.timestamp = testNow + 1 })},
		"group": {properties(null, null, null, null, null, null, null, null, null, null, str("g")) + body,
			with(func(f *fields) { f.special = HasGroupID })},
		"delivery time": {annotations(symbol("x-opt-delivery-time"), "810000018bcfe56805") + body,
			with(func(f *fields) { f.special, f.scheduled = HasScheduled, testNow+5 })},
		"delivery time as ulong": {annotations(symbol("x-opt-delivery-time"), "800000018bcfe56805") + body,
			with(func(f *fields) { f.special, f.scheduled = HasScheduled, testNow+5 })},
		"delivery delay": {annotations(symbol("x-opt-delivery-delay"), "7100000007") + body,
			with(func(f *fields) { f.special, f.scheduled = HasScheduled, testNow+7 })},
		"time wins over delay": {annotations(symbol("x-opt-delivery-delay"), "7100000007", symbol("x-opt-delivery-time"), "5564") + body,
			with(func(f *fields) { f.special, f.scheduled = HasScheduled, 100 })},
		"delay 0":                   {annotations(symbol("x-opt-delivery-delay"), "5400") + body, plain},
		"delivery time as a string": {annotations(symbol("x-opt-delivery-time"), str("5")) + body, plain},
		"jms queue":                 {annotations(symbol("x-opt-jms-dest"), "5100") + body, with(func(f *fields) { f.routing = Anycast })},
		"jms topic":                 {annotations(symbol("x-opt-jms-dest"), "5101") + body, with(func(f *fields) { f.routing = Multicast })},
		"jms temporary queue":       {annotations(symbol("x-opt-jms-dest"), "5102") + body, with(func(f *fields) { f.routing = Anycast })},
		"jms temporary topic":       {annotations(symbol("x-opt-jms-dest"), "5103") + body, with(func(f *fields) { f.routing = Multicast })},
		"jms nothing":               {annotations(symbol("x-opt-jms-dest"), "5104") + body, plain},
		"routing type": {annotations(symbol("x-opt-jms-dest"), "5100", symbol("x-opt-routing-type"), "5100") + body,
			with(func(f *fields) { f.routing = Multicast })},
		"duplicate id":         {application(str(PropDuplicateID), str("d")) + body, with(func(f *fields) { f.special = HasDuplicateID })},
		"binary duplicate id":  {application(str(PropDuplicateID), "a00178") + body, with(func(f *fields) { f.special = HasDuplicateID })},
		"numeric duplicate id": {application(str(PropDuplicateID), "5101") + body, plain},
		"last value":           {application(str(PropLastValue), str("k")) + body, with(func(f *fields) { f.special = HasLastValue })},
		"annotations are null": {"00537240" + body, plain},
		"foreign body":         {header(yes) + "ffffffff", durable},
		"unknown section":      {header(yes) + "005399a10161" + properties(), durable},
		"broken application map is left alone": {header(yes) + "00 53 74 c1 03 04 a1 05" + body,
			durable},
	} {
		for _, persister := range []byte{persisterAMQP, persisterAMQPv2, persisterAMQPv3} {
			var pool Pool
			want := c.want
			if persister == persisterAMQPv3 { // there the record has the expiration
				want.expiration = 42
			}
			m := fromAMQP(t, &pool, amqpRecord(persister, c.encoding, "", 42))
			got := fields{m.IsDurable(), m.Priority(), m.Expiration(), m.Timestamp(), m.Scheduled(), m.RoutingType(), m.Special()}
			if got != want {
				t.Errorf("%s, persister %d: %+v, want %+v", name, persister, got, want)
			}
			size := len(unhex(c.encoding))
			if strings.Contains(c.encoding, "005371c10100") {
				size -= 6 // never sent on
			}
			if m.Size() != size || m.PersistentSize() != int64(size) || m.IsLarge() || m.RecordType() != RecordMessage {
				t.Errorf("%s: size %d, want %d", name, m.Size(), size)
			}
			m.Release()
			assertDrained(t, &pool)
		}
	}
}

// Names as filters look them up.
func TestAMQPProperty(t *testing.T) {
	encoding := header(yes) +
		annotations(symbol("x-a"), "7100000007", symbol("x-time"), "830000000000000001", symbol("x-null"), null) +
		properties(str("id"), "a003626f62", str("to"), str("subject"), str("reply"), str("ID:AMQP_ULONG:1"), null, null, null, null, str("grp"), "52ff") +
		application(
			str("string"), str("vä"), str("symbol"), symbol("s"), str("bool"), yes, str("bool8"), "5600",
			str("ubyte"), "50ff", str("byte"), "51ff", str("ushort"), "60ffff", str("short"), "61ffff",
			str("uint"), "70ffffffff", str("uint0"), "43", str("int"), "71ffffffff", str("smallint"), "54fe",
			str("ulong"), "80000000000000000a", str("ulong0"), "44", str("long"), "81ffffffffffffffff", str("smalllong"), "55fe",
			str("float"), "723fc00000", str("double"), "823ff8000000000000", str("char"), "730000005a", str("wide"), "730001f600",
			str("binary"), "a0020102", str("null"), null, str("uuid"), "98"+strings.Repeat("00", 16), str("list"), "c0020141", str("list0"), "45",
			str("string32"), "b1000000016e", str("_AMQ_X"), str("application")) + body
	extra := buf.AppendPropString(buf.AppendPropString(buf.AppendPropsHeader(nil, 2), "_AMQ_ORIG_QUEUE", "oq"), "_AMQ_X", "extra")
	var pool Pool
	m := fromAMQP(t, &pool, amqpRecord(persisterAMQPv3, encoding, fmt.Sprintf("%x", extra), 0))
	absent := "absent"
	for name, want := range map[string]any{
		"string": "vä", "symbol": "s", "bool": true, "bool8": false,
		"ubyte": int64(255), "byte": int8(-1), "ushort": int64(65535), "short": int16(-1),
		"uint": int64(1<<32 - 1), "uint0": int64(0), "int": int32(-1), "smallint": int32(-2),
		"ulong": int64(10), "ulong0": int64(0), "long": int64(-1), "smalllong": int64(-2),
		"float": float32(1.5), "double": 1.5, "char": uint16('Z'), "wide": absent,
		"binary": []byte{1, 2}, "null": nil, "uuid": absent, "list": absent, "list0": absent, "string32": "n",
		"m.x-a": int32(7), "m.x-time": absent, "m.x-null": nil, "m.string": absent, "x-a": absent,
		"JMSType": "subject", "JMSXGroupID": "grp", "_AMQ_GROUP_ID": "grp", "JMSXGroupSeq": int32(255), "_AMQ_GROUP_SEQUENCE": int32(255),
		"JMSXUserID": "bob", "JMSCorrelationID": "ID:AMQP_STRING:ID:AMQP_ULONG:1",
		"_AMQ_ORIG_QUEUE": "oq", "_AMQ_X": "application", "nothing": absent, "": absent,
	} {
		if has := m.HasProperty(name); has != (want != absent) {
			t.Errorf("HasProperty(%q) = %v", name, has)
		}
		got := m.Property(name).Any()
		if want == absent {
			want = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Property(%q) = %T %v, want %T %v", name, got, got, want, want)
		}
	}
	if !m.Has(HasGroupID) || !bytes.Equal(m.GroupID(), []byte{'g', 0, 'r', 0, 'p', 0}) || !m.Has(HasOrigMessage) || m.Properties().Len() != 2 {
		t.Errorf("group %x, special %b", m.GroupID(), m.Special())
	}
	if m.UserID() != nil || m.Body() != nil || m.RawAddress() != nil {
		t.Error("Core parts of an AMQP message")
	}
	m.Release()
}

func TestAMQPPropertyAbsent(t *testing.T) {
	var pool Pool
	m := fromAMQP(t, &pool, amqpRecord(persisterAMQP, body, "", 0))
	for _, name := range []string{"JMSType", "JMSXGroupID", PropGroupID, PropGroupSequence, "JMSXUserID", "JMSCorrelationID", "m.x", "x"} {
		if m.HasProperty(name) {
			t.Errorf("%s = %v", name, m.Property(name).Any())
		}
	}
	if got := m.Property("JMSXGroupSeq").Any(); got != int32(0) {
		t.Errorf("JMSXGroupSeq = %v", got)
	}
	if m.GroupID() != nil || m.DuplicateID() != nil || m.UserIDText() != "" {
		t.Error("ids of nothing")
	}
	m.Release()
}

// Ids as text: AMQUserID of a filter, and the correlation id in the form of JMS (amqp §6.4).
func TestAMQPIDs(t *testing.T) {
	uuid := "98 11cb7973ecb111f1b24d02fc00000001"
	for _, c := range []struct {
		id, userID  string
		correlation any
	}{
		{str("ID:x-1"), "ID:x-1", "ID:x-1"},
		{str("x-1"), "ID:x-1", "x-1"},
		{str("ID:AMQP_NO_PREFIX:x"), "ID:AMQP_NO_PREFIX:x", "ID:AMQP_STRING:ID:AMQP_NO_PREFIX:x"},
		{"8000000000ffffffff", "ID:4294967295", "ID:AMQP_ULONG:4294967295"},
		{"80ffffffffffffffff", "ID:18446744073709551615", "ID:AMQP_ULONG:18446744073709551615"},
		{"44", "ID:0", "ID:AMQP_ULONG:0"},
		{uuid, "ID:11cb7973-ecb1-11f1-b24d-02fc00000001", "ID:AMQP_UUID:11cb7973-ecb1-11f1-b24d-02fc00000001"},
		{"a00201fe", "ID:01FE", []byte{1, 0xfe}},
		{null, "", nil},
	} {
		var pool Pool
		m := fromAMQP(t, &pool, amqpRecord(persisterAMQP, properties(c.id, null, null, null, null, c.id)+body, "", 0))
		if m.UserIDText() != c.userID {
			t.Errorf("%s: user id %q, want %q", c.id, m.UserIDText(), c.userID)
		}
		if got := m.Property("JMSCorrelationID").Any(); !reflect.DeepEqual(got, c.correlation) {
			t.Errorf("%s: correlation id %v, want %v", c.id, got, c.correlation)
		}
		m.Release()
	}
}

// Where the address is when the record has none.
func TestAMQPAddress(t *testing.T) {
	build := func(address *string, encoding string, extra []byte) []byte {
		b := append([]byte{persisterAMQPv2}, make([]byte, 16)...)
		b = buf.AppendNSS(b, buf.Null[string]{V: "", Valid: false})
		if address != nil {
			b = buf.AppendSS(append(b[:17], 1), *address)
		}
		b = buf.AppendBlock(b, unhex(encoding))
		return buf.AppendBlock(b, extra)
	}
	q := "q"
	to := properties(null, null, str("to")) + body
	ad := buf.AppendPropString(buf.AppendPropsHeader(nil, 1), "_AMQ_AD", "ad")
	for _, c := range []struct {
		payload []byte
		want    string
	}{
		{build(&q, to, ad), "q"},
		{build(nil, to, ad), "ad"},
		{build(nil, to, nil), "to"},
		{build(nil, to, []byte{0}), "to"},
		{build(nil, body, nil), ""},
	} {
		m, err := new(Pool).FromRecord(RecordMessage, c.payload)
		if err != nil {
			t.Fatal(err)
		}
		if m.Address() != c.want {
			t.Errorf("address %q, want %q", m.Address(), c.want)
		}
		m.UseAddress("shared")
		if m.Address() != "shared" {
			t.Errorf("address %q", m.Address())
		}
		m.SetID(0x0102030405060708)
		if got := m.AppendRecord(nil); !bytes.Equal(got[1:9], []byte{1, 2, 3, 4, 5, 6, 7, 8}) || !bytes.Equal(got[9:], c.payload[9:]) {
			t.Errorf("record with an id %x", got)
		}
	}
}

// The Core type that a conversion gives (amqp §6.1).
func TestAMQPType(t *testing.T) {
	contentType := func(s string) string { return properties(null, null, null, null, null, null, symbol(s)) }
	const (
		data    = "005375a00568656c6c6f"
		notUTF8 = "005375a001ff"
	)
	for _, c := range []struct {
		encoding string
		want     Type
	}{
		{"", Bytes},
		{contentType("application/octet-stream"), Bytes},
		{contentType(javaObject), Object},
		{contentType("text/plain"), Text},
		{contentType("image/png"), Default},
		{data, Bytes},
		{contentType(javaObject) + data, Object},
		{contentType("application/octet-stream") + data, Bytes},
		{contentType("image/png") + data, Bytes},
		{contentType("text/plain") + data, Text},
		{contentType("Text/Plain; charset=utf-8") + data, Text},
		{contentType(`text/plain;x=1; charset="UTF-8"`) + data, Text},
		{contentType("text/plain; charset=latin1") + data, Bytes},
		{contentType("application/json") + data, Text},
		{contentType("application/soap+xml") + data, Text},
		{contentType("application/pdf") + data, Bytes},
		{contentType("text/plain") + notUTF8, Bytes},
		{"005376c00101", Stream},
		{"00537740", Text},
		{body, Text},
		{"005377a00161", Bytes},
		{contentType(javaObject) + "005377a00161", Object},
		{"005377c10100", Map},
		{"00537745", Stream},
		{"005377c0020141", Stream},
		{"0053775401", Bytes},
		{"005377" + symbol("s"), Bytes},
		{"ffff", Bytes},
	} {
		var pool Pool
		m := fromAMQP(t, &pool, amqpRecord(persisterAMQP, c.encoding, "", 0))
		if m.Type() != c.want {
			t.Errorf("%s: type %d, want %d", c.encoding, m.Type(), c.want)
		}
		m.Release()
	}
}

func TestMalformedAMQP(t *testing.T) {
	deep := strings.Repeat("00", 1000)
	large := func(sections string) string {
		return `04 0000000000000005 01 0000000000000000 00 00000000` + sections
	}
	const positions = `00000000 00000000`
	for name, payload := range map[string]string{
		"no id":                   `05 000000`,
		"no encoding":             `05 0000000000000005 0000000000000000 00`,
		"cut encoding":            `05 0000000000000005 0000000000000000 00 00000010 00`,
		"no expiration":           fmt.Sprintf("%x", amqpRecord(persisterAMQPv2, body, "", 0)[1:]),
		"bytes behind":            fmt.Sprintf("%x00", amqpRecord(persisterAMQPv3, body, "", 0)),
		"broken extra properties": fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, body, "0100000001", 0)),
		"bytes behind the extra":  fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, body, "0000", 0)),
		"cut header":              fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "005370c00502", "", 0)),
		"header is a map":         fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "005370c10100", "", 0)),
		"header is missing":       fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "005370", "", 0)),
		"properties are a string": fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "005373a10161", "", 0)),
		"annotations are a list":  fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "00537245", "", 0)),
		"no descriptor":           fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "00", "", 0)),
		"cut descriptor":          fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "0080000000", "", 0)),
		"compound without count":  fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "005370c000", "", 0)),
		"list of 4 GiB":           fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, "005370d0ffffffff00000000", "", 0)),
		"deep descriptors":        fmt.Sprintf("%x", amqpRecord(persisterAMQPv3, deep, "", 0)),
		"large without sections":  large(``),
		"large, cut header":       large(positions + `005370c005`),
		"large, header is a map":  large(positions + `005370c10100` + positions + `00000000 40 00000000 40` + positions + `40`),
		"large, wrong section":    large(positions + `005372c10100` + positions + `00000000 40 00000000 40` + positions + `40`),
		"large, bytes behind":     large(positions + `40` + positions + `00000000 40 00000000 40` + positions + `40 0000000000000000 00 00`),
	} {
		if name == "no expiration" {
			payload = "05" + payload
		}
		var pool Pool
		if m, err := pool.FromRecord(RecordMessage, unhex(payload)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		assertDrained(t, &pool)
	}
}

// sections lists what an encoding holds in a form that does not depend on sizes of constructors or the order of a map.
func sections(t *testing.T, encoding []byte) []string {
	var out []string
	for rest := encoding; len(rest) > 0; {
		v, next, ok := nextAMQP(rest)
		if !ok {
			t.Fatalf("section %x", rest)
		}
		rest = next
		descriptor, value, ok := v.described()
		if !ok {
			t.Fatalf("section %x", []byte(v))
		}
		text := fmt.Sprintf("%x:", sectionCode(descriptor))
		switch {
		case value.isList():
			fields := listFields(value)
			for len(fields) > 0 && fields[len(fields)-1].isNull() {
				fields = fields[:len(fields)-1]
			}
			for _, f := range fields {
				text += fmt.Sprintf(" %x", []byte(f))
			}
		case value.isMap():
			var pairs []string
			for k, v := range value.entries {
				name, _ := k.text()
				pairs = append(pairs, fmt.Sprintf(" %s=%x", name, []byte(v)))
			}
			slices.Sort(pairs)
			text += strings.Join(pairs, "")
		default:
			text += fmt.Sprintf(" %x", []byte(value))
		}
		out = append(out, text)
	}
	return out
}

// The copies that the real broker made of expired and rejected messages: ours say the same (amqp §5.4).
func TestAMQPCopies(t *testing.T) {
	file, err := os.ReadFile("testdata/amqp-copies.txt")
	if err != nil {
		t.Fatal(err)
	}
	copies := 0
	for line := range strings.Lines(string(file)) {
		f := strings.Fields(line)
		sent, delivered := unhex(f[1]), unhex(f[2])
		var pool Pool
		payload := amqpRecord(persisterAMQPv3, f[1], "", testNow+1)
		m := fromAMQP(t, &pool, payload)

		// what the broker did, by the annotations of its copy
		want := fromAMQP(t, &pool, amqpRecord(persisterAMQPv3, f[2], "", 0))
		get := func(name string) any { return want.Property("m." + name).Any() }
		address := "DLQ"
		if get("x-opt-ACTUAL-EXPIRY") != nil {
			address = "ExpiryQueue"
		}
		b := m.Edit()
		b.Address, b.Expiration = &address, 0
		b.Remove(func(name string) bool { return strings.HasPrefix(name, "_AMQ_ORIG_") || name == PropRoutingType })
		for _, p := range []struct{ property, annotation string }{
			{PropOrigQueue, "x-opt-ORIG-QUEUE"}, {PropOrigAddress, "x-opt-ORIG-ADDRESS"}, {PropOrigMessageID, "x-opt-ORIG-MESSAGE-ID"},
			{PropOrigRoutingType, "x-opt-ORIG-ROUTING-TYPE"}, {PropActualExpiry, "x-opt-ACTUAL-EXPIRY"},
		} {
			if v := get(p.annotation); v != nil {
				b.Set(p.property, v)
			}
		}
		copied, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sections(t, copied.amqp.encoding), sections(t, delivered); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: copy of %q\n got %q\nwant %q", f[0], sections(t, sent), got, want)
		}
		if copied.Address() != address || copied.Expiration() != 0 || copied.ID() != 0 || copied.IsDurable() != m.IsDurable() || !copied.Has(HasOrigMessage) ||
			copied.Property(PropOrigQueue).Any() != get("x-opt-ORIG-QUEUE") || copied.Property("_AMQ_AD").Any() != address || copied.AppendRecord(nil)[0] != persisterAMQPv3 {
			t.Errorf("%s: copy %+v", f[0], copied)
		}
		if !bytes.Equal(m.AppendRecord(nil), payload) {
			t.Errorf("%s: the first message changed", f[0])
		}
		for _, m := range []*Message{m, want, copied} {
			m.Release()
		}
		assertDrained(t, &pool)
		copies++
	}
	if copies == 0 {
		t.Error("no copies to compare with")
	}
}

// Changes of a copy, and what they must leave alone.
func TestAMQPEdit(t *testing.T) {
	full := header(yes, "5007", "5264", yes, "5203") + "005371c10100" +
		annotations(symbol("x-opt-routing-type"), "5101", symbol("x-other"), "c0020141", symbol("x-opt-ingress-time"), "5509") +
		properties(str("id"), null, str("q")) + application(str("k"), str("v")) + body
	rest := []string{"74: k=" + str("v"), "77: " + str("hello")}
	const maps = "72: x-opt-ingress-time=810000000000000009 x-opt-routing-type=5101 x-other=c0020141"
	for _, c := range []struct {
		name     string
		encoding string
		edit     func(b *Builder)
		want     []string
	}{
		{"nothing", full, func(*Builder) {},
			append([]string{"70: 41 5007 5264 41 5203", maps, "73: " + str("id") + " 40 " + str("q")}, rest...)},
		{"priority and durability", full, func(b *Builder) { b.Priority, b.Durable = 1, false },
			append([]string{"70: 42 5001 5264 41 5203", maps, "73: " + str("id") + " 40 " + str("q")}, rest...)},
		{"expiration", full, func(b *Builder) { b.Expiration = 9 },
			append([]string{"70: 41 5007 40 41 5203", maps, "73: " + str("id") + " 40 " + str("q") + " 40 40 40 40 40 830000000000000009"}, rest...)},
		{"timestamp", full, func(b *Builder) { b.Timestamp = 9 },
			append([]string{"70: 41 5007 5264 41 5203", maps, "73: " + str("id") + " 40 " + str("q") + " 40 40 40 40 40 40 830000000000000009"}, rest...)},
		{"no routing type", full, func(b *Builder) { b.Remove(func(n string) bool { return n == PropRoutingType }) },
			append([]string{"70: 41 5007 5264 41 5203", "72: x-opt-ingress-time=810000000000000009 x-other=c0020141", "73: " + str("id") + " 40 " + str("q")}, rest...)},
		{"expiration of a bare message", body, func(b *Builder) { b.Expiration = 9 },
			[]string{"73: 40 40 " + str("q") + " 40 40 40 40 40 830000000000000009", "77: " + str("hello")}},
		{"address of a bare message", body, func(b *Builder) { a := "other"; b.Address = &a },
			[]string{"77: " + str("hello")}},
		{"scheduled", body, func(b *Builder) { b.Set(PropScheduled, int64(5)) },
			[]string{"72: x-opt-delivery-time=810000000000000005", "77: " + str("hello")}},
		{"not scheduled any more", annotations(symbol("x-opt-delivery-delay"), "5405") + body, func(b *Builder) { b.Remove(func(n string) bool { return n == PropScheduled }) },
			[]string{"72:", "77: " + str("hello")}},
		{"a delay does not start again", annotations(symbol("x-opt-delivery-delay"), "5405") + body, func(*Builder) {},
			[]string{fmt.Sprintf("72: x-opt-delivery-time=81%016x", testNow+5), "77: " + str("hello")}},
		{"extra only", body, func(b *Builder) { b.Set("_AMQ_ROUTE_TOx", []byte{1}) },
			[]string{"77: " + str("hello")}},
		{"values of all types", body, func(b *Builder) {
			b.Set("_AMQ_ORIG_A", nil)
			b.Set("_AMQ_ORIG_B", true)
			b.Set("_AMQ_ORIG_C_D", []byte{1})
			b.Set("_AMQ_ORIG_E", int16(-2))
			b.Set("_AMQ_ORIG_F", int32(-3))
			b.Set("_AMQ_ORIG_G", float32(1.5))
			b.Set("_AMQ_ORIG_H", 1.5)
			b.Set("_AMQ_ORIG_I", uint16('Z'))
			b.Set("_AMQ_ORIG_J", false)
		}, []string{"72: x-opt-ORIG-A=40 x-opt-ORIG-B=41 x-opt-ORIG-C-D=a00101 x-opt-ORIG-E=61fffe x-opt-ORIG-F=71fffffffd" +
			" x-opt-ORIG-G=723fc00000 x-opt-ORIG-H=823ff8000000000000 x-opt-ORIG-I=730000005a x-opt-ORIG-J=42", "77: " + str("hello")}},
	} {
		var pool Pool
		m := fromAMQP(t, &pool, amqpRecord(persisterAMQP, c.encoding, "", 0))
		b := m.Edit()
		c.edit(b)
		copied, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := sections(t, copied.amqp.encoding); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.name, got, c.want)
		}
		if copied.Expiration() != b.Expiration || copied.Priority() != b.Priority || copied.IsDurable() != b.Durable || copied.Timestamp() != b.Timestamp || copied.Address() != *b.Address {
			t.Errorf("%s: copy %+v of %+v", c.name, copied, b)
		}
		if again, _, err := SplitRecord(copied.AppendRecord(nil)); err != nil || len(again) != copied.RecordSize() {
			t.Errorf("%s: split %x, %v", c.name, again, err)
		}
		copied.Release()
		m.Release()
		assertDrained(t, &pool)
	}
}

// A long name and many fields take the wide constructors.
func TestAMQPEditWide(t *testing.T) {
	var pool Pool
	m := fromAMQP(t, &pool, amqpRecord(persisterAMQP, annotations(symbol("x"), "5401")+properties(str("id"))+body, "", 0))
	b := m.Edit()
	address := strings.Repeat("long.", 100)
	b.Address = &address
	b.Set(PropOrigQueue, address)
	copied, err := pool.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	to, _ := copied.amqp.property(propTo).text()
	if string(to) != address || copied.Address() != address || copied.Property("m.x-opt-ORIG-QUEUE").Any() != address || copied.Property("m.x").Any() != int32(1) {
		t.Errorf("copy %+v", copied)
	}
	copied.Release()
	m.Release()
}

// Large AMQP messages of a real journal, copied as a dead letter: the file stays what it is and the record overrides its
// sections (journal §5.5).
func TestAMQPLargeCopy(t *testing.T) {
	seen := 0
	for _, g := range goldenRecords(t) {
		if g.kind != RecordMessage || g.payload[0] != persisterLarge {
			continue
		}
		seen++
		var pool Pool
		m, err := pool.FromRecord(g.kind, g.payload)
		if err != nil {
			t.Fatal(err)
		}
		m.SetLarge(&fakeBody{size: 200184})
		if !m.IsLarge() || m.Size() != 0 || m.PersistentSize() != 200184 || m.RoutingType() != Anycast || m.amqp.saved.reencoded {
			t.Errorf("large message %+v", m)
		}
		b := m.Edit()
		address := "DLQ"
		b.Address = &address
		b.Set(PropOrigQueue, "large.amqp")
		copied, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		if !copied.IsLarge() || copied.Large() != nil || copied.Address() != "DLQ" || copied.IsDurable() != m.IsDurable() || copied.Priority() != m.Priority() ||
			copied.Timestamp() != m.Timestamp() || copied.Type() != m.Type() || copied.UserIDText() != m.UserIDText() || copied.RecordType() != RecordMessage {
			t.Errorf("copy %+v", copied)
		}
		got, was := copied.amqp, m.amqp
		if to, _ := got.property(propTo).text(); string(to) != "DLQ" || !got.saved.reencoded || copied.Property("m.x-opt-ORIG-QUEUE").Any() != "large.amqp" ||
			!bytes.Equal(got.saved.bodyPosition, was.saved.bodyPosition) || !bytes.Equal(got.saved.headerPosition, was.saved.headerPosition) ||
			!bytes.Equal(got.saved.application, was.saved.application) || !bytes.Equal(got.header, was.header) {
			t.Errorf("saved sections %+v, were %+v", got.saved, was.saved)
		}
		b = m.Edit()
		b.isLarge = false
		if _, err := pool.Build(b); err == nil {
			t.Error("a large AMQP message became a small one")
		}
		copied.Release()
		m.Release()
		assertDrained(t, &pool)
	}
	if seen == 0 {
		t.Error("no large AMQP message")
	}
}

// Sections may be described by symbols instead of numbers.
func TestAMQPSymbolicDescriptors(t *testing.T) {
	section := func(name, value string) string { return "00" + symbol("amqp:"+name) + value }
	front := section("header:list", "c0020141") + section("delivery-annotations:map", "c10100") +
		section("message-annotations:map", "c1"+fmt.Sprintf("%02x02", 1+len(unhex(symbol("x")+"5401")))+symbol("x")+"5401") +
		section("properties:list", "45") + section("application-properties:map", "c1"+fmt.Sprintf("%02x02", 1+len(unhex(str("k")+"5402")))+str("k")+"5402")
	for _, c := range []struct {
		body string
		want Type
	}{
		{section("data:binary", "a00161"), Bytes},
		{section("amqp-sequence:list", "45"), Stream},
		{section("amqp-value:*", str("x")), Text},
		{section("footer:map", "c10100"), Bytes},
	} {
		var pool Pool
		m := fromAMQP(t, &pool, amqpRecord(persisterAMQP, front+c.body, "", 0))
		if !m.IsDurable() || m.Property("m.x").Any() != int32(1) || m.Property("k").Any() != int32(2) || m.Type() != c.want {
			t.Errorf("%s: read %+v of type %d", c.body, m, m.Type())
		}
		m.Release()
	}
}

func TestAMQPSystemClock(t *testing.T) {
	before := time.Now().UnixMilli()
	m, err := new(Pool).FromRecord(RecordMessage, amqpRecord(persisterAMQP, header(no, null, "7000989680")+body, "", 0))
	if err != nil {
		t.Fatal(err)
	}
	if at := m.Expiration() - 10_000_000; at < before || at > time.Now().UnixMilli() {
		t.Errorf("expires at %d, started at %d", m.Expiration(), before)
	}
	m.Release()
}
