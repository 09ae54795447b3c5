package replica

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
)

const savedPrefix = "oldreplica."

// movingName is a file in a saved folder until everything is in it.
const movingName = savedPrefix + "moving"

// sequenceName is the activation sequence, which says that the data may be used.
const sequenceName = "server.activation.sequence"

// MoveAway empties the four folders of a store for a synchronisation: what is in them goes to oldreplica.<n> in the same folder, n being
// one more than the largest there is. keep is max-saved-replicated-journals-size: so many of these folders stay, the new one
// included, the lowest numbers go; 0 removes the data at once, below 0 keeps all. keepLocks is for a failback with a lock
// manager: the files named server.lock… and serverlock… are copied and stay. A folder that is not there is made; where nothing
// is to be moved nothing changes. Stopped halfway, it can be called again, and puts the rest beside what was moved before; until a
// synchronisation has ended Whole returns an error. The activation sequence goes first.
//
// The store must be closed. server.lock is opened and closed, which drops this process' record locks on it; the node manager holds one only
// while it reads or writes its state. Source: spec ha §2.7; Artemis FileMoveManager.
func MoveAway(o journal.StoreOptions, keep int, keepLocks bool) error {
	for _, dir := range folders(&o) {
		if err := moveAway(&o, dir, keep, keepLocks); err != nil {
			return fmt.Errorf("move the data in %s away: %w", dir, err)
		}
	}
	return nil
}

// folders are the four folders of a store, the journal's first.
func folders(o *journal.StoreOptions) []string {
	all := []string{path.Clean(o.Journal)}
	for _, dir := range []string{o.Bindings, o.Paging, o.Large} {
		if dir = path.Clean(dir); !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

func isLock(name string) bool {
	return strings.HasPrefix(name, "server.lock") || strings.HasPrefix(name, "serverlock")
}

func moveAway(o *journal.StoreOptions, dir string, keep int, keepLocks bool) error {
	fsys := o.FS
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return err
	}
	saved, move, err := contents(fsys, dir)
	if err != nil {
		return err
	}
	to, interrupted, err := target(fsys, dir, saved)
	if err != nil {
		return err
	}
	if !interrupted && !slices.ContainsFunc(move, func(n string) bool { return !keepLocks || !isLock(n) }) {
		return nil // there is nothing, or what stays anyway
	}
	if interrupted || slices.ContainsFunc(move, func(n string) bool { return n != sequenceName && !isLock(n) }) {
		if err := markIncomplete(o); err != nil {
			return err
		}
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
	} else {
		if err := saveAll(fsys, dir, path.Join(dir, savedName(to)), move, keepLocks); err != nil {
			return err
		}
		if !slices.Contains(saved, to) {
			saved = append(saved, to)
		}
	}
	for keep >= 0 && len(saved) > keep {
		if err := fsys.RemoveAll(path.Join(dir, savedName(saved[0]))); err != nil {
			return err
		}
		saved = saved[1:]
	}
	return fsys.SyncDir(dir)
}

func savedName(n int64) string { return savedPrefix + strconv.FormatInt(n, 10) }

// contents are the numbers of the saved folders, in order, and what is to be moved, the activation sequence first.
func contents(fsys fs.FS, dir string) (saved []int64, move []string, err error) {
	names, err := fsys.List(dir)
	for _, n := range names {
		number, ok := strings.CutPrefix(n, savedPrefix)
		switch {
		case ok:
			if i, err := strconv.ParseInt(number, 10, 64); err == nil && i >= 0 && i < math.MaxInt64 {
				saved = append(saved, i)
			}
		case n == sequenceName:
			move = slices.Insert(move, 0, n)
		case n != incompleteName:
			move = append(move, n)
		}
	}
	slices.Sort(saved)
	return saved, move, err
}

// target is the number of the folder to move into: the last one if moving into that was interrupted.
func target(fsys fs.FS, dir string, saved []int64) (to int64, interrupted bool, err error) {
	if len(saved) == 0 {
		return 1, false, nil
	}
	last := saved[len(saved)-1]
	names, err := fsys.List(path.Join(dir, savedName(last)))
	if interrupted = slices.Contains(names, movingName); interrupted || len(names) == 0 {
		return last, interrupted, err
	}
	return last + 1, false, err
}

// saveAll moves names, in order, into a saved folder.
func saveAll(fsys fs.FS, dir, to string, names []string, keepLocks bool) error {
	moving := path.Join(to, movingName)
	if err := errors.Join(fsys.MkdirAll(to), writeFile(fsys, moving, nil), fsys.SyncDir(to), fsys.SyncDir(dir)); err != nil {
		return err
	}
	for _, n := range names {
		if err := save(fsys, path.Join(dir, n), path.Join(to, n), keepLocks && isLock(n)); err != nil {
			return err
		}
		if n == sequenceName { // nothing else goes as long as it could come back
			if err := errors.Join(fsys.SyncDir(to), fsys.SyncDir(dir)); err != nil {
				return err
			}
		}
	}
	// The new names before the old ones are gone, and both before the folder counts as complete.
	if err := errors.Join(fsys.SyncDir(to), fsys.SyncDir(dir)); err != nil {
		return err
	}
	return errors.Join(fsys.Remove(moving), fsys.SyncDir(to))
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
	return writeFile(fsys, to, b)
}

// writeFile makes a file whose content is durable.
func writeFile(fsys fs.FS, name string, b []byte) error {
	f, err := fsys.Create(name)
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
