//go:build !linux

package message

// mapMemory takes memory of the heap.
func mapMemory(n int) ([]byte, bool) { return make([]byte, n), false }

func unmapMemory([]byte) {}
