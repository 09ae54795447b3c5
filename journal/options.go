package journal

import (
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal/fs"
)

// Options says where a journal is and how it behaves. FS, Dir, Prefix, Ext and FileSize are required.
type Options struct {
	FS     fs.FS
	Dir    string
	Prefix string // file names are <Prefix>-<n>.<Ext>
	Ext    string

	FileSize  int // bytes; rounded to a multiple of the alignment
	MinFiles  int // files made at start; at least 2
	PoolFiles int // more files than this are deleted instead of kept for reuse; negative: keep all
	MaxAttic  int // files of a foreign size kept in attic/ once they are free

	// CompactMinFiles is the number of data files above which compaction is considered; 0 never compacts by itself.
	CompactMinFiles int
	// CompactPercentage: live bytes below this part of the data files' size start a compaction.
	CompactPercentage int

	// BufferSize bounds a record, in bytes; 0: only the file size does.
	BufferSize int
	// Buffer is how many bytes gather before an append waits for the flusher; 0: 1 MiB.
	Buffer int

	// NoDatasync leaves out the syncs of records (journal-datasync false). Files are still created with syncs.
	NoDatasync bool
	// Direct writes whole blocks past the page cache (journal-type ASYNCIO): each batch is padded to BlockSize.
	Direct bool
	// BlockSize is the alignment when Direct; 0: what the file system says.
	BlockSize int

	// Replaceable tells for an update whether a later one of the same type, record and key makes it superfluous, so
	// that compaction keeps only the last. Nil: none is.
	Replaceable func(userType byte, payload []byte) (key uint64, ok bool)

	Log hclog.Logger // nil: silent
}

// Errors that a caller of an append acts on.
var (
	// ErrNoSpace: the next file could not be made. Nothing of the operation was written; a later one may succeed.
	ErrNoSpace = broker.ErrNoSpace
	// ErrTooLarge: the record is larger than a record may be.
	ErrTooLarge = broker.ErrTooLarge
	// ErrNotLive: an update or delete of an id that was never added or is deleted. Nothing was written of it.
	ErrNotLive = errors.New("no such record in the journal")
	// ErrFailed: an earlier write or sync failed. It is wrapped together with that failure.
	ErrFailed = broker.ErrStoreFailed
	// ErrClosed: the journal is closed.
	ErrClosed = errors.New("the journal is closed")
)

func (o *Options) complete() error {
	if o.FS == nil || o.Dir == "" || o.Prefix == "" || o.Ext == "" {
		return errors.New("journal: incomplete options")
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Buffer <= 0 {
		o.Buffer = 1 << 20
	}
	o.MinFiles = max(o.MinFiles, 2)
	if !o.Direct {
		o.BlockSize = 1
	} else if o.BlockSize <= 0 {
		n, err := o.FS.BlockSize(o.Dir)
		if err != nil {
			return fmt.Errorf("journal: block size of %s: %w", o.Dir, err)
		}
		o.BlockSize = n
	}
	if o.BlockSize&(o.BlockSize-1) != 0 {
		return fmt.Errorf("journal: block size %d is not a power of two", o.BlockSize)
	}
	o.FileSize = alignFileSize(o.FileSize, o.BlockSize)
	if o.FileSize < o.firstPos()+fixedSize[AddTx] {
		return fmt.Errorf("journal: file size %d is too small", o.FileSize)
	}
	return nil
}

// alignFileSize rounds a file size to the nearest multiple of the alignment, at least one.
func alignFileSize(size, align int) int {
	n, rest := size/align, size%align
	if rest >= align/2 && rest > 0 {
		n++
	}
	return max(n, 1) * align
}

// firstPos is where a new file's first record goes.
func (o *Options) firstPos() int { return roundUp(headerSize, o.BlockSize) }

func roundUp(n, align int) int { return (n + align - 1) &^ (align - 1) }
