package journal

import (
	"errors"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/journal/fs"
)

// file is one journal file and the account that decides when it may go.
//
// Its fields are guarded by Journal.mu, except handle, which belongs to the flusher once the file is current.
type file struct {
	name    string
	id      int64
	version int32
	size    int64
	slot    uint32 // its number in Journal.slots

	handle fs.File // open for appending
	direct bool    // handle writes durably by itself

	// left counts what still needs the file: adds and updates that live in it and one for each transaction with
	// records in it, less what sealed files take back of it.
	left int
	// neg says how many of another file's (or its own) needs this file takes back, by the other's slot. Those of a
	// file that is not sealed do not count yet: its records may not be on disk.
	neg map[uint32]int
	// sealed: closed, and everything in it is on disk.
	sealed bool
	// live is how many bytes the live records in it take.
	live int64
	// adds and replaceable count the adds and the replaceable updates ever written into it.
	adds, replaceable int
}

// FileInfo describes a journal file in a folder.
type FileInfo struct {
	Name string // in the folder, now
	Size int64
	Header
	as string // the name it has after recovery; same as Name normally
}

const (
	controlFile = "journal-rename-control.ctr"
	compacting  = ".cmp"
	creating    = ".tmp"
	retaining   = ".bkp"
)

// Files lists the journal files of a folder as they are, in the order of their ids, without changing anything.
// Files too short to have a header are left out.
func Files(fsys fs.FS, dir, ext string) ([]FileInfo, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("journal: list %s: %w", dir, err)
	}
	var files []FileInfo
	for _, n := range names {
		if strings.HasSuffix(n, "."+ext) {
			if files, err = appendInfo(files, fsys, dir, n, n); err != nil {
				return nil, err
			}
		}
	}
	sortFiles(files)
	return files, nil
}

func sortFiles(files []FileInfo) {
	sort.SliceStable(files, func(i, k int) bool { return files[i].ID < files[k].ID })
}

func appendInfo(files []FileInfo, fsys fs.FS, dir, name, as string) ([]FileInfo, error) {
	f, err := fsys.OpenRead(path.Join(dir, name))
	if err != nil {
		return files, fmt.Errorf("journal: open %s: %w", name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return files, fmt.Errorf("journal: size of %s: %w", name, err)
	}
	if size < headerSize {
		return files, nil
	}
	var b [headerSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return files, fmt.Errorf("journal: read header of %s: %w", name, err)
	}
	h, err := ReadHeader(b[:])
	if err != nil {
		return files, fmt.Errorf("journal: load %s: %w", name, err)
	}
	return append(files, FileInfo{Name: name, as: as, Size: size, Header: h}), nil
}

// number returns n of <prefix>-<n>.<ext>, 0 for other names.
func (o *Options) number(name string) int64 {
	s, ok := strings.CutPrefix(name, o.Prefix+"-")
	if !ok {
		return 0
	}
	s, _, _ = strings.Cut(s, ".")
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (o *Options) fileName(n int64) string {
	return o.Prefix + "-" + strconv.FormatInt(n, 10) + "." + o.Ext
}

func (o *Options) path(name string) string { return path.Join(o.Dir, name) }

// writeHeader gives a file a new identity: what it held before is stale from then on.
func (o *Options) writeHeader(name string, id int64) error {
	f, err := o.FS.Open(o.path(name))
	if err != nil {
		return err
	}
	var b [headerSize]byte
	putHeader(b[:], id)
	_, err = f.WriteAt(b[:], 0)
	if err == nil {
		err = f.Datasync()
	}
	return errors.Join(err, f.Close())
}

// create makes a file of full size, filled with zeros, and names it only when all of that is on disk.
// After an error nothing is left behind.
func (o *Options) create(id int64) (err error) {
	name := o.fileName(id)
	tmp := o.path(name + creating)
	f, err := o.FS.Create(tmp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = o.FS.Remove(tmp)
		}
	}()
	err = fs.Zero(f, 0, int64(o.FileSize))
	if err == nil {
		var b [headerSize]byte
		putHeader(b[:], id)
		_, err = f.WriteAt(b[:], 0)
	}
	if err == nil {
		err = f.Datasync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = o.FS.Rename(tmp, o.path(name)); err != nil {
		return err
	}
	return o.FS.SyncDir(o.Dir)
}

// attic moves a file of a foreign size aside, or deletes it when the attic is full.
func (o *Options) attic(name string) error {
	dir := o.path("attic")
	names, err := o.FS.List(dir)
	if errors.Is(err, fs.ErrNotExist) && o.MaxAttic > 0 {
		if err = o.FS.MkdirAll(dir); err == nil {
			err = o.FS.SyncDir(o.Dir)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(names) >= o.MaxAttic {
		return o.remove(name)
	}
	if err := o.FS.Rename(o.path(name), path.Join(dir, name)); err != nil {
		return err
	}
	return errors.Join(o.FS.SyncDir(dir), o.FS.SyncDir(o.Dir))
}

func (o *Options) remove(name string) error {
	if err := o.FS.Remove(o.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return o.FS.SyncDir(o.Dir)
}
