package tree

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// commandForms has every kind of command with its bytes, put together by hand from the package comment. They must never change.
var commandForms = []struct {
	name    string
	command Command
	hex     string
}{
	{"create", Command{
		Origin: 0x0102030405060708, Request: 9, Session: 0x1122334455667788, Owner: 0xa0b0c0d0e0f00102, Time: 1796038403306,
		Caller: Caller{Chroot: "/clients", IDs: []ID{{"ip", "127.0.0.1"}, {"digest", "u:h"}}},
		Op:     &Create{"/a", []byte("xyz"), OpenACL(), EphemeralSequential},
	}, `01 01 0102030405060708 0000000000000009 1122334455667788 a0b0c0d0e0f00102 000001a22c3b24ea
	    00 08 2f636c69656e7473 02 02 6970 09 3132372e302e302e31 06 646967657374 03 753a68
	    02 2f61 01 03 78797a 01 0000001f 05 776f726c64 06 616e796f6e65 00000003`},
	{"delete", Command{Session: -1, Op: &Delete{"/a", -1}},
		`01 02 0000000000000000 0000000000000000 ffffffffffffffff 0000000000000000 0000000000000000 00 00 00 02 2f61 ffffffff`},
	{"setData null", Command{Caller: Caller{Admin: true}, Op: &SetData{"/a", nil, 7}},
		`01 03 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 01 00 00 02 2f61 00 00000007`},
	{"setData empty", Command{Op: &SetData{"/a", []byte{}, 7}},
		`01 03 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00 00 00 02 2f61 01 00 00000007`},
	{"setACL", Command{Op: &SetACL{"/a", []ACL{{PermRead, ID{"auth", ""}}}, 1}},
		`01 04 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00 00 00 02 2f61 01 00000001 04 61757468 00 00000001`},
	{"check", Command{Op: &Check{"/a", 1}},
		`01 05 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00 00 00 02 2f61 00000001`},
	{"multi", Command{Op: &Multi{[]Op{&Check{"/a", 1}, &Delete{"/b", 0}}}},
		`01 06 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00 00 00 02 05 02 2f61 00000001 02 02 2f62 00000000`},
	{"sync", Command{Op: &Sync{"x"}},
		`01 07 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00 00 00 01 78`},
	{"deleteContainer", Command{Op: &DeleteContainer{"/a"}},
		`01 08 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00 00 00 02 2f61`},
	{"newSession", Command{Session: 5, Owner: 6, Op: &NewSession{[16]byte{1, 15: 2}, 18000}},
		`01 09 0000000000000000 0000000000000000 0000000000000005 0000000000000006 0000000000000000 00 00 00 01000000000000000000000000000002 00004650`},
	{"attach", Command{Session: 5, Owner: 6, Op: &Attach{[16]byte{1, 15: 2}, 0}},
		`01 0a 0000000000000000 0000000000000000 0000000000000005 0000000000000006 0000000000000000 00 00 00 01000000000000000000000000000002 00000000`},
	{"closeSession", Command{Session: 5, Owner: 6, Op: &CloseSession{}},
		`01 0b 0000000000000000 0000000000000000 0000000000000005 0000000000000006 0000000000000000 00 00 00`},
	{"expireSession", Command{Session: 5, Owner: 6, Op: &ExpireSession{7}},
		`01 0c 0000000000000000 0000000000000000 0000000000000005 0000000000000006 0000000000000000 00 00 00 0000000000000007`},
	{"setLimits", Command{Op: &SetLimits{Limits{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
		`01 0d 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00 00 00
		 0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005
		 0000000000000006 0000000000000007 0000000000000008 0000000000000009 000000000000000a`},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCommandForms(t *testing.T) {
	for _, f := range commandForms {
		t.Run(f.name, func(t *testing.T) {
			want := unhex(t, f.hex)
			got, err := f.command.Append([]byte("before"))
			if err != nil || !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Fatalf("Append = %x, %v, want %x", got, err, want)
			}
			c, err := DecodeCommand(want)
			if err != nil || !reflect.DeepEqual(c, f.command) {
				t.Fatalf("DecodeCommand = %+v, %v, want %+v", c, err, f.command)
			}
			for n := range want {
				if _, err := DecodeCommand(want[:n]); err == nil || errors.Is(err, ErrUnknownCommand) {
					t.Fatalf("DecodeCommand of %d bytes of %d: %v", n, len(want), err)
				}
			}
			if _, err := DecodeCommand(append(want, 0)); !errors.Is(err, errMalformed) {
				t.Fatalf("DecodeCommand of a byte too many: %v", err)
			}
			if err := StampTime(want, 0x0102030405060708); err != nil {
				t.Fatal(err)
			}
			if c, _ := DecodeCommand(want); c.Time != 0x0102030405060708 {
				t.Fatalf("time is %x", c.Time)
			}
		})
	}
}

// TestBadCommands has what does not decode: malformed on every member alike, or possibly known to a later version.
func TestBadCommands(t *testing.T) {
	long := strings.Repeat("x", maxString+1)
	head := "01 %s 0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005 "
	for _, c := range []struct {
		name, hex string
		unknown   bool
	}{
		{"empty", "", false},
		{"version 0", strings.Replace(head, "01 %s", "00 01", 1), false},
		{"version 2", strings.Replace(head, "01 %s", "02 01", 1), true},
		{"version 2, short", "02", true},
		{"kind 0", strings.Replace(head, "%s", "00", 1) + "00 00 00", true},
		{"kind 14", strings.Replace(head, "%s", "0e", 1) + "00 00 00", true},
		{"kind 14 in a multi", strings.Replace(head, "%s", "06", 1) + "00 00 00 01 0e 0000000000", false},
		{"multi in a multi", strings.Replace(head, "%s", "06", 1) + "00 00 00 01 06 00000000000000", false},
		{"flags 2", strings.Replace(head, "%s", "0b", 1) + "02 00 00", false},
		{"length in two bytes", strings.Replace(head, "%s", "07", 1) + "00 00 00 8100 78", false},
		{"length of ten bytes", strings.Replace(head, "%s", "07", 1) + "00 00 00 ffffffffffffffffff01", false},
		{"length of eleven bytes", strings.Replace(head, "%s", "07", 1) + "00 00 00 ffffffffffffffffffff01", false},
		{"more identities than bytes", strings.Replace(head, "%s", "07", 1) + "00 00 20 0000 00", false},
		{"data flag 2", strings.Replace(head, "%s", "03", 1) + "00 00 00 02 2f61 02 00000001", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := unhex(t, c.hex)
			_, err := DecodeCommand(b)
			if err == nil || errors.Is(err, ErrUnknownCommand) != c.unknown || errors.Is(err, errMalformed) == c.unknown {
				t.Fatalf("DecodeCommand = %v", err)
			}
			s := New()
			r := s.Apply(3, 1, b)
			if (r.Fatal != nil) != c.unknown || !c.unknown && (r.Code != Marshalling || s.Zxid() != 3) || c.unknown && s.Zxid() != 0 {
				t.Fatalf("Apply = %+v, zxid %d", r, s.Zxid())
			}
			if !c.unknown && len(b) >= headerLength && (r.Origin != 1 || r.Request != 2 || r.Session != 3 || r.Owner != 4) {
				t.Fatalf("Apply = %+v does not name the command", r)
			}
			check(t, s)
		})
	}
	for _, op := range []Op{
		nil, &Create{Path: long, ACL: OpenACL()}, &SetData{Path: "/a", Data: make([]byte, maxData+1)}, &SetACL{"/a", make([]ACL, maxACL+1), 0},
		&Multi{[]Op{&Sync{}}}, &Multi{[]Op{nil}}, &Multi{make([]Op, maxMulti+1)}, &Create{Path: "/a", ACL: []ACL{{1, ID{long, ""}}}},
	} {
		c := Command{Op: op}
		if b, err := c.Append([]byte("x")); err == nil || string(b) != "x" {
			t.Errorf("Append of %T: %d bytes, %v", op, len(b), err)
		}
	}
	if err := StampTime(make([]byte, headerLength), 1); err == nil {
		t.Error("StampTime takes version 0")
	}
	if err := StampTime([]byte{1}, 1); err == nil {
		t.Error("StampTime takes one byte")
	}
}

// TestEntriesRise has an entry that was applied already: the member must stop.
func TestEntriesRise(t *testing.T) {
	s := New()
	c := Command{Session: 1, Owner: 1, Op: &NewSession{Timeout: 1}}
	b, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{7, 7, 3, 0} {
		if r := s.Apply(index, 1, b); (r.Fatal == nil) != (s.NumSessions() == 1 && index == 7 && !r.Repeated && r.Fatal == nil) {
			t.Errorf("entry %d: %+v", index, r)
		}
	}
	if r := s.Apply(7, 1, []byte{1}); r.Fatal == nil || s.Zxid() != 7 {
		t.Errorf("entry 7 again, malformed: %+v, zxid %d", r, s.Zxid())
	}
}

func TestCommandRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCommand.Draw(t, "command")
		c.Origin, c.Session, c.Time = rapid.Uint64().Draw(t, "origin"), rapid.Int64().Draw(t, "session"), rapid.Int64().Draw(t, "time")
		for range rapid.IntRange(0, 3).Draw(t, "ids") {
			c.Caller.IDs = append(c.Caller.IDs, ID{rapid.String().Draw(t, "scheme"), rapid.String().Draw(t, "id")})
		}
		b, err := c.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeCommand(b)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("%+v, %v, want %+v", got, err, c)
		}
	})
}

func FuzzCommand(f *testing.F) {
	for _, c := range commandForms {
		f.Add(unhex(f, c.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New()
		s.sessions.set(1, 0x1122334455667788, &session{generation: 1, id: 0x1122334455667788, owner: 0xa0b0c0d0e0f00102, timeout: 1})
		r := s.Apply(1, 1, b)
		check(t, s)
		c, err := DecodeCommand(b)
		if err != nil {
			if r.Fatal == nil && r.Code != Marshalling {
				t.Fatalf("%v, but %+v", err, r)
			}
			return
		}
		again, err := c.Append(nil)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x was encoded again to %x, %v", b, again, err)
		}
		if _, err := Read(bytes.NewReader(dump(t, s.Snapshot()))); err != nil {
			t.Fatalf("the state after it cannot be loaded: %v", err)
		}
	})
}
