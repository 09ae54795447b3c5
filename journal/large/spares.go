package large

import (
	"strings"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
)

// Files of deleted durable bodies are kept for new ones, as the journal keeps its files: writing and syncing a body of 1 MiB
// over an old one takes half the time of making a file, and nothing is freed on the disk. Meanwhile they have the
// ending of non-durable bodies, so that a start, Artemis' as ours, removes them.
const (
	maxSpares     = 16
	maxSpareBytes = 64 << 20
	spareTime     = 30 * time.Second // how long one waits at most
)

// spares is guarded by Folder.mu.
type spares struct {
	files []spareFile // the last one is used first
	bytes int64
	timer *time.Timer // drops them; set while there are any
}

type spareFile struct {
	name string
	size int64
}

// spare keeps the file of a deleted body for another; false if it has to be removed. Of the remover.
func (f *Folder) spare(name string) bool {
	stem, durable := strings.CutSuffix(name, ".msg")
	if !durable {
		return false
	}
	i, err := f.fsys.Stat(name)
	if err != nil || !f.spareRoom(i.Size) {
		return false
	}
	s := spareFile{stem + ".tmp", i.Size}
	if f.fsys.Rename(name, s.name) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.spares
	p.files = append(p.files, s)
	p.bytes += s.size
	if p.timer == nil {
		p.timer = time.AfterFunc(spareTime, f.dropSpares)
	}
	return true
}

// spareRoom tells whether a file of that size may be kept. Only the remover adds files, so the answer stays true.
func (f *Folder) spareRoom(size int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.closed && len(f.spares.files) < maxSpares && f.spares.bytes+size <= maxSpareBytes
}

// takeSpare opens a spare file under a new name; nil if there is none. What is in it, old bytes, is size bytes long. Nothing of it
// can be taken for the new body, whose message is only stored when the body has been written and synced.
func (f *Folder) takeSpare(name string) (file fs.File, size int64) {
	f.mu.Lock()
	p := &f.spares
	n := len(p.files) - 1
	if n < 0 {
		f.mu.Unlock()
		return nil, 0
	}
	s := p.files[n]
	p.files = p.files[:n]
	p.bytes -= s.size
	f.mu.Unlock()

	if f.fsys.Rename(s.name, name) != nil {
		_ = f.fsys.Remove(s.name) // or the next start does
		return nil, 0
	}
	file, err := f.fsys.Open(name)
	if err != nil {
		_ = f.fsys.Remove(name)
		return nil, 0
	}
	return file, s.size
}

// dropSpares removes the files that are kept.
func (f *Folder) dropSpares() {
	f.mu.Lock()
	p := &f.spares
	if p.timer != nil {
		p.timer.Stop()
	}
	dropped := p.files
	*p = spares{}
	f.mu.Unlock()
	for _, s := range dropped {
		_ = f.fsys.Remove(s.name) // what stays is removed at the next start
	}
}
