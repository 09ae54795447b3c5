package buf

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stringForms has the encodings of strings as core-protocol 1.4 and 8 show them.
var stringForms = []struct {
	name, text   string
	ss, str, utf string
}{
	{"empty", "", "00000000", "00000000", "0000"},
	{"address of a capture", "e.c", "00000006 65002e006300", "00000003 0065002e0063", "0003 652e63"},
	{"8 units are shorts", "12345678", "00000010 31003200330034003500360037003800",
		"00000008 00310032003300340035003600370038", "0008 3132333435363738"},
	{"9 units are UTF", "123456789", "00000012 310032003300340035003600370038003900",
		"00000009 0009 313233343536373839", "0009 313233343536373839"},
	{"two and three bytes", "é€", "00000004 e900ac20", "00000002 00e920ac", "0005 c3a9e282ac"},
	{"NUL is 00", "a\x00", "00000004 61000000", "00000002 00610000", "0002 6100"},
	{"supplementary is two sequences", "😀", "00000004 3dd800de", "00000002 d83dde00", "0006 eda0bdedb880"},
	{"lone high surrogate", "\xed\xa0\xbd", "00000002 3dd8", "00000001 d83d", "0003 eda0bd"},
	{"low before high", "\xed\xb8\x80\xed\xa0\xbd", "00000004 00de3dd8", "00000002 de00d83d", "0006 edb880eda0bd"},
}

func TestStringForms(t *testing.T) {
	for _, c := range stringForms {
		t.Run(c.name, func(t *testing.T) {
			ss, str, utf := unhex(t, c.ss), unhex(t, c.str), unhex(t, c.utf)
			if got := AppendSS(nil, c.text); !bytes.Equal(got, ss) {
				t.Errorf("AppendSS = %x, want %x", got, ss)
			}
			if got := AppendSTR(nil, c.text); !bytes.Equal(got, str) {
				t.Errorf("AppendSTR = %x, want %x", got, str)
			}
			if got, err := AppendUTF(nil, c.text); err != nil || !bytes.Equal(got, utf) {
				t.Errorf("AppendUTF = %x, %v, want %x", got, err, utf)
			}
			r := NewReader(ss)
			if got := r.SS(); got != c.text || r.Err() != nil || r.Len() != 0 {
				t.Errorf("SS = %q, %v, %d left", got, r.Err(), r.Len())
			}
			r = NewReader(str)
			if got := r.STR(); got != c.text || r.Err() != nil || r.Len() != 0 {
				t.Errorf("STR = %q, %v, %d left", got, r.Err(), r.Len())
			}
			r = NewReader(utf)
			if got := r.UTF(); got != c.text || r.Err() != nil || r.Len() != 0 {
				t.Errorf("UTF = %q, %v, %d left", got, r.Err(), r.Len())
			}
			if !EqualSS(ss[4:], c.text) {
				t.Error("EqualSS is false for its own text")
			}
			if EqualSS(ss[4:], c.text+"x") || EqualSS(append(ss[4:len(ss):len(ss)], 'x', 0), c.text) {
				t.Error("EqualSS is true for another text")
			}
		})
	}
}

