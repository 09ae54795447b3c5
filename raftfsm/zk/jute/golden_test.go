package jute

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// recorded are the frames between Curator and ZooKeeper 3.9.3; see testdata/README.md of the package above.
func recorded(t testing.TB) (requests, connects [][]byte, replies map[string][][]byte) {
	t.Helper()
	f, err := os.Open("../testdata/zk-lockmanager.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	replies = map[string][][]byte{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l struct{ Dir, Packet, Hex string }
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Hex == "" {
			continue
		}
		b, err := hex.DecodeString(l.Hex)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Packet == "ConnectRequest":
			connects = append(connects, b[4:])
		case l.Dir == ">":
			requests = append(requests, b[4:])
		default:
			replies[l.Packet] = append(replies[l.Packet], b[4:])
		}
	}
	return requests, connects, replies
}

// What is recorded decodes and encodes to the same bytes.
func TestRecorded(t *testing.T) {
	requests, connects, replies := recorded(t)
	if len(requests) != 281 || len(connects) != 6 {
		t.Fatalf("%d requests, %d connects", len(requests), len(connects))
	}
	for _, b := range connects {
		c, err := ParseConnectRequest(b)
		if err != nil || !bytes.Equal(c.Append(nil), b) {
			t.Errorf("%x: %+v, %v", b, c, err)
		}
	}
	for _, b := range replies["ConnectResponse"] {
		c, err := ParseConnectResponse(b)
		if err != nil || !bytes.Equal(c.Append(nil), b) {
			t.Errorf("%x: %+v, %v", b, c, err)
		}
	}
	for _, b := range requests {
		if q := parse(t, b); !bytes.Equal(q.Append(nil), b) {
			t.Errorf("%x: %+v", b, q)
		}
	}
	for packet, again := range map[string]func(*Reader, []byte) []byte{
		"create2Reply":      func(r *Reader, b []byte) []byte { return AppendStat(AppendString(b, r.String()), r.Stat()) },
		"getDataReply":      func(r *Reader, b []byte) []byte { return AppendStat(AppendBuffer(b, r.Buffer()), r.Stat()) },
		"getChildren2Reply": func(r *Reader, b []byte) []byte { return AppendStat(AppendStrings(b, r.Strings()), r.Stat()) },
		"existsReply":       func(r *Reader, b []byte) []byte { return AppendStat(b, r.Stat()) },
	} {
		if len(replies[packet]) == 0 {
			t.Errorf("no %s", packet)
		}
		for _, b := range replies[packet] {
			r := NewReader(b)
			h := r.ReplyHeader()
			got := h.Append(nil)
			if h.Err == OK {
				got = again(r, got)
			}
			if err := r.End(); err != nil || !bytes.Equal(got, b) {
				t.Errorf("%s %x: %x, %v", packet, b, got, err)
			}
		}
	}
	for _, b := range replies["WatcherEvent"] {
		r := NewReader(b)
		h, e := r.ReplyHeader(), r.Event()
		if got := AppendEvent(nil, h.Zxid, e); h.Xid != XidEvent || r.End() != nil || !bytes.Equal(got, b) {
			t.Errorf("%x: %+v %+v", b, h, e)
		}
	}
}

func parse(t testing.TB, b []byte) Request {
	t.Helper()
	q, rest, err := ParseHeader(b)
	if err == nil {
		q.Body, err = ParseBody(q.Op, rest)
	}
	if err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	return q
}
