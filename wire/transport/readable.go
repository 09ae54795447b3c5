package transport

import "golang.org/x/sys/unix"

// readable tells whether a read on fd would return at once: bytes, the end or an error.
func readable(fd uintptr) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != unix.EAGAIN
}
