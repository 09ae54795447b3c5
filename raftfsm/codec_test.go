package raftfsm

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/broker/config/yamlfile"
)

// The bytes of the layouts in frame.go and hello.go, written by hand.
func TestLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"hello":    {hello{serviceRPC, "lab", "a"}.append(nil), "53524e4752414654" + "01" + "02" + "036c6162" + "0161"},
		"welcome":  {appendWelcome(nil, ""), "0000"},
		"refused":  {appendWelcome(nil, "no"), "01026e6f"},
		"frame":    {frame{kindRemove, 258, []byte{1, 'b'}}.append(nil), "0000000b" + "06" + "0000000000000102" + "0162"},
		"report":   {appendReport(nil, []touch{{-2, 3, 4}}), "fffffffffffffffe" + "0000000000000003" + "00000004"},
		"standing": {standing{1, 2, 3, 4}.append(nil), "0000000000000001" + "0000000000000002" + "0000000000000003" + "00000004"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestFramesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frame{kind(rapid.IntRange(0, kinds-1).Draw(t, "kind")), rapid.Uint64().Draw(t, "id"), rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body")}
		b := f.append(nil)
		rest := bytes.NewReader(append(slices.Clone(b), "next"...))
		got, err := readFrame(iotest.OneByteReader(rest))
		if err != nil || got.Kind != f.Kind || got.ID != f.ID || !bytes.Equal(got.Body, f.Body) {
			t.Fatalf("%v, %v", got, err)
		}
		if after, _ := io.ReadAll(rest); string(after) != "next" {
			t.Fatalf("read beyond the frame: %q is left", after)
		}
		cut := rapid.IntRange(1, len(b)-1).Draw(t, "cut")
		if _, err := readFrame(bytes.NewReader(b[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	})
}

func TestReportsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		touches := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) touch {
			return touch{rapid.Int64().Draw(t, "session"), rapid.Uint64().Draw(t, "owner"), rapid.Uint32().Draw(t, "idle")}
		}), 0, 20).Draw(t, "touches")
		got, err := decodeReport(appendReport(nil, touches))
		if err != nil || !slices.Equal(got, touches) {
			t.Fatalf("%v, %v", got, err)
		}
		s := standing{rapid.Uint64().Draw(t, "term"), rapid.Int64().Draw(t, "zxid"), rapid.Uint64().Draw(t, "last"), rapid.Uint32().Draw(t, "age")}
		if back, err := decodeStanding(s.append(nil)); err != nil || back != s {
			t.Fatalf("%v, %v", back, err)
		}
		h := hello{serviceRaft, rapid.StringN(0, 60, maxName).Draw(t, "cluster"), rapid.StringN(0, 60, maxName).Draw(t, "member")}
		if back, err := readHello(bytes.NewReader(h.append(nil))); err != nil || back != h {
			t.Fatalf("%v, %v", back, err)
		}
		m := marker{rapid.String().Draw(t, "cluster"), rapid.String().Draw(t, "member"), phaseRefilling, rapid.Uint64().Draw(t, "floor")}
		if back, err := decodeMarker(m.encode()); err != nil || back != m {
			t.Fatalf("%v, %v", back, err)
		}
	})
}

func TestMalformed(t *testing.T) {
	for name, read := range map[string]func() error{
		"a frame that is too short": func() error { _, err := readFrame(strings.NewReader("\x00\x00\x00\x08")); return err },
		"a frame that is too long":  func() error { _, err := readFrame(strings.NewReader("\xff\xff\xff\xff")); return err },
		"a long frame of a small kind": func() error {
			_, err := readFrame(strings.NewReader("\x00\x80\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01"))
			return err
		},
		"an unknown kind": func() error {
			_, err := readFrame(strings.NewReader("\x00\x00\x00\x09\x2a\x00\x00\x00\x00\x00\x00\x00\x01"))
			return err
		},
		"half a session":     func() error { _, err := decodeReport(make([]byte, 21)); return err },
		"half a standing":    func() error { _, err := decodeStanding(make([]byte, 27)); return err },
		"a name cut off":     func() error { _, err := decodeNames([]byte{3, 'a'}, 1); return err },
		"bytes after a name": func() error { _, err := decodeNames([]byte{1, 'a', 0}, 1); return err },
		"an empty reply":     func() error { _, _, err := decodeReply(nil); return err },
	} {
		if err := read(); !errors.Is(err, errFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string]string{
		"another protocol": "GET / HTTP/1.1\r\n", "another version": "SRNGRAFT\x02\x01\x00\x00",
	} {
		if _, err := readHello(strings.NewReader(b)); !errors.Is(err, errNoHello) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing that a peer sends makes a decoder panic or take memory that was not sent.
func FuzzRPC(f *testing.F) {
	f.Add(frame{kindReport, 1, appendReport(nil, []touch{{1, 2, 3}})}.append(nil))
	f.Add(frame{kindReply, 1, standing{1, 2, 3, 4}.append([]byte{0})}.append(nil))
	f.Add(frame{kindAdd, 1, appendName(appendName(appendName(nil, "d"), "127.0.0.1:1"), howNew)}.append(nil))
	f.Add([]byte("\x04\x00\x00\x09\x01\x00\x00\x00\x00\x00\x00\x00\x01half a proposal"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := readFrame(bytes.NewReader(b))
		if cap(q.Body) > 2*len(b)+128<<10 {
			t.Fatalf("%d bytes for %d", cap(q.Body), len(b))
		}
		if err != nil {
			return
		}
		if again := q.append(nil); !bytes.Equal(again, b[:len(again)]) {
			t.Fatalf("%x is encoded as %x", b, again)
		}
		_, _ = decodeReport(q.Body)
		_, _ = decodeStanding(q.Body)
		_, _ = decodeNames(q.Body, 2)
		_, _ = answer(q.Body)
	})
}

func FuzzHello(f *testing.F) {
	f.Add(hello{serviceRaft, "lab", "a"}.append(nil))
	f.Add(appendWelcome(nil, "why"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := readHello(bytes.NewReader(b)); err == nil {
			if again := h.append(nil); !bytes.Equal(again, b[:len(again)]) {
				t.Fatalf("%x is encoded as %x", b, again)
			}
		}
		_ = readWelcome(bytes.NewReader(b))
	})
}

func FuzzMarker(f *testing.F) {
	f.Add(marker{"lab", "a", phaseMember, 0}.encode())
	f.Add(marker{"lab\n", "ä", phaseRefilling, 9}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeMarker(b); err == nil {
			if back, err := decodeMarker(m.encode()); err != nil || back != m {
				t.Fatalf("%v, %v", back, err)
			}
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(exampleConfig))
	f.Add([]byte("quorum: &a [*a]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := yamlfile.Parse("saranga.yaml", "/i", b); err == nil {
			if c, ok, err := ReadConfig(file); err == nil && ok {
				if err := c.Validate(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
