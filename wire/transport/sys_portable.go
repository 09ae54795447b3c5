//go:build unix && (!linux || race)

package transport

import (
	"io"
	"syscall"
)

// scratch is what a batch needs for a scattered write: nothing here.
type scratch struct{}

func sysRead(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		switch {
		case err == nil && n == 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		case err == syscall.EAGAIN:
			return 0, errAgain
		case err != syscall.EINTR:
			return 0, err
		}
	}
}

// sysWrite writes the segments of b from b.next on; all tells whether everything was written.
func sysWrite(fd uintptr, b *batch) (written int, all bool, err error) {
	for i := b.next; i < len(b.segs); i++ {
		p := b.segs[i].p
		for len(p) > 0 {
			n, err := syscall.Write(int(fd), p)
			switch {
			case err == syscall.EINTR:
				continue
			case err == syscall.EAGAIN && written > 0:
				return written, false, nil
			case err == syscall.EAGAIN:
				return 0, false, errAgain
			case err != nil:
				return written, false, err
			}
			written += n
			p = p[n:]
		}
	}
	return written, true, nil
}

// sysDry never knows.
func sysDry(uintptr) bool { return false }
