package replica

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// tree lists the files below a folder with their content.
func tree(t *testing.T, fsys fs.FS, dir string) (files []string) {
	t.Helper()
	names, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		p := path.Join(dir, n)
		if i, err := fsys.Stat(p); err != nil {
			t.Fatal(err)
		} else if i.Dir {
			files = append(files, tree(t, fsys, p)...)
			continue
		}
		b, err := fs.ReadFile(fsys, p)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, strings.TrimPrefix(p, "/data/")+"="+string(b))
	}
	return files
}

func fill(t *testing.T, fsys fs.FS, files ...string) {
	t.Helper()
	for _, f := range files {
		name, text, _ := strings.Cut("/data/"+f, "=")
		if err := fsys.MkdirAll(path.Dir(name)); err != nil {
			t.Fatal(err)
		}
		w, err := fsys.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.WriteAt([]byte(text), 0)
		if err := errors.Join(err, w.Datasync(), w.Close(), fsys.SyncDir(path.Dir(name))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMoveAway(t *testing.T) {
	for _, c := range []struct {
		name      string
		keep      int
		keepLocks bool
		before    []string
		after     []string
	}{
		{"nothing there", 2, false, nil, nil},
		{"only saved ones", 1, false, []string{"journal/oldreplica.3/a=1", "journal/oldreplica.4/a=2"}, []string{"journal/oldreplica.3/a=1", "journal/oldreplica.4/a=2"}},
		{"the four folders", 2, false,
			[]string{"bindings/b=1", "journal/j=2", "journal/server.lock=3", "paging/x/1.page=4", "paging/x/address.txt=5", "large-messages/1.msg=6"},
			[]string{"bindings/oldreplica.1/b=1", "journal/oldreplica.1/j=2", "journal/oldreplica.1/server.lock=3", "large-messages/oldreplica.1/1.msg=6",
				"paging/oldreplica.1/x/1.page=4", "paging/oldreplica.1/x/address.txt=5"}},
		{"the lowest go", 2, false, []string{"journal/j=4", "journal/oldreplica.2/j=1", "journal/oldreplica.10/j=3", "journal/oldreplica.9/j=2"},
			[]string{"journal/oldreplica.10/j=3", "journal/oldreplica.11/j=4"}},
		{"all are kept", -1, false, []string{"journal/j=4", "journal/oldreplica.2/j=1", "journal/oldreplica.9/j=2"},
			[]string{"journal/oldreplica.10/j=4", "journal/oldreplica.2/j=1", "journal/oldreplica.9/j=2"}},
		{"none is kept", 0, false, []string{"journal/j=4", "journal/d/e=5", "journal/oldreplica.2/j=1"}, nil},
		{"locks stay at a failback", 2, true, []string{"journal/j=1", "journal/server.activation.sequence=7", "journal/server.lock=2", "journal/serverlock.1="},
			[]string{"journal/oldreplica.1/j=1", "journal/oldreplica.1/server.activation.sequence=7", "journal/oldreplica.1/server.lock=2", "journal/oldreplica.1/serverlock.1=",
				"journal/server.lock=2", "journal/serverlock.1="}},
		{"locks stay, none is kept", 0, true, []string{"journal/j=1", "journal/server.lock=2"}, []string{"journal/server.lock=2"}},
		{"only locks", 2, true, []string{"journal/server.lock=2"}, []string{"journal/server.lock=2"}},
		{"odd names", 2, false, []string{"journal/oldreplica.x/a=1", "journal/j=2"}, []string{"journal/oldreplica.1/j=2", "journal/oldreplica.x/a=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := fs.NewMem()
			fill(t, mem, c.before...)
			if err := MoveAway(storeOptions(mem), c.keep, c.keepLocks); err != nil {
				t.Fatal(err)
			}
			mem.Crash(nil)
			got := slices.DeleteFunc(tree(t, mem, "/data"), func(f string) bool { return strings.HasPrefix(f, "journal/"+incompleteName) })
			if !slices.Equal(got, c.after) {
				t.Errorf("got %q\nwant %q", got, c.after)
			}
			data := slices.ContainsFunc(c.before, func(f string) bool {
				return !strings.Contains(f, "/oldreplica.") && !strings.Contains(f, "server.lock")
			})
			if err := Whole(storeOptions(mem)); errors.Is(err, ErrIncomplete) != data {
				t.Errorf("data was moved: %v, but Whole says %v", data, err)
			}
			for _, dir := range []string{"bindings", "journal", "paging", "large-messages"} {
				if ok, err := fs.Exists(mem, "/data/"+dir); !ok || err != nil {
					t.Errorf("%s: %v %v", dir, ok, err)
				}
			}
		})
	}
}

// Stopped at any point it loses nothing, and does the rest when it is called again, in the folder it had begun. Until then the data
// does not pass for whole, and its activation sequence is gone before anything else is.
func TestMoveAwayStopped(t *testing.T) {
	before := []string{"bindings/b=1", "journal/j=2", "journal/k=3", "journal/server.activation.sequence=7", "journal/server.lock=8",
		"paging/x/1.page=4", "paging/x/address.txt=5", "large-messages/1.msg=6"}
	for _, keepLocks := range []bool{false, true} {
		for _, keep := range []int{-1, 1, 0} {
			for at := 0; ; at++ {
				mem := fs.NewMem()
				fill(t, mem, before...)
				fill(t, mem, "journal/oldreplica.4/j=old", "paging/oldreplica.9/y/2.page=old")
				faulty := fs.NewFaulty(mem)
				faulty.StopAfter(at, syscall.EIO)
				first := MoveAway(storeOptions(faulty), keep, keepLocks)
				mem.Crash(nil)
				left := tree(t, mem, "/data")
				if whole := !slices.ContainsFunc(before, func(f string) bool { return !slices.Contains(left, f) }); !whole {
					if err := Whole(storeOptions(mem)); !errors.Is(err, ErrIncomplete) {
						t.Fatalf("stopped at %d: %q passes for whole: %v", at, left, err)
					}
					others := slices.DeleteFunc(slices.Clone(before), func(f string) bool { return f == "journal/server.activation.sequence=7" })
					if slices.Contains(left, "journal/server.activation.sequence=7") && slices.ContainsFunc(others, func(f string) bool { return !slices.Contains(left, f) }) {
						t.Fatalf("stopped at %d: with the activation sequence: %q", at, left)
					}
				}
				if err := MoveAway(storeOptions(mem), keep, keepLocks); err != nil {
					t.Fatal(err)
				}
				files := tree(t, mem, "/data")
				for _, f := range before {
					dir, rest, _ := strings.Cut(f, "/")
					to := dir + "/oldreplica.1/"
					switch dir {
					case "journal":
						to = "journal/oldreplica.5/"
					case "paging":
						to = "paging/oldreplica.10/"
					}
					if keep == 0 {
						if slices.ContainsFunc(files, func(s string) bool { return strings.HasPrefix(s, to) }) {
							t.Fatalf("stopped at %d: saved, but nothing is to be kept: %q", at, files)
						}
					} else if !slices.Contains(files, to+rest) {
						t.Fatalf("keep %d, stopped at %d: %s is not in %s: %q", keep, at, f, to, files)
					}
				}
				if first == nil {
					break
				}
			}
		}
	}
}
