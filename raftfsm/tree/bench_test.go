package tree

import (
	"fmt"
	"io"
	"testing"
)

// filled is a state with n leases of one session below one container, beside n/100 lock folders.
func filled(b *testing.B, n int) *State {
	b.Helper()
	s := New()
	index := uint64(0)
	apply := func(c Command) {
		index++
		if r := s.ApplyCommand(index, 1, &c); r.Failed() != OK {
			b.Fatal(r.Failed())
		}
	}
	caller := Caller{Chroot: ClientRoot}
	apply(Command{Session: 1, Owner: 1, Op: &NewSession{Timeout: 1}})
	apply(Command{Session: 1, Owner: 1, Caller: caller, Op: &Create{"/ns", nil, OpenACL(), Container}})
	for i := range n {
		apply(Command{Session: 1, Owner: 1, Caller: caller, Op: &Create{"/ns/lease-", []byte("73e21849-870e-4ee2-a9be-55e4669d3be8"), OpenACL(), EphemeralSequential}})
		if i%100 == 0 {
			apply(Command{Session: 1, Owner: 1, Caller: caller, Op: &Create{fmt.Sprintf("/ns/%08d", i), nil, OpenACL(), Container}})
		}
	}
	return s
}

// BenchmarkCreateDelete applies what a lock attempt writes: an ephemeral sequential node is made and deleted, from encoded commands.
func BenchmarkCreateDelete(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			s := filled(b, n)
			index := uint64(s.Zxid())
			create := Command{Session: 1, Owner: 1, Caller: Caller{Chroot: ClientRoot, IDs: []ID{{"ip", "127.0.0.1"}}},
				Op: &Create{"/ns/_c_e17e3673-39aa-4867-8ea4-c3f48544c1d8-lease-", []byte("73e21849-870e-4ee2-a9be-55e4669d3be8"), OpenACL(), EphemeralSequential}}
			var encoded []byte
			b.ReportAllocs()
			for b.Loop() {
				index++
				create.Request = index
				encoded, _ = create.Append(encoded[:0])
				r := s.Apply(index, 1, encoded)
				index++
				remove := Command{Request: index, Session: 1, Owner: 1, Caller: create.Caller, Op: &Delete{r.Path, -1}}
				encoded, _ = remove.Append(encoded[:0])
				if r := s.Apply(index, 1, encoded); r.Code != OK {
					b.Fatal(r.Code)
				}
			}
		})
	}
}

// BenchmarkSetData applies a set of an activation sequence, alone and with a snapshot taken before each: the price of copying what is shared.
func BenchmarkSetData(b *testing.B) {
	for _, snapshots := range []bool{false, true} {
		b.Run(fmt.Sprintf("snapshots=%v", snapshots), func(b *testing.B) {
			s := filled(b, 10_000)
			index := uint64(s.Zxid())
			set := Command{Session: 1, Owner: 1, Caller: Caller{Chroot: ClientRoot}, Op: &SetData{"/ns/lease-0000000000", []byte("12345678"), -1}}
			encoded, err := set.Append(nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if snapshots {
					s.Snapshot()
				}
				index++
				if r := s.Apply(index, 1, encoded); r.Code != OK {
					b.Fatal(r.Code)
				}
			}
		})
	}
}

// BenchmarkGet reads a lease, as isHeldByCaller does.
func BenchmarkGet(b *testing.B) {
	s := filled(b, 10_000)
	c := &Caller{Chroot: ClientRoot}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, code := s.Get(c, "/ns/lease-0000000000"); code != OK {
			b.Fatal(code)
		}
	}
}

// BenchmarkWriteTo writes out a snapshot of 20,000 nodes.
func BenchmarkWriteTo(b *testing.B) {
	s := filled(b, 20_000).Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		n, err := s.WriteTo(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}