func TestSTRFormByLength(t *testing.T) {
	for _, c := range []struct {
		n    int
		head string // count, and the length field of the form
	}{
		{8, "00000008 0061"},
		{9, "00000009 0009 61"},
		{4094, "00000ffe 0ffe 61"},
		{4095, "00000fff 00001ffe 6100"},
		{5000, "00001388 00002710 6100"},
	} {
		s := strings.Repeat("a", c.n)
		got := AppendSTR(nil, s)
		if want := unhex(t, c.head); !bytes.HasPrefix(got, want) {
			t.Errorf("%d units: %x, want it to begin with %x", c.n, got[:12], want)
		}
		r := NewReader(got)
		if back := r.STR(); back != s || r.Err() != nil || r.Len() != 0 {
			t.Errorf("%d units: read back %d bytes, %v", c.n, len(back), r.Err())
		}
	}
	widest := AppendSTR(nil, strings.Repeat("€", 4094)) // the longest UTF a STR can hold
	r := NewReader(widest)
	if got := r.STR(); len(got) != 3*4094 || r.Err() != nil {
		t.Errorf("widest UTF form: %d bytes, %v", len(got), r.Err())
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name, in string
		read     func(*Reader)
		want     error
	}{
		{"four-byte UTF-8", "00000009 0004 f09f9880", func(r *Reader) { r.STR() }, ErrMalformed},
		{"continuation byte first", "0001 80", func(r *Reader) { r.UTF() }, ErrMalformed},
		{"UTF cut in a sequence", "0002 e282", func(r *Reader) { r.UTF() }, ErrMalformed},
		{"UTF bad continuation", "0002 c341", func(r *Reader) { r.UTF() }, ErrMalformed},
		{"UTF short", "0003 6161", func(r *Reader) { r.UTF() }, ErrShort},
		{"STR count against UTF", "0000000a 0009 313233343536373839", func(r *Reader) { r.STR() }, ErrMalformed},
		{"STR count against SS", "00001000 00000002 6100", func(r *Reader) { r.STR() }, ErrMalformed},
		{"STR negative", "ffffffff", func(r *Reader) { r.STR() }, ErrMalformed},
		{"STR short units", "00000002 0061", func(r *Reader) { r.STR() }, ErrShort},
		{"SS odd", "00000003 610062", func(r *Reader) { r.SS() }, ErrMalformed},
		{"SS negative", "fffffffe", func(r *Reader) { r.SS() }, ErrShort},
		{"SS huge", "7ffffffe 6100", func(r *Reader) { r.SS() }, ErrShort},
		{"block negative", "ffffffff 00", func(r *Reader) { r.Block() }, ErrShort},
		{"block short", "00000005 00", func(r *Reader) { r.Block() }, ErrShort},
		{"count huge", "7fffffff 0000000000", func(r *Reader) { r.Count(1) }, ErrMalformed},
		{"count negative", "ffffffff 00", func(r *Reader) { r.Count(1) }, ErrMalformed},
		{"int64 short", "00000000000000", func(r *Reader) { r.Int64() }, ErrShort},
		{"int32 short", "000000", func(r *Reader) { r.Int32() }, ErrShort},
		{"int16 short", "00", func(r *Reader) { r.Int16() }, ErrShort},
		{"byte short", "", func(r *Reader) { r.Uint8() }, ErrShort},
		{"xid short", "00000001 00000001 aa 00000002 bb", func(r *Reader) { r.Xid() }, ErrShort},
		{"props count", "01 00000002 00000000 00", func(r *Reader) { r.Props() }, ErrMalformed},
		{"props type 1", "01 00000001 00000002 6100 01 00", func(r *Reader) { r.Props() }, ErrMalformed},
		{"props type 12", "01 00000001 00000002 6100 0c 00", func(r *Reader) { r.Props() }, ErrMalformed},
		{"props value short", "01 00000001 00000002 6100 07 00", func(r *Reader) { r.Props() }, ErrShort},
		{"props odd key", "01 00000001 00000001 61 02 00", func(r *Reader) { r.Props() }, ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(unhex(t, c.in))
			c.read(&r)
			if !errors.Is(r.Err(), c.want) {
				t.Errorf("Err = %v, want %v", r.Err(), c.want)
			}
			first := r.Err()
			if r.Int64() != 0 || r.STR() != "" || r.Bytes(1) != nil || r.Len() != 0 || r.Rest() != nil || r.Err() != first {
				t.Error("the error does not stick")
			}
		})
	}
}

func TestUTFTooLong(t *testing.T) {
	if dst, err := AppendUTF([]byte("x"), strings.Repeat("€", 21846)); err == nil || string(dst) != "x" {
		t.Errorf("65538 bytes: %d appended, err %v", len(dst)-1, err)
	}
	if dst, err := AppendUTF(nil, strings.Repeat("€", 21845)); err != nil || len(dst) != 2+65535 {
		t.Errorf("65535 bytes: %d appended, err %v", len(dst), err)
	}
}

