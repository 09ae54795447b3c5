// Package golden unpacks data directories that real brokers have left, for tests.
package golden

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// Dir unpacks data.tar.gz of a golden into memory; its folders are /data/bindings, /data/journal and so on.
func Dir(t testing.TB, golden string) *fs.Mem {
	t.Helper()
	m := fs.NewMem()
	for _, d := range []string{"bindings", "journal", "paging", "large-messages"} {
		if err := m.MkdirAll("/data/" + d); err != nil {
			t.Fatal(err)
		}
	}
	r := tar.NewReader(bytes.NewReader(Gunzip(t, filepath.Join(golden, "data.tar.gz"))))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return m
		}
		if err != nil {
			t.Fatal(err)
		}
		p := "/" + path.Clean(h.Name)
		if h.Typeflag == tar.TypeDir {
			if err := m.MkdirAll(p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = m.MkdirAll(path.Dir(p))
		}
		if err != nil {
			t.Fatal(err)
		}
		Write(t, m, p, b)
	}
}

// Write writes and syncs a file.
func Write(t testing.TB, fsys fs.FS, name string, b []byte) {
	t.Helper()
	f, err := fsys.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Datasync(), f.Close(), fsys.SyncDir(path.Dir(name))); err != nil {
		t.Fatal(err)
	}
}

// Gunzip reads a compressed file.
func Gunzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
