package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/saranga-mq/saranga/journal/fs"
)

// LocalFile is the name of the local sequence's file in the node manager's folder: 8 bytes, big-endian. A file that is shorter
// counts as none.
const LocalFile = "server.activation.sequence"

// A FileSequence is a LocalSequence in a folder.
type FileSequence struct {
	FS  fs.FS
	Dir string // exists
}

// Load implements LocalSequence.
func (s FileSequence) Load() (int64, error) {
	name := path.Join(s.Dir, LocalFile)
	f, err := s.FS.OpenRead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return NoSequence, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read local activation sequence: %w", err)
	}
	defer f.Close()
	var b [8]byte
	n, err := f.ReadAt(b[:], 0)
	switch {
	case n == len(b):
		return int64(binary.BigEndian.Uint64(b[:])), nil
	case err == nil || errors.Is(err, io.EOF):
		return NoSequence, nil
	}
	return 0, fmt.Errorf("read local activation sequence %s: %w", name, err)
}

// Store implements LocalSequence. The number is written in place, as Artemis does: 8 bytes in one sector.
func (s FileSequence) Store(sequence int64) error {
	name := path.Join(s.Dir, LocalFile)
	f, err := s.FS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = s.FS.Create(name)
	}
	if err != nil {
		return fmt.Errorf("write local activation sequence: %w", err)
	}
	_, err = f.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(sequence)), 0)
	if err == nil {
		err = f.Datasync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		// Also when it was there: whoever made it may have crashed before the name was durable.
		err = s.FS.SyncDir(s.Dir)
	}
	if err != nil {
		return fmt.Errorf("write local activation sequence %s: %w", name, err)
	}
	return nil
}
