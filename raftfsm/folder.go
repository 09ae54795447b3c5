package raftfsm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// folder is a state folder that this process has locked.
type folder struct {
	path string
	lock *os.File

	mu sync.Mutex
	marker
}

const (
	markerFile   = "MEMBER"
	lockFile     = "lock"
	stableFile   = "raft.db"
	logFolder    = "log"
	snapshotBase = "snapshots" // made by hashicorp/raft's file store
)

const wayOut = "If the rest of the group lives, stop here, move this folder away and start again: the group fills a new one"

// openFolder locks the folder and reads whose it is. An empty one becomes this member's, in state founding or joining.
func openFolder(cfg Config) (f *folder, err error) {
	if err := os.MkdirAll(cfg.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	lock, err := lockFolder(cfg.Folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	f = &folder{path: cfg.Folder, lock: lock}
	b, err := os.ReadFile(filepath.Join(f.path, markerFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return f, f.adopt(cfg)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if f.marker, err = decodeMarker(b); err != nil {
		return nil, fmt.Errorf("%w: %s is damaged or foreign: %w. %s", ErrFolder, filepath.Join(f.path, markerFile), err, wayOut)
	}
	if f.Cluster != cfg.Cluster || f.Member != cfg.Member {
		return nil, fmt.Errorf("%w: %s belongs to member %q of cluster %q, not to %q of %q. Set data to the folder of this member, or to an empty one",
			ErrFolder, f.path, f.Member, f.Cluster, cfg.Member, cfg.Cluster)
	}
	if f.State == phaseFounding {
		return f, f.begin(cfg)
	}
	return f, nil
}

func lockFolder(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return lock, nil
	}
	lock.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w: another process runs on %s. Stop it, or give this member a folder of its own", ErrFolder, path)
	}
	return nil, fmt.Errorf("%w: lock %s: %w", ErrFolder, path, err)
}

// adopt takes an empty folder.
func (f *folder) adopt(cfg Config) error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	for _, e := range entries {
		if e.Name() != lockFile && e.Name() != markerFile+".tmp" && e.Name() != "lost+found" {
			return fmt.Errorf("%w: %s holds %s but no file %s: it is not a member's, or only part of it is here. Set data to an empty folder. %s",
				ErrFolder, f.path, e.Name(), markerFile, wayOut)
		}
	}
	return f.begin(cfg)
}

// begin makes the folder that of a member that has never been in a group.
func (f *folder) begin(cfg Config) error {
	for _, name := range []string{stableFile, logFolder, snapshotBase, noteFile} {
		if err := os.RemoveAll(filepath.Join(f.path, name)); err != nil {
			return fmt.Errorf("%w: %w", ErrFolder, err)
		}
	}
	state := phaseFounding
	if cfg.Join {
		state = phaseJoining
	}
	if err := f.write(marker{Cluster: cfg.Cluster, Member: cfg.Member, State: state}); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(f.path, logFolder), 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return syncFolder(f.path)
}

// write replaces the marker; on an error it is the old or the new one.
func (f *folder) write(m marker) error {
	name := filepath.Join(f.path, markerFile)
	if err := writeSynced(name+".tmp", m.encode()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := syncFolder(f.path); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marker = m
	return nil
}

// whose is what MEMBER says.
func (f *folder) whose() marker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.marker
}

func writeSynced(name string, b []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(b); err == nil {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	d.Close()
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	return nil
}

func (f *folder) close() { f.lock.Close() }
