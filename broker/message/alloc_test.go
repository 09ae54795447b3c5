//go:build !race

package message

import "testing"

// A message comes and goes without garbage. (The race detector makes sync.Pool forget at random.)
func TestNoAllocation(t *testing.T) {
	var pool Pool
	block := benchBlock()
	dst := make([]byte, 0, 2048)
	var borrowed Message
	for name, f := range map[string]func(){
		"new and release": func() {
			m, err := pool.NewCore(block)
			if err != nil {
				t.Fatal(err)
			}
			m.SetID(7)
			dst = m.AppendRecord(dst[:0])
			m.Release()
		},
		"look at": func() {
			if err := borrowed.Reparse(block); err != nil || !borrowed.HasProperty("n") || borrowed.HasProperty("m") {
				t.Fatal(err)
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
