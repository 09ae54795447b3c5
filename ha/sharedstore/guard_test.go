package sharedstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/lock"
)

// TestGuard: once the lock is lost nothing is changed any more, by whatever operation; what is there can be read and closed.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.StartPrimary(t.Context()); err != nil {
		t.Fatal(err)
	}
	under := fs.NewFaulty(fs.NewMem())
	g := n.Guard(under)
	if err := g.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	f, err := g.Create("/d/a")
	if err != nil {
		t.Fatal(err)
	}
	direct, _, err := g.OpenDirect("/d/a", 512)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := g.Open("/d/a")
	if err != nil {
		t.Fatal(err)
	}
	write := func(f fs.File) func() error {
		return func() error { _, err := f.WriteAt([]byte("x"), 0); return err }
	}
	changes := map[string]func() error{
		"write": write(f), "write of an opened file": write(opened), "direct write": write(direct), "truncate": func() error { return f.Truncate(4) },
		"create":     func() error { _, err := g.Create("/d/b"); return err },
		"rename":     func() error { return g.Rename("/d/a", "/d/c") },
		"remove":     func() error { return g.Remove("/d/a") },
		"remove all": func() error { return g.RemoveAll("/d") },
		"mkdir":      func() error { return g.MkdirAll("/d/e") },
	}
	if err := changes["write"](); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "serverlock.1")
	if err := errors.Join(os.Rename(name, name+".old"), os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	n.recheck = ha.Recheck{} // as after a pause
	before := under.Count()
	for name, change := range changes {
		if err := change(); !errors.Is(err, lock.ErrLost) {
			t.Errorf("%s after the lock was lost: %v", name, err)
		}
	}
	if done := under.Count() - before; done != 0 {
		t.Errorf("%d changes were made all the same", done)
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, 0); err != nil || b[0] != 'x' {
		t.Errorf("read %q, %v", b, err)
	}
	if err := errors.Join(f.Datasync(), g.SyncDir("/d"), f.Close()); err != nil {
		t.Error(err)
	}
}
