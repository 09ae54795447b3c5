//go:build !linux

package fs

import "os"

func (OS) OpenDirect(name string, align int) (File, bool, error) {
	f, err := open(name, os.O_RDWR)
	return f, false, err
}

func (OS) BlockSize(dir string) (int, error) { return 4096, nil }

func (f osFile) Datasync() error { return f.Sync() }

func (f osFile) WriteBack(off, n int64) error { return nil }
