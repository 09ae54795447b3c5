//go:build unix

package message

import "golang.org/x/sys/unix"

// mapMemory returns n zero bytes outside the garbage-collected heap.
func mapMemory(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n) // a limit on mappings: the heap will do
	}
	return b
}

// unmapMemory gives back what mapMemory returned. Memory of the heap is not a mapping that Munmap knows: it refuses it
// and the collector takes it.
func unmapMemory(b []byte) { _ = unix.Munmap(b) }
