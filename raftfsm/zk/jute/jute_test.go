package jute

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// one operation of each shape, as drawn by rapid.
func drawRequest(t *rapid.T) Request {
	path := rapid.StringMatching(`(/[a-zé_-]{1,6}){1,3}`)
	data := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 20))
	acl := rapid.OneOf(rapid.Just([]ACL(nil)), rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ACL {
		return ACL{Perms: rapid.Int32().Draw(t, "perms"), Scheme: rapid.StringMatching("[a-z]{0,5}").Draw(t, "scheme"), ID: path.Draw(t, "id")}
	}), 0, 3))
	paths := rapid.SliceOfN(path, 0, 4)
	version := rapid.Int32()
	var body func(t *rapid.T, op Op) Body
	body = func(t *rapid.T, op Op) Body {
		switch op {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
			c := Create{Path: path.Draw(t, "path"), Data: data.Draw(t, "data"), ACL: acl.Draw(t, "acl"), Flags: version.Draw(t, "flags")}
			if op == OpCreateTTL {
				c.TTL = rapid.Int64().Draw(t, "ttl")
			}
			return c
		case OpDelete, OpCheck:
			return Delete{path.Draw(t, "path"), version.Draw(t, "version")}
		case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
			return Read{path.Draw(t, "path"), rapid.Bool().Draw(t, "watch")}
		case OpSetData:
			return SetData{path.Draw(t, "path"), data.Draw(t, "data"), version.Draw(t, "version")}
		case OpSync, OpGetACL, OpGetEphemerals, OpGetAllChildrenNumber:
			return Path{path.Draw(t, "path")}
		case OpSetACL:
			return SetACL{path.Draw(t, "path"), acl.Draw(t, "acl"), version.Draw(t, "version")}
		case OpCheckWatches, OpRemoveWatches:
			return Watches{path.Draw(t, "path"), version.Draw(t, "kind")}
		case OpAuth:
			return Auth{version.Draw(t, "type"), path.Draw(t, "scheme"), data.Draw(t, "auth")}
		case OpSetWatches:
			return SetWatches{RelativeZxid: rapid.Int64().Draw(t, "zxid"), Data: paths.Draw(t, "data"), Exist: paths.Draw(t, "exist"), Child: paths.Draw(t, "child")}
		case OpSetWatches2:
			return SetWatches{RelativeZxid: rapid.Int64().Draw(t, "zxid"), Data: paths.Draw(t, "data"), Exist: paths.Draw(t, "exist"), Child: paths.Draw(t, "child"),
				Persistent: paths.Draw(t, "persistent"), Recursive: paths.Draw(t, "recursive")}
		case OpAddWatch:
			return AddWatch{path.Draw(t, "path"), version.Draw(t, "mode")}
		case OpMulti:
			var m Multi
			for _, op := range rapid.SliceOfN(rapid.SampledFrom([]Op{OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck}), 0, 4).Draw(t, "ops") {
				m.Ops = append(m.Ops, Part{op, body(t, op)})
			}
			return m
		}
		return nil
	}
	op := rapid.SampledFrom([]Op{OpCreate, OpDelete, OpExists, OpGetData, OpSetData, OpGetACL, OpSetACL, OpGetChildren, OpSync, OpPing, OpGetChildren2,
		OpMulti, OpCreate2, OpCheckWatches, OpRemoveWatches, OpCreateContainer, OpCreateTTL, OpAuth, OpSetWatches, OpGetEphemerals,
		OpGetAllChildrenNumber, OpSetWatches2, OpAddWatch, OpWhoAmI, OpCloseSession}).Draw(t, "op")
	return Request{Xid: rapid.Int32().Draw(t, "xid"), Op: op, Body: body(t, op)}
}

func TestRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRequest(t)
		b := want.Append(nil)
		q, rest, err := ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		if q.Body, err = ParseBody(q.Op, rest); err != nil || !reflect.DeepEqual(q, want) {
			t.Fatalf("%+v, %v, want %+v", q, err, want)
		}
		if want.Body == nil {
			return
		}
		// Every byte counts.
		if _, err := ParseBody(q.Op, rest[:len(rest)-1]); !errors.Is(err, ErrShort) {
			t.Fatalf("without the last byte: %v", err)
		}
		if _, err := ParseBody(q.Op, append(rest[:len(rest):len(rest)], 0)); !errors.Is(err, ErrTrailing) {
			t.Fatalf("with another byte: %v", err)
		}
	})
}

