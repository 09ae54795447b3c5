package fs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func (OS) OpenDirect(name string, align int) (File, bool, error) {
	f, err := open(name, os.O_RDWR|unix.O_DIRECT|unix.O_DSYNC)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		f, err = open(name, os.O_RDWR) // tmpfs and some network file systems
		return f, false, err
	}
	return f, err == nil, err
}

func (OS) BlockSize(dir string) (int, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return int(st.Blksize), nil
}

func (f osFile) Datasync() error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
		return nil
	}
}

func (f osFile) WriteBack(off, n int64) error {
	return unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}
