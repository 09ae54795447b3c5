package sharedstore

import (
	"fmt"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/journal/fs"
)

// Guard is the file system of a store on the shared folder: before it changes anything it asks Verify, and does not do it if that
// refuses. So a process that was frozen while another one took over finds out before it writes into the other one's files. Reading,
// opening, syncing and closing are never refused: they change nothing that the other one has.
func (n *NodeManager) Guard(under fs.FS) fs.FS {
	return guard{under, func() error {
		if err := n.Verify(quorum.Now()); err != nil {
			return fmt.Errorf("nothing is written to a folder that another broker may use: %w", err)
		}
		return nil
	}}
}

type guard struct {
	fs.FS
	verify func() error
}

func (g guard) file(f fs.File, err error) (fs.File, error) {
	if err != nil {
		return nil, err
	}
	return guarded{f, g.verify}, nil
}

func (g guard) Open(name string) (fs.File, error) { return g.file(g.FS.Open(name)) }

func (g guard) OpenDirect(name string, align int) (fs.File, bool, error) {
	f, direct, err := g.FS.OpenDirect(name, align)
	f, err = g.file(f, err)
	return f, direct, err
}

func (g guard) Create(name string) (fs.File, error) {
	if err := g.verify(); err != nil {
		return nil, err
	}
	return g.file(g.FS.Create(name))
}

func (g guard) Rename(old, new string) error {
	if err := g.verify(); err != nil {
		return err
	}
	return g.FS.Rename(old, new)
}

func (g guard) Remove(name string) error {
	if err := g.verify(); err != nil {
		return err
	}
	return g.FS.Remove(name)
}

func (g guard) RemoveAll(dir string) error {
	if err := g.verify(); err != nil {
		return err
	}
	return g.FS.RemoveAll(dir)
}

func (g guard) MkdirAll(dir string) error {
	if err := g.verify(); err != nil {
		return err
	}
	return g.FS.MkdirAll(dir)
}

// guarded is a file that may be written.
type guarded struct {
	fs.File
	verify func() error
}

func (f guarded) WriteAt(p []byte, off int64) (int, error) {
	if err := f.verify(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f guarded) Truncate(size int64) error {
	if err := f.verify(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}
