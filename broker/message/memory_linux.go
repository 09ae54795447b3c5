package message

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// mapMemory returns n zero bytes outside the garbage-collected heap, n a multiple of the page size; false is memory of
// the heap after all, because the process has too many mappings. What is as large as a huge page is one: aligned, which
// older kernels do not by themselves, and advised.
func mapMemory(n int) ([]byte, bool) {
	if n < hugePage {
		start, err := mmap(uintptr(n))
		if err != nil {
			return make([]byte, n), false
		}
		return unsafe.Slice((*byte)(start), n), true
	}
	room := uintptr(n) + hugePage
	start, err := mmap(room)
	if err != nil {
		return make([]byte, n), false
	}
	before := -uintptr(start) % hugePage
	b := unsafe.Slice((*byte)(unsafe.Add(start, before)), n)
	munmap(start, before)
	munmap(unsafe.Add(start, before+uintptr(n)), hugePage-before)
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // without it the pages are small
	return b, true
}

// unmapMemory gives back what mapMemory has mapped.
func unmapMemory(b []byte) { munmap(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))) }

func mmap(n uintptr) (unsafe.Pointer, error) {
	return unix.MmapPtr(-1, 0, nil, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// munmap cannot fail for a part of a mapping, except by the limit on mappings: then the part stays.
func munmap(p unsafe.Pointer, n uintptr) {
	if n > 0 {
		_ = unix.MunmapPtr(p, n)
	}
}
