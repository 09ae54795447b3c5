package primary

import "sync/atomic"

// Progress is how far the initial synchronisation is.
type Progress struct {
	Files, FilesTotal int
	Bytes, BytesTotal int64
	// Done: the replica has acknowledged that it has everything.
	Done bool
}

type progress struct {
	files, filesTotal atomic.Int64
	bytes, bytesTotal atomic.Int64
}

// Progress tells how far the initial synchronisation is. Totals are 0 until the files are known.
func (s *Sender) Progress() Progress {
	return Progress{Files: int(s.progress.files.Load()), FilesTotal: int(s.progress.filesTotal.Load()),
		Bytes: s.progress.bytes.Load(), BytesTotal: s.progress.bytesTotal.Load(), Done: s.Synchronised()}
}
