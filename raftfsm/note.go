package raftfsm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft-wal/types"
)

// noteFile of the state folder holds the name of the log's newest file. raft-wal takes a last file that is missing for one that a crash kept from being
// made, and begins an empty one; the note tells that from one that was there and is gone, with all that it held.
const noteFile = "segment"

// notedVFS is a file system that keeps the note: it names a file from when it was made, before anything is written to it, until it is deleted.
type notedVFS struct {
	types.VFS
	note string
}

func (v *notedVFS) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := v.VFS.Create(dir, name, size)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(syncFolder(dir), v.write(name)); err != nil {
		return nil, errors.Join(fmt.Errorf("note the file %s: %w", name, err), f.Close())
	}
	return f, nil
}

func (v *notedVFS) Delete(dir, name string) error {
	if noted, err := os.ReadFile(v.note); err == nil && string(noted) == name {
		if err := v.write(""); err != nil {
			return fmt.Errorf("note the end of the file %s: %w", name, err)
		}
	}
	return v.VFS.Delete(dir, name)
}

func (v *notedVFS) write(name string) error {
	if err := writeSynced(v.note+".tmp", []byte(name)); err != nil {
		return err
	}
	if err := os.Rename(v.note+".tmp", v.note); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(v.note))
}

// checkNote returns an error if the newest file of the log is gone.
func checkNote(folder string) error {
	name, err := os.ReadFile(filepath.Join(folder, noteFile))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil // no file of the log was made yet
		}
		return err
	}
	if len(name) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, logFolder, filepath.Base(string(name)))); err != nil {
		return fmt.Errorf("the newest file of the log is gone: %w", err)
	}
	return nil
}
