package message

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// pagesMapped is how many pages the process has mapped.
func pagesMapped(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(b))[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What is mapped can be written from end to end, begins where a huge page does if it is as large as one, and goes whole.
func TestMapMemory(t *testing.T) {
	for _, n := range []int{firstSlab, slabBytes} {
		before := pagesMapped(t)
		const rounds = 200
		for range rounds {
			b, mapped := mapMemory(n)
			if !mapped || len(b) != n || cap(b) != n {
				t.Fatalf("%d bytes: mapped %v, %d bytes of %d", n, mapped, len(b), cap(b))
			}
			if at := uintptr(unsafe.Pointer(&b[0])); n >= hugePage && at%hugePage != 0 {
				t.Errorf("%d bytes begin at %#x", n, at)
			}
			b[0], b[n-1] = 1, 1
			unmapMemory(b)
		}
		// The rest of the process may have grown meanwhile, but not by what was mapped.
		if grown := (pagesMapped(t) - before) * os.Getpagesize(); grown > rounds*n/2 {
			t.Errorf("%d times %d bytes: %d are still mapped", rounds, n, grown)
		}
	}
}
