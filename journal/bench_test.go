package journal

import (
	"fmt"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// nullFS takes writes without keeping them: the benchmark measures the append path alone.
type nullFS struct{ fs.FS }

type nullFile struct{ fs.File }

func (n nullFS) Open(name string) (fs.File, error) {
	f, err := n.FS.Open(name)
	return nullFile{f}, err
}
func (nullFile) WriteAt(p []byte, off int64) (int, error) { return len(p), nil }
func (nullFile) Datasync() error                          { return nil }

func benchOptions(fsys fs.FS, dir string) Options {
	return Options{FS: fsys, Dir: dir, Prefix: "activemq-data", Ext: "amq", FileSize: 10 << 20, MinFiles: 2, PoolFiles: 10}
}

// BenchmarkAppend is one goroutine appending ADD (1 KiB) with UPDATE, then DELETE 1000 messages later; the writes go nowhere.
func BenchmarkAppend(b *testing.B) {
	m := fs.NewMem()
	if err := m.MkdirAll("/j"); err != nil {
		b.Fatal(err)
	}
	j := open(b, benchOptions(nullFS{m}, "/j"))
	defer j.Close()
	body := make([]byte, 1024)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range int64(b.N) {
		a, err := j.Begin(Wait)
		if err != nil {
			b.Fatal(err)
		}
		copy(a.Add(i, 45, len(body)), body)
		if p, err := a.Update(i, 32, 8); err == nil {
			clear(p)
		}
		if i >= 1000 {
			_ = a.Delete(i - 1000)
		}
		if _, err := a.Commit(nil, false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDurable is n goroutines that each append 1 KiB and wait, on a real disk.
func BenchmarkDurable(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		for _, direct := range []bool{false, true} {
			b.Run(fmt.Sprintf("waiting=%d/direct=%v", n, direct), func(b *testing.B) {
				o := benchOptions(fs.OS{}, b.TempDir())
				o.Direct = direct
				j := open(b, o)
				defer j.Close()
				body := make([]byte, 1024)
				b.ReportAllocs()
				b.ResetTimer()
				var all sync.WaitGroup
				for g := range n {
					all.Go(func() {
						var w waitGroup
						for i := g; i < b.N; i += n {
							a, err := j.Begin(Wait)
							if err != nil {
								b.Error(err)
								return
							}
							copy(a.Add(int64(i), 45, len(body)), body)
							if i >= 1000 {
								_ = a.Delete(int64(i - 1000))
							}
							w.Add(1)
							if _, err := a.Commit(&w, true); err != nil {
								b.Error(err)
								return
							}
							w.Wait()
						}
					})
				}
				all.Wait()
			})
		}
	}
}
