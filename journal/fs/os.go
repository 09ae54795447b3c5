package fs

import (
	"os"
	"sort"
)

// OS is the real file system. The zero value is ready to use.
//
// On Linux Datasync is fdatasync(2); elsewhere it is the strongest sync the platform has (F_FULLFSYNC on darwin).
type OS struct{}

type osFile struct {
	*os.File
}

func (OS) Open(name string) (File, error) {
	return open(name, os.O_RDWR)
}

func (OS) OpenRead(name string) (File, error) {
	return open(name, os.O_RDONLY)
}

func (OS) Create(name string) (File, error) {
	return open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func open(name string, flags int) (File, error) {
	f, err := os.OpenFile(name, flags, 0o640)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (OS) Rename(old, new string) error { return os.Rename(old, new) }
func (OS) Remove(name string) error     { return os.Remove(name) }
func (OS) RemoveAll(dir string) error   { return os.RemoveAll(dir) }
func (OS) MkdirAll(dir string) error    { return os.MkdirAll(dir, 0o750) }
func (f osFile) Size() (int64, error)   { return f.Seek(0, 2) }
func (f osFile) Truncate(n int64) error { return f.File.Truncate(n) }

func (OS) List(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	sort.Strings(names)
	return names, err
}

func (OS) Stat(name string) (Info, error) {
	i, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return Info{Size: i.Size(), Dir: i.IsDir(), ModTime: i.ModTime()}, nil
}

func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
