package message

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// Every size fits its class, classes grow, and no class but the first wastes a fifth of its slots or more.
func TestSizeClasses(t *testing.T) {
	for n := 1; n <= maxPooled; n++ {
		c := classOf(n)
		size := classSize(c)
		if n > size || c > 0 && n <= classSize(c-1) {
			t.Fatalf("%d bytes in class %d of %d bytes", n, c, size)
		}
		if c > 0 && 5*(size-n) >= size {
			t.Fatalf("%d bytes waste %d of a slot of %d", n, size-n, size)
		}
	}
	if c := classOf(maxPooled); c != numClasses-1 || classSize(c) != maxPooled {
		t.Errorf("class %d of %d bytes is the last, want %d of %d", c, classSize(c), numClasses-1, maxPooled)
	}
}

// blockOf returns a MSG block of n bytes with body bytes of v.
func blockOf(n int, v byte) []byte {
	b := New("q", Bytes)
	b.Body = bytes.Repeat([]byte{v}, n-len(b.AppendTo(nil)))
	return b.AppendTo(nil)
}

// Messages of many goroutines, which hand them to each other, keep their bytes; afterwards all accounts are zero.
func TestPoolStress(t *testing.T) {
	var pool Pool
	const workers, rounds = 4, 1500
	handed := make(chan *Message, 64)
	var wg sync.WaitGroup
	check := func(m *Message) {
		body := m.Body()
		for _, v := range body {
			if v != body[0] {
				t.Errorf("body of %d bytes has %x and %x", len(body), body[0], v)
				break
			}
		}
		m.Release()
	}
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				n := 60 + random.IntN(3000)
				if random.IntN(200) == 0 {
					n = maxPooled + random.IntN(1000)
				}
				m, err := pool.NewCore(blockOf(n, byte(1+random.IntN(250))))
				if err != nil {
					t.Error(err)
					return
				}
				if random.IntN(3) == 0 {
					m.Retain()
					m.Release()
				}
				select {
				case handed <- m:
				case other := <-handed:
					check(other)
					check(m)
				}
			}
		})
	}
	wg.Wait()
	close(handed)
	for m := range handed {
		check(m)
	}
	assertDrained(t, &pool)
}

func (p *Pool) slabs() (all, empty int) {
	for i := range p.classes {
		for _, s := range p.classes[i].partial {
			all++
			if len(s.free) == s.slots {
				empty++
			}
		}
	}
	return all, empty
}

// What many messages took goes back to the system, whatever order they are released in.
func TestSlabsReturn(t *testing.T) {
	var pool Pool
	for _, order := range []string{"first in first out", "last in first out", "shuffled"} {
		var ms []*Message
		for range 20_000 {
			m, err := pool.NewCore(blockOf(1000, 1))
			if err != nil {
				t.Fatal(err)
			}
			ms = append(ms, m)
		}
		if pool.Live() != 20_000 || pool.Bytes() != 20_000*1024 {
			t.Errorf("%d messages of %d bytes", pool.Live(), pool.Bytes())
		}
		mapped := map[*slab]bool{}
		for _, m := range ms {
			mapped[m.slab] = true
		}
		switch order {
		case "last in first out":
			for i, j := 0, len(ms)-1; i < j; i, j = i+1, j-1 {
				ms[i], ms[j] = ms[j], ms[i]
			}
		case "shuffled":
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		}
		for _, m := range ms {
			m.Release()
		}
		if all, empty := pool.slabs(); all != keepEmpty || empty != keepEmpty {
			t.Errorf("%s: %d slabs left, %d of them empty, of %d", order, all, empty, len(mapped))
		}
		gone := 0
		for s := range mapped {
			if s.mem == nil {
				gone++
			}
		}
		if gone != len(mapped)-keepEmpty || gone < 5 {
			t.Errorf("%s: %d of %d slabs unmapped", order, gone, len(mapped))
		}
		assertDrained(t, &pool)
	}
}

func panicOf(f func()) (what any) {
	defer func() { what = recover() }()
	f()
	return nil
}

func TestBreachPanics(t *testing.T) {
	var pool Pool
	m, err := pool.NewCore(unhex(smallest))
	if err != nil {
		t.Fatal(err)
	}
	m.SetID(7)
	m.Release()
	if err, _ := panicOf(m.Release).(error); err == nil || !strings.Contains(err.Error(), "message 7 was released more often") {
		t.Errorf("second release: %v", err)
	}
	m, err = new(Pool).NewCore(unhex(smallest))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	if panicOf(m.Retain) == nil {
		t.Error("retained after the last release")
	}
	borrowed, err := ParseCore(unhex(smallest))
	if err != nil {
		t.Fatal(err)
	}
	if panicOf(borrowed.Release) == nil || panicOf(borrowed.Retain) == nil {
		t.Error("a borrowed message was released or retained")
	}
}

// After a breach no memory is used twice: what a holder still sees stays as it is.
func TestBreachStopsRecycling(t *testing.T) {
	var told []error
	pool := Pool{OnBreach: func(err error) { told = append(told, err) }}
	held := make([]*Message, 3)
	for i := range held {
		m, err := pool.NewCore(blockOf(200, byte(i+1)))
		if err != nil {
			t.Fatal(err)
		}
		held[i] = m
	}
	mine := held[1].Body()
	held[0].Release()
	held[0].Release() // the breach
	held[1].Release() // somebody still reads mine
	if len(told) != 1 {
		t.Fatalf("told of %v", told)
	}
	for range 3000 {
		m, err := pool.NewCore(blockOf(200, 0xee))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	if want := bytes.Repeat([]byte{2}, len(mine)); !bytes.Equal(mine, want) {
		t.Errorf("bytes in use became %x", mine)
	}
	held[2].Release()
	assertDrained(t, &pool)
	if len(told) != 1 {
		t.Errorf("told of %v", told)
	}
}

type fakeAccount int64

func (a *fakeAccount) Give(n int64) { *a -= fakeAccount(n) }

func TestAccountIsGivenBackOnce(t *testing.T) {
	var pool Pool
	m, err := pool.NewCore(unhex(smallest))
	if err != nil {
		t.Fatal(err)
	}
	account := fakeAccount(m.Memory())
	m.Charge(&account)
	m.Retain()
	m.Release()
	if account == 0 {
		t.Error("given back before the last release")
	}
	m.Release()
	if account != 0 {
		t.Errorf("%d bytes left", account)
	}
	m, err = pool.NewCore(unhex(smallest))
	if err != nil || m.Charged() != nil {
		t.Errorf("a new message is charged to %v, %v", m.Charged(), err)
	}
	m.Release()
}

func TestReparse(t *testing.T) {
	m, err := ParseCore(unhex(smallest))
	if err != nil {
		t.Fatal(err)
	}
	m.UseAddress("e.c")
	b := New("other", Text)
	b.Set(PropGroupID, "g")
	if err := m.Reparse(b.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if m.Address() != "other" || m.Special() != HasGroupID || m.Type() != Text {
		t.Errorf("parsed %+v", m)
	}
}
