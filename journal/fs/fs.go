// Package fs is the file system under the journal, the bindings, the pages and the large messages.
//
// Three implementations: [OS] is the real one, [Mem] lives in memory and can crash (it loses bytes
// and names that were not synced), [Faulty] wraps another one and fails chosen operations.
//
// Durability follows POSIX: [File.Datasync] makes a file's bytes and size durable, [FS.SyncDir]
// makes the names in a folder durable (creation, rename, removal). Neither implies the other.
package fs

import (
	"errors"
	"io/fs"
	"syscall"
	"time"
	"unsafe"
)

// FS names files by slash-separated paths. All methods may be called from any goroutine.
type FS interface {
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// OpenRead opens an existing file for reading only.
	OpenRead(name string) (File, error)
	// OpenDirect opens an existing file so that a write is durable when it returns and bypasses the page cache.
	// Offsets, lengths and buffers must then be multiples of align. Where the file system refuses, the file is
	// opened as by Open and direct is false: the caller must call Datasync.
	OpenDirect(name string, align int) (f File, direct bool, err error)
	// Create makes an empty file, or empties an existing one, and opens it for reading and writing.
	Create(name string) (File, error)
	// Rename replaces new if it exists.
	Rename(old, new string) error
	Remove(name string) error
	// RemoveAll removes a folder and what is in it. It is no error if there is none.
	RemoveAll(dir string) error
	// MkdirAll creates a folder and its parents.
	MkdirAll(dir string) error
	// List returns the names in a folder, sorted.
	List(dir string) ([]string, error)
	Stat(name string) (Info, error)
	// SyncDir makes the names in the folder durable.
	SyncDir(dir string) error
	// BlockSize is the file system's preferred block size at the folder, in bytes.
	BlockSize(dir string) (int, error)
}

// File is an open file. ReadAt and WriteAt may run at the same time; WriteAt writes all or returns an error.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Datasync returns when everything written is durable, including the file's size.
	Datasync() error
	// WriteBack asks for the range to be written soon. It is a hint: nothing is durable by it.
	WriteBack(off, n int64) error
	Truncate(size int64) error
	Size() (int64, error)
	Close() error
}

// Info describes a file or a folder.
type Info struct {
	Size    int64
	Dir     bool
	ModTime time.Time
}

// ErrNotExist is wrapped by the errors of operations on a name that is not there.
var ErrNotExist = fs.ErrNotExist

// NoSpace tells whether err means that the device, the quota or the descriptor table is full: states in which
// a refused creation leaves nothing behind and a later try may succeed.
func NoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// ReadFile returns the whole content of a file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenRead(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if size == 0 {
		return b, nil
	}
	n, err := f.ReadAt(b, 0)
	if int64(n) == size {
		err = nil
	}
	return b[:n], err
}

// Exists tells whether a file or folder of that name is there.
func Exists(fsys FS, name string) (bool, error) {
	_, err := fsys.Stat(name)
	if errors.Is(err, ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// zeros is what files are filled with; a file of any size is filled from this one block.
var zeros [256 << 10]byte

// Zero fills a file with zeros from offset from up to offset to.
func Zero(f File, from, to int64) error {
	for from < to {
		n := min(to-from, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:n], from); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// Aligned returns n bytes whose address is a multiple of align (a power of two), as OpenDirect needs them.
func Aligned(n, align int) []byte {
	if align <= 1 {
		return make([]byte, n)
	}
	b := make([]byte, n+align)
	skip := 0
	if r := int(uintptr(unsafe.Pointer(&b[0])) & uintptr(align-1)); r != 0 {
		skip = align - r
	}
	return b[skip : skip+n : skip+n]
}
