package core

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

func frameOf(size int, mark byte) []byte {
	f := bytes.Repeat([]byte{mark}, size)
	binary.BigEndian.PutUint32(f, uint32(size-4))
	return f
}

// TestConfirmWindow: with window 60 and three requests of 25 bytes, the third
// makes PACKETS_CONFIRMED(2) due (core-protocol 11.27).
func TestConfirmWindow(t *testing.T) {
	c := NewConfirmations(60, 1000)
	if c.LastReceived() != -1 {
		t.Errorf("LastReceived = %d at first", c.LastReceived())
	}
	for i, want := range []bool{false, false, true, false, false, true} {
		id, due := c.Received(25)
		if due != want || (due && id != int32(i)) {
			t.Errorf("packet %d: due %v with id %d", i, due, id)
		}
	}
	if _, due := c.Flush(); due {
		t.Error("Flush owes what was just confirmed")
	}
	c.Received(25)
	if id, due := c.Flush(); !due || id != 6 {
		t.Errorf("Flush: %d, %v", id, due)
	}
}

func TestWindowZeroConfirmsEach(t *testing.T) {
	c := NewConfirmations(0, 1000)
	for i := range int32(3) {
		if id, due := c.Received(21); !due || id != i {
			t.Errorf("packet %d: %d, %v", i, id, due)
		}
	}
}

func TestWindowOff(t *testing.T) {
	c := NewConfirmations(-1, 1000)
	if _, due := c.Received(1 << 20); due || c.LastReceived() != -1 {
		t.Error("counts without a window")
	}
	c.Sent(frameOf(20, 1))
	if c.Held() != 0 || c.Resumable() || c.Enabled() {
		t.Error("keeps frames without a window")
	}
	if _, err := c.Replay(-1); err == nil {
		t.Error("replays without a window")
	}
}

// TestReplay: what the peer has not got is sent again, nothing else.
func TestReplay(t *testing.T) {
	c := NewConfirmations(1000, 1000)
	var want []byte
	for i := range 6 {
		f := frameOf(20+i, byte(i))
		c.Sent(f)
		if i > 3 {
			want = append(want, f...)
		}
	}
	if err := c.Confirmed(1); err != nil || c.Held() != 22+23+24+25 {
		t.Fatalf("held %d, %v", c.Held(), err)
	}
	if err := c.Confirmed(0); err != nil || c.Held() != 22+23+24+25 {
		t.Errorf("an old id changed something: %d, %v", c.Held(), err)
	}
	if _, err := c.Replay(0); err == nil {
		t.Error("replays what was confirmed and forgotten")
	}
	got, err := c.Replay(3)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("replay %x, %v\nwant %x", got, err, want)
	}
	if err := c.Confirmed(5); err != nil || c.Held() != 0 {
		t.Errorf("held %d, %v", c.Held(), err)
	}
}

func TestPeerCountsTooFar(t *testing.T) {
	c := NewConfirmations(1000, 1000)
	c.Sent(frameOf(20, 0))
	if err := c.Confirmed(4); err == nil || c.Held() != 0 || c.NextSent() != 5 {
		t.Errorf("held %d, next %d, %v", c.Held(), c.NextSent(), err)
	}
	c.Sent(frameOf(20, 1))
	if err := c.Confirmed(5); err != nil || c.Held() != 0 {
		t.Errorf("the count does not go on: %v", err)
	}
}

func TestCacheBound(t *testing.T) {
	c := NewConfirmations(1000, 50)
	c.Sent(frameOf(25, 0))
	c.Sent(frameOf(25, 1))
	if !c.Full(1) || c.Held() != 50 || !c.Resumable() {
		t.Fatalf("full %v, held %d", c.Full(1), c.Held())
	}
	c.Sent(frameOf(25, 2))
	if c.Resumable() || c.Held() != 0 || c.NextSent() != 3 {
		t.Errorf("over the bound: resumable %v, held %d, next %d", c.Resumable(), c.Held(), c.NextSent())
	}
	if _, err := c.Replay(2); err == nil {
		t.Error("replays after the bound was passed")
	}
	if err := c.Confirmed(2); err != nil {
		t.Error(err)
	}
}

// TestConfirmationsModel compares with a list of frames.
func TestConfirmationsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 400
		c := NewConfirmations(100, limit)
		var frames [][]byte // all sent
		forgotten := 0
		held := func() []byte { return bytes.Join(frames[forgotten:], nil) }
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				f := frameOf(rapid.IntRange(13, 60).Draw(t, "size"), byte(len(frames)))
				if c.Full(len(f)) != (len(held())+len(f) > limit) {
					t.Fatal("Full")
				}
				if c.Full(len(f)) {
					return
				}
				c.Sent(f)
				frames = append(frames, f)
			},
			"confirm": func(t *rapid.T) {
				id := rapid.IntRange(-1, len(frames)-1).Draw(t, "id")
				if err := c.Confirmed(int32(id)); err != nil {
					t.Fatal(err)
				}
				forgotten = max(forgotten, id+1)
			},
			"": func(t *rapid.T) {
				if c.Held() != len(held()) || int(c.NextSent()) != len(frames) || cap(c.cache) > 4*limit {
					t.Fatalf("held %d of %d, next %d of %d, cap %d", c.Held(), len(held()), c.NextSent(), len(frames), cap(c.cache))
				}
				got, err := c.Replay(int32(forgotten - 1))
				if err != nil || !bytes.Equal(got, held()) {
					t.Fatalf("replay %x, %v", got, err)
				}
			},
		})
	})
}