func TestNullables(t *testing.T) {
	var b []byte
	b = AppendNBool(b, Null[bool]{})
	b = AppendNBool(b, Of(true))
	b = AppendNInt(b, Null[int32]{})
	b = AppendNInt(b, Of(int32(-1)))
	b = AppendNLong(b, Null[int64]{})
	b = AppendNLong(b, Of(int64(5)))
	b = AppendNSS(b, Null[string]{})
	b = AppendNSS(b, Of("a"))
	b = AppendNSTR(b, Null[string]{})
	b = AppendNSTR(b, Of("a"))
	b = AppendNSSBytes(b, nil)
	b = AppendNSSBytes(b, []byte{})
	want := unhex(t, "00 ffff 00 ffffffffff 00 ff0000000000000005 00 01 00000002 6100 00 01 00000001 0061 00 01 00000000")
	if !bytes.Equal(b, want) {
		t.Fatalf("got  %x\nwant %x", b, want)
	}
	r := NewReader(b)
	if r.NBool().Valid || r.NBool() != Of(true) || r.NInt().Valid || r.NInt() != Of(int32(-1)) || r.NLong().Valid ||
		r.NLong() != Of(int64(5)) || r.NSS().Valid || r.NSS() != Of("a") || r.NSTR().Valid || r.NSTR() != Of("a") ||
		r.NSSBytes() != nil || r.NSSBytes() == nil || r.Err() != nil || r.Len() != 0 {
		t.Errorf("read back wrong, %v, %d left", r.Err(), r.Len())
	}
	b = AppendNBool01(nil, Null[bool]{})
	b = AppendNBool01(b, Of(true))
	b = AppendNInt01(b, Null[int32]{})
	b = AppendNInt01(b, Of(int32(-1)))
	b = AppendNLong01(b, Null[int64]{})
	b = AppendNLong01(b, Of(int64(5)))
	if want := unhex(t, "00 01ff 00 01ffffffff 00 010000000000000005"); !bytes.Equal(b, want) {
		t.Fatalf("got  %x\nwant %x", b, want)
	}
	if (Null[int32]{}).Or(7) != 7 || Of(int32(3)).Or(7) != 3 {
		t.Error("Or")
	}
}

func TestXidBranchFirst(t *testing.T) {
	x := Xid{FormatID: 1, Branch: "bq", Global: "g"}
	want := unhex(t, "00000001 00000002 6271 00000001 67")
	if got := AppendXid(nil, x); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	r := NewReader(want)
	if got := r.Xid(); got != x || r.Err() != nil {
		t.Errorf("got %+v, %v", got, r.Err())
	}
}

// allTypes is a PROPS block with one property of every type, in the encoding of core-protocol 5.3.
const allTypes = `01 0000000b
	00000002 6e00 00
	00000002 7a00 02 01
	00000002 6200 03 80
	00000002 4200 04 00000002 beef
	00000002 7300 05 fffe
	00000002 6900 06 00000007
	00000002 6c00 07 0000000000000008
	00000002 6600 08 3fc00000
	00000002 6400 09 4004000000000000
	00000002 5300 0a 00000004 68006900
	00000002 6300 0b 20ac`

func TestProps(t *testing.T) {
	raw := unhex(t, strings.Join(strings.Fields(allTypes), ""))
	r := NewReader(raw)
	p := r.Props()
	if r.Err() != nil || r.Len() != 0 || p.Len() != 11 {
		t.Fatalf("%v, %d left, %d properties", r.Err(), r.Len(), p.Len())
	}
	want := map[string]any{"n": nil, "z": true, "b": int8(-128), "s": int16(-2), "i": int32(7), "l": int64(8),
		"f": float32(1.5), "d": float64(2.5), "S": "hi", "c": uint16(0x20ac)}
	for key, w := range want {
		v, ok := p.Find(key)
		if !ok || v.Any() != w {
			t.Errorf("%s = %v, %v, want %v", key, v.Any(), ok, w)
		}
	}
	if v, _ := p.Find("B"); !bytes.Equal(v.Bytes(), []byte{0xbe, 0xef}) || !bytes.Equal(v.Any().([]byte), []byte{0xbe, 0xef}) {
		t.Errorf("B = %x", v.Bytes())
	}
	if _, ok := p.Find("absent"); ok {
		t.Error("found what is not there")
	}
	for key, w := range map[string]int64{"b": -128, "s": -2, "i": 7, "l": 8} {
		v, _ := p.Find(key)
		if n, ok := v.Int64(); !ok || n != w {
			t.Errorf("%s as int64 = %d, %v", key, n, ok)
		}
	}
	if v, _ := p.Find("f"); func() bool { f, ok := v.Float64(); return !ok || f != 1.5 }() {
		t.Error("float")
	}

	var out []byte
	out = AppendPropsHeader(out, 11)
	out = AppendPropNull(out, "n")
	out = AppendPropBool(out, "z", true)
	out = AppendPropByte(out, "b", -128)
	out = AppendPropBytes(out, "B", []byte{0xbe, 0xef})
	out = AppendPropShort(out, "s", -2)
	out = AppendPropInt(out, "i", 7)
	out = AppendPropLong(out, "l", 8)
	out = AppendPropFloat(out, "f", 1.5)
	out = AppendPropDouble(out, "d", 2.5)
	out = AppendPropString(out, "S", "hi")
	out = AppendPropChar(out, "c", 0x20ac)
	if !bytes.Equal(out, raw) {
		t.Errorf("got  %x\nwant %x", out, raw)
	}
	if got := p.Append(nil); !bytes.Equal(got, raw) {
		t.Errorf("Append gives %x", got)
	}
	copied := AppendPropsHeader(nil, p.Len())
	for it := p; ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		copied = AppendProp(copied, k, v)
	}
	if !bytes.Equal(copied, raw) {
		t.Errorf("entry by entry gives %x", copied)
	}
	if got := (Props{}).Append(nil); !bytes.Equal(got, []byte{0}) {
		t.Errorf("no properties: %x", got)
	}
}

