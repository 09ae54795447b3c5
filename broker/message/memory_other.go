//go:build !unix

package message

func mapMemory(n int) []byte { return make([]byte, n) }

func unmapMemory([]byte) {}
