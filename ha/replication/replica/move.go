package replica

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
)

const savedPrefix = "oldreplica."

// MoveAway empties the four folders of a store for a synchronisation: what is in them goes to oldreplica.<n> in the same folder, n being
// one more than the largest there is. keep is max-saved-replicated-journals-size: so many of these folders stay, the new one
// included, the lowest numbers go; 0 removes the data at once, below 0 keeps all. keepLocks is for a failback with a lock
// manager: the files named server.lock… and serverlock… are copied and stay. A folder that is not there is made; where nothing
// is to be moved nothing changes. Stopped halfway, it can be called again.
//
// The store must be closed. server.lock is opened and closed, which drops this process' record locks on it; the node manager holds one only
// while it reads or writes its state. Source: spec ha §2.7; Artemis FileMoveManager.
func MoveAway(o journal.StoreOptions, keep int, keepLocks bool) error {
	for _, dir := range folders(&o) {
		if err := moveAway(o.FS, dir, keep, keepLocks); err != nil {
			return fmt.Errorf("move the data in %s away: %w", dir, err)
		}
	}
	return nil
}

// folders are the four folders of a store.
func folders(o *journal.StoreOptions) []string {
	all := []string{path.Clean(o.Bindings), path.Clean(o.Journal), path.Clean(o.Paging), path.Clean(o.Large)}
	slices.Sort(all)
	return slices.Compact(all)
}

func isLock(name string) bool {
	return strings.HasPrefix(name, "server.lock") || strings.HasPrefix(name, "serverlock")
}

func moveAway(fsys fs.FS, dir string, keep int, keepLocks bool) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	var saved []int64 // numbers
	var move []string
	only := true // locks
	for _, n := range names {
		if number, ok := strings.CutPrefix(n, savedPrefix); ok {
			if i, err := strconv.ParseInt(number, 10, 64); err == nil && i >= 0 {
				saved = append(saved, i)
			}
			continue
		}
		move = append(move, n)
		only = only && keepLocks && isLock(n)
	}
	if only { // nothing, or what stays anyway
		move = nil
	}
	slices.Sort(saved)
	if len(move) > 0 && keep != 0 {
		next := int64(1)
		if len(saved) > 0 {
			next = saved[len(saved)-1] + 1
		}
		to := path.Join(dir, savedPrefix+strconv.FormatInt(next, 10))
		if err := fsys.MkdirAll(to); err != nil {
			return err
		}
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
		for _, n := range move {
			if err := save(fsys, path.Join(dir, n), path.Join(to, n), keepLocks && isLock(n)); err != nil {
				return err
			}
		}
		// The new names before the old ones are gone.
		if err := fsys.SyncDir(to); err != nil {
			return err
		}
		saved = append(saved, next)
	}
	if keep == 0 {
		for _, n := range move {
			if keepLocks && isLock(n) {
				continue
			}
			if err := fsys.RemoveAll(path.Join(dir, n)); err != nil {
				return err
			}
		}
	}
	for keep >= 0 && len(move) > 0 && len(saved) > keep {
		if err := fsys.RemoveAll(path.Join(dir, savedPrefix+strconv.FormatInt(saved[0], 10))); err != nil {
			return err
		}
		saved = saved[1:]
	}
	return fsys.SyncDir(dir)
}

// save moves, or copies, a file, or moves a folder with what is in it.
func save(fsys fs.FS, from, to string, keep bool) error {
	info, err := fsys.Stat(from)
	if err != nil {
		return err
	}
	if !info.Dir {
		if keep {
			return copyFile(fsys, from, to, info.Size)
		}
		return fsys.Rename(from, to)
	}
	if err := fsys.MkdirAll(to); err != nil {
		return err
	}
	names, err := fsys.List(from)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := save(fsys, path.Join(from, n), path.Join(to, n), false); err != nil {
			return err
		}
	}
	if err := fsys.SyncDir(to); err != nil {
		return err
	}
	return fsys.RemoveAll(from)
}

// copyFile copies a lock file. An empty one is not opened: to close it again would drop the record locks that this process has
// on it.
func copyFile(fsys fs.FS, from, to string, size int64) error {
	var b []byte
	if size > 0 {
		var err error
		if b, err = fs.ReadFile(fsys, from); err != nil {
			return err
		}
	}
	f, err := fsys.Create(to)
	if err != nil {
		return err
	}
	if len(b) > 0 {
		_, err = f.WriteAt(b, 0)
	}
	if err == nil {
		err = f.Datasync()
	}
	return errors.Join(err, f.Close())
}