// TestStringsKeepEveryUnit: any sequence of UTF-16 units comes back unchanged
// through each form, whatever surrogates are in it.
func TestStringsKeepEveryUnit(t *testing.T) {
	unit := rapid.OneOf(rapid.Uint16Range(0, 0x7f), rapid.Uint16Range(0xd7f0, 0xe00f), rapid.Uint16())
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(unit, 0, 40).Draw(t, "units")
		raw := make([]byte, 0, 2*len(units))
		for _, u := range units {
			raw = append(raw, byte(u), byte(u>>8))
		}
		s := StringFromSS(raw)
		if got := AppendSSUnits(nil, s); !bytes.Equal(got, raw) {
			t.Fatalf("SS: %x became %x", raw, got)
		}
		if Units(s) != len(units) {
			t.Fatalf("Units = %d, want %d", Units(s), len(units))
		}
		if !EqualSS(raw, s) {
			t.Fatal("EqualSS")
		}
		if valid := string(utf16.Decode(units)); !strings.ContainsRune(valid, '\ufffd') && valid != s {
			t.Fatalf("text %q, want %q", s, valid)
		}
		r := NewReader(AppendSTR(nil, s))
		if got := r.STR(); got != s || r.Err() != nil || r.Len() != 0 {
			t.Fatalf("STR: %q became %q, %v", s, got, r.Err())
		}
		utf, err := AppendUTF(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		r = NewReader(utf)
		if got := r.UTF(); got != s || r.Err() != nil || r.Len() != 0 {
			t.Fatalf("UTF: %q became %q, %v", s, got, r.Err())
		}
	})
}

func TestAllocations(t *testing.T) {
	props := unhex(t, strings.Join(strings.Fields(allTypes), ""))
	ss := AppendSS(nil, "activemq.management")
	dst := make([]byte, 0, 256)
	for _, c := range []struct {
		name string
		max  float64
		run  func()
	}{
		{"props", 0, func() {
			r := NewReader(props)
			p := r.Props()
			if _, ok := p.Find("c"); !ok {
				t.Fatal("c")
			}
		}},
		{"write", 0, func() { dst = AppendSTR(AppendSS(dst[:0], "activemq.management"), "a longer string é") }},
		{"compare", 0, func() {
			r := NewReader(ss)
			if !EqualSS(r.SSBytes(), "activemq.management") {
				t.Fatal("differs")
			}
		}},
		{"string", 1, func() {
			r := NewReader(ss)
			if r.SS() == "" {
				t.Fatal("empty")
			}
		}},
	} {
		if n := testing.AllocsPerRun(100, c.run); n > c.max {
			t.Errorf("%s: %v allocations, want at most %v", c.name, n, c.max)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, c := range stringForms {
		f.Add(unhex(f, c.ss))
		f.Add(unhex(f, c.str))
		f.Add(unhex(f, c.utf))
	}
	f.Add(unhex(f, strings.Join(strings.Fields(allTypes), "")))
	f.Add(AppendXid(nil, Xid{FormatID: 1, Branch: "b", Global: "g"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		if s := r.SS(); r.Err() == nil && !bytes.Equal(AppendSS(nil, s), b[:r.Offset()]) {
			t.Errorf("SS %x does not come back", b[:r.Offset()])
		}
		r = NewReader(b)
		if s := r.STR(); r.Err() == nil {
			again := NewReader(AppendSTR(nil, s))
			if again.STR() != s {
				t.Errorf("STR %q does not come back", s)
			}
		}
		r = NewReader(b)
		r.Xid()
		r = NewReader(b)
		if p := r.Props(); r.Err() == nil {
			n := 0
			for it := p; ; n++ {
				k, v, ok := it.Next()
				if !ok {
					break
				}
				v.Any()
				if got, ok := p.Find(StringFromSS(k)); !ok || len(got.Raw()) > len(b) {
					t.Errorf("property %x not found", k)
				}
			}
			if n != p.Len() {
				t.Errorf("%d properties, Len %d", n, p.Len())
			}
		}
	})
}