func TestReplies(t *testing.T) {
	stat := Stat{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	results := []Result{{Op: OpCreate, Path: "/a"}, {Op: OpCheck}, {Op: OpCreate2, Path: "/b", Stat: stat}, {Op: OpSetData, Stat: stat}, {Op: OpDelete}}
	r := NewReader(AppendResults(nil, results))
	if got := r.Results(); !reflect.DeepEqual(got, results) || r.End() != nil {
		t.Errorf("%+v %v", got, r.End())
	}
	// One fails: spec ha.md 3.7, row multi.
	b := AppendResults(nil, []Result{{Op: OpCreate}, {Op: OpDelete, Err: NoNode}, {Op: OpDelete, Err: RuntimeInconsistency}})
	var want []byte
	for _, err := range []int32{0, -101, -2} {
		want = AppendInt(AppendInt(append(AppendInt(want, -1), 0), err), err)
	}
	want = AppendInt(append(AppendInt(want, -1), 1), -1)
	if !bytes.Equal(b, want) {
		t.Errorf("%x, want %x", b, want)
	}
	acl := []ACL{{31, "world", "anyone"}}
	if got := NewReader(AppendACLs(nil, acl)).ACLs(); !reflect.DeepEqual(got, acl) {
		t.Error(got)
	}
	ids := []ID{{"ip", "127.0.0.1"}, {"digest", "joe"}}
	if got := NewReader(AppendIDs(nil, ids)).IDs(); !reflect.DeepEqual(got, ids) {
		t.Error(got)
	}
}

// Lengths and counts are not believed: a small frame never costs much memory.
func TestFalseCounts(t *testing.T) {
	huge := []byte{0x7f, 0xff, 0xff, 0xff}
	for op, body := range map[Op][]byte{
		OpCreate:     append([]byte{0, 0, 0, 0}, huge...),                                     // data
		OpSetACL:     append([]byte{0, 0, 0, 1, '/'}, huge...),                                // list
		OpSetWatches: append(make([]byte, 8), huge...),                                        // paths
		OpSync:       huge,                                                                    // path
		OpMulti:      append(AppendInt(append(AppendInt(nil, 2), 0), -1), huge...),            // path of an operation
		OpAuth:       append(AppendString(AppendInt(nil, 0), "digest"), huge...),              // credentials
		OpCreate2:    append(AppendBuffer(AppendString(nil, "/a"), nil), 0x00, 0xff, 0xff, 0), // list
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if b, err := ParseBody(op, body); !errors.Is(err, ErrShort) {
			t.Errorf("operation %d: %+v %v", op, b, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<16 {
			t.Errorf("operation %d takes %d bytes", op, n)
		}
	}
}

func TestPrimitives(t *testing.T) {
	b := AppendStrings(AppendBool(AppendLong(AppendInt(nil, -2), 1<<40), true), []string{"a", ""})
	r := NewReader(b)
	if r.Int() != -2 || r.Long() != 1<<40 || !r.Bool() || !reflect.DeepEqual(r.Strings(), []string{"a", ""}) || r.End() != nil {
		t.Error("not what was written")
	}
	r = NewReader([]byte{0, 0, 0, 2, 0xff, 'x', 0xff, 0xff, 0xff, 0xff})
	if s := r.String(); s != "\uFFFDx" {
		t.Errorf("%q", s)
	}
	if v := r.Strings(); v != nil || r.End() != nil {
		t.Errorf("null vector: %v %v", v, r.End())
	}
	if r.Int(); r.Err() == nil {
		t.Error("read beyond the end")
	}
	if got := AppendFrame([]byte{9}, func(b []byte) []byte { return append(b, 1, 2) }); !bytes.Equal(got, []byte{9, 0, 0, 0, 2, 1, 2}) {
		t.Errorf("%x", got)
	}
}

func TestFourLetter(t *testing.T) {
	for text, want := range map[string]bool{"ruok": true, "srvr": true, "GET ": false, "\x00\x00\x00\x2d": false, "ruo\n": false} {
		if _, ok := FourLetter([4]byte([]byte(text))); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
}

// FuzzRequest decodes anything. What decodes with all bytes is encoded to the same bytes, but for booleans and for null and ill-formed strings, which
// are normalised: a second round changes nothing more.
func FuzzRequest(f *testing.F) {
	requests, _, _ := recorded(f)
	for _, b := range requests[:60] {
		f.Add(b)
	}
	f.Add(Request{Xid: 1, Op: OpMulti, Body: Multi{Ops: []Part{{OpCreateTTL, Create{Path: "/a", TTL: 5}}, {OpCheck, Delete{"/a", 1}}}}}.Append(nil))
	f.Add(Request{Xid: 1, Op: OpSetWatches2, Body: SetWatches{Data: []string{"/a"}, Recursive: []string{"/"}}}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, rest, err := ParseHeader(b)
		if err != nil {
			return
		}
		if q.Body, err = ParseBody(q.Op, rest); err != nil {
			return
		}
		once := q.Append(nil)
		again, rest, err := ParseHeader(once)
		if err != nil {
			t.Fatal(err)
		}
		if again.Body, err = ParseBody(again.Op, rest); err != nil {
			t.Fatalf("%x does not decode: %v", once, err)
		}
		if twice := again.Append(nil); !bytes.Equal(once, twice) {
			t.Fatalf("%x, then %x", once, twice)
		}
	})
}

// FuzzConnect decodes anything as a first frame.
func FuzzConnect(f *testing.F) {
	_, connects, _ := recorded(f)
	for _, b := range connects {
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseConnectRequest(b)
		if err != nil {
			return
		}
		d, err := ParseConnectRequest(c.Append(nil))
		if err != nil || !reflect.DeepEqual(c, d) {
			t.Fatalf("%+v, then %+v, %v", c, d, err)
		}
	})
}
