package create

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Exists is returned by Apply when an instance is already there.
type Exists struct{ Path string }

func (e *Exists) Error() string {
	return fmt.Sprintf("The file '%s' already exists.  Use --force to overwrite.", e.Path)
}

// Apply writes planned files. Unless force is set it writes nothing when the
// instance's login.config is there already, and returns *Exists.
func Apply(files []File, force bool) error {
	for _, f := range files {
		if force || filepath.Base(f.Path) != "login.config" {
			continue
		}
		if _, err := os.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) {
			return &Exists{f.Path}
		}
	}
	for _, f := range files {
		if err := f.write(); err != nil {
			return fmt.Errorf("create: %w", err)
		}
	}
	return nil
}

func (f File) write() error {
	if f.Mode.IsDir() {
		return os.MkdirAll(f.Path, f.Mode.Perm())
	}
	// An existing file keeps its mode when it is written over, so it is set first
	// and no secret is ever in a file that others can read.
	if err := os.Chmod(f.Path, f.Mode.Perm()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(f.Path, f.Data, f.Mode.Perm()); err != nil {
		return err
	}
	return os.Chmod(f.Path, f.Mode.Perm())
}
