package quorum

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

func TestFileSequence(t *testing.T) {
	mem := fs.NewMem()
	if err := mem.MkdirAll("/data"); err != nil {
		t.Fatal(err)
	}
	s := FileSequence{mem, "/data"}
	want := func(want int64) {
		t.Helper()
		if got, err := s.Load(); err != nil || got != want {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	want(NoSequence)
	if err := s.Store(1); err != nil {
		t.Fatal(err)
	}
	mem.Crash(rand.New(rand.NewPCG(1, 1)))
	want(1)
	if err := s.Store(0x0102030405060708); err != nil {
		t.Fatal(err)
	}
	mem.Crash(rand.New(rand.NewPCG(2, 2)))
	want(0x0102030405060708)
	b, err := fs.ReadFile(mem, "/data/server.activation.sequence")
	if err != nil || !bytes.Equal(b, []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("%x, %v", b, err)
	}
	f, err := mem.Create("/data/server.activation.sequence")
	if err == nil {
		_, err = f.WriteAt([]byte{0, 0, 0}, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	want(NoSequence) // as Artemis takes a file that is too short
}

func TestFileSequenceErrors(t *testing.T) {
	why := errors.New("disk is on fire")
	mem := fs.NewMem()
	if err := mem.MkdirAll("/data"); err != nil {
		t.Fatal(err)
	}
	for n := range 3 { // write, sync, sync of the folder
		f := fs.NewFaulty(mem)
		s := FileSequence{f, "/data"}
		if err := s.Store(1); err != nil {
			t.Fatal(err)
		}
		f.StopAfter(n, why)
		if err := s.Store(2); !errors.Is(err, why) {
			t.Errorf("operation %d fails: %v", n, err)
		}
	}
}
