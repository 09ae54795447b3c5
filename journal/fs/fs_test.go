package fs

import (
	"errors"
	"io"
	"math/rand/v2"
	"path"
	"syscall"
	"testing"
	"unsafe"
)

// The contract of FS, for the real one and the one in memory.
func TestContract(t *testing.T) {
	mem := NewMem()
	if err := mem.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fs  FS
		dir string
	}{"os": {OS{}, t.TempDir()}, "mem": {mem, "/d"}, "faulty": {NewFaulty(OS{}), t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			a, b := path.Join(c.dir, "a"), path.Join(c.dir, "b")
			if _, err := c.fs.Open(a); !errors.Is(err, ErrNotExist) {
				t.Errorf("open: %v", err)
			}
			if _, err := c.fs.Stat(a); !errors.Is(err, ErrNotExist) {
				t.Errorf("stat: %v", err)
			}
			if _, err := c.fs.Create(path.Join(c.dir, "no", "a")); !errors.Is(err, ErrNotExist) {
				t.Errorf("create without a folder: %v", err)
			}
			f, err := c.fs.Create(a)
			must(err)
			_, err = f.WriteAt([]byte("hello"), 3)
			must(err)
			must(f.Datasync())
			must(f.WriteBack(0, 8))
			got := make([]byte, 10)
			if n, err := f.ReadAt(got, 0); n != 8 || err != io.EOF || string(got[:n]) != "\x00\x00\x00hello" {
				t.Errorf("read %d %v %q", n, err, got)
			}
			must(f.Truncate(5))
			if n, err := f.Size(); n != 5 || err != nil {
				t.Errorf("size %d, %v", n, err)
			}
			must(f.Close())
			must(c.fs.SyncDir(c.dir))
			must(c.fs.Rename(a, b))
			if all, err := ReadFile(c.fs, b); err != nil || string(all) != "\x00\x00\x00he" {
				t.Errorf("%q, %v", all, err)
			}
			must(c.fs.MkdirAll(path.Join(c.dir, "sub", "deep")))
			f, err = c.fs.Create(path.Join(c.dir, "sub", "deep", "x"))
			must(err)
			must(f.Close())
			if names, err := c.fs.List(c.dir); err != nil || len(names) != 2 || names[0] != "b" || names[1] != "sub" {
				t.Errorf("%v, %v", names, err)
			}
			if i, err := c.fs.Stat(path.Join(c.dir, "sub")); err != nil || !i.Dir {
				t.Errorf("%+v, %v", i, err)
			}
			must(c.fs.RemoveAll(path.Join(c.dir, "sub")))
			must(c.fs.Remove(b))
			if names, err := c.fs.List(c.dir); err != nil || len(names) != 0 {
				t.Errorf("%v, %v", names, err)
			}
			if n, err := c.fs.BlockSize(c.dir); err != nil || n < 512 {
				t.Errorf("block size %d, %v", n, err)
			}
			// Direct writing: whole blocks from aligned memory.
			f, err = c.fs.Create(a)
			must(err)
			must(Zero(f, 0, 3*300000))
			must(f.Datasync())
			must(f.Close())
			f, _, err = c.fs.OpenDirect(a, 4096)
			must(err)
			block := Aligned(8192, 4096)
			if uintptr(unsafe.Pointer(&block[0]))%4096 != 0 {
				t.Error("not aligned")
			}
			copy(block[4096:], "direct")
			_, err = f.WriteAt(block, 4096)
			must(err)
			must(f.Close())
			if all, err := ReadFile(c.fs, a); err != nil || len(all) != 900000 || string(all[8192:8198]) != "direct" {
				t.Errorf("%d bytes, %v", len(all), err)
			}
		})
	}
}

func TestMemLosesWhatIsNotSynced(t *testing.T) {
	m := NewMem()
	_ = m.MkdirAll("/d")
	create := func(name, content string, sync bool) File {
		t.Helper()
		f, err := m.Create("/d/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(content), 0); err != nil {
			t.Fatal(err)
		}
		if sync {
			if err := f.Datasync(); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	kept := create("kept", "synced", true)
	create("unsynced bytes", "x", false)
	create("renamed", "r", true)
	if err := m.SyncDir("/d"); err != nil {
		t.Fatal(err)
	}
	create("unsynced name", "y", true)
	if _, err := kept.WriteAt([]byte("not synced"), 0); err != nil {
		t.Fatal(err)
	}
	if err := m.Rename("/d/renamed", "/d/new name"); err != nil {
		t.Fatal(err)
	}
	m.Crash(nil)
	names, _ := m.List("/d")
	if len(names) != 3 || names[0] != "kept" || names[1] != "renamed" || names[2] != "unsynced bytes" {
		t.Errorf("names %v", names)
	}
	for name, want := range map[string]string{"kept": "synced", "renamed": "r", "unsynced bytes": ""} {
		if b, err := ReadFile(m, "/d/"+name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := kept.WriteAt([]byte("z"), 0); err == nil {
		t.Error("a file that was open before the crash was written")
	}
}

// A torn write leaves whole sectors, old or new.
func TestMemTears(t *testing.T) {
	torn := false
	for seed := range uint64(20) {
		m := NewMem()
		_ = m.MkdirAll("/d")
		f, _ := m.Create("/d/f")
		_ = Zero(f, 0, 2048)
		_ = f.Datasync()
		_ = m.SyncDir("/d")
		p := make([]byte, 2048-100)
		for i := range p {
			p[i] = 1
		}
		_, _ = f.WriteAt(p, 100)
		m.Crash(rand.New(rand.NewPCG(seed, 0)))
		b, err := ReadFile(m, "/d/f")
		if err != nil || len(b) != 2048 {
			t.Fatal(len(b), err)
		}
		sum := 0
		for s := 0; s < 2048; s += 512 {
			for i := max(s, 100); i < s+512; i++ {
				if b[i] != b[s+511] {
					t.Fatalf("sector at %d is mixed", s)
				}
			}
			sum += int(b[s+511])
		}
		torn = torn || sum > 0 && sum < 4
	}
	if !torn {
		t.Error("no write was torn")
	}
}

func TestFaulty(t *testing.T) {
	m := NewMem()
	_ = m.MkdirAll("/d")
	f := NewFaulty(m)
	f.Add(Rule{Op: OpWrite, Pattern: "*.amq", Nth: 2, Count: 1, Err: syscall.EIO, Short: 2})
	a, _ := f.Create("/d/1.amq")
	b, _ := f.Create("/d/other")
	for i, want := range []error{nil, syscall.EIO, nil} {
		if _, err := a.WriteAt([]byte("abc"), 0); !errors.Is(err, want) {
			t.Errorf("write %d: %v", i, err)
		}
		if _, err := b.WriteAt([]byte("abc"), 0); err != nil {
			t.Error(err)
		}
	}
	f.Add(Rule{Op: OpRename, Err: syscall.ENOSPC})
	if err := f.Rename("/d/other", "/d/x"); !NoSpace(err) {
		t.Errorf("rename: %v", err)
	}
	f.Clear()
	n := f.Count()
	f.StopAfter(1, syscall.EIO)
	if err := f.SyncDir("/d"); err != nil {
		t.Error(err)
	}
	if err := f.Remove("/d/other"); !errors.Is(err, syscall.EIO) || f.Count() != n+2 {
		t.Errorf("after the stop: %v, %d operations", err, f.Count()-n)
	}
}
