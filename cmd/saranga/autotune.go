package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/saranga-mq/saranga/broker/config/create"
	"github.com/saranga-mq/saranga/journal/fs"
)

// What Artemis' create writes to find out how fast a disk is: the best of some tries, each of so many blocks that are
// synced one by one.
const (
	tuneTries  = 5
	tuneBlocks = 250
	tuneBlock  = 4096 // bytes
)

// autotune measures the disk for journal-buffer-timeout and page-sync-timeout: the time of one write, in ns. Saranga
// needs neither; they are for Artemis on the same instance, and for comparison. A failure leaves the elements out.
func (c *creation) autotune(out io.Writer) {
	fmt.Fprint(out, "\nAuto tuning journal ...\n")
	if c.o.NoFsync && (c.o.Journal == create.Mapped || c.o.Journal == "") {
		none := int64(0)
		c.o.JournalBufferTimeout, c.o.PageSyncTimeout = &none, &none
		fmt.Fprint(out, "done! Without syncs a MAPPED journal needs no journal-buffer-timeout, it will be 0\n")
		return
	}
	took, err := measureDisk(c.dataDir(), c.o.Journal == create.AIO, !c.o.NoFsync, tuneTries)
	if err != nil {
		fmt.Fprintf(out, "The disk could not be measured, the defaults stay: %v\n", err)
		return
	}
	nanos := nanosPerWrite(took)
	c.o.JournalBufferTimeout, c.o.PageSyncTimeout = &nanos, &nanos
	fmt.Fprintf(out, "done! Your system can make %s writes per millisecond, your journal-buffer-timeout will be %d\n", writesPerMilli(took), nanos)
	if c.o.Journal == create.AIO { // pages are not written past the cache
		if took, err = measureDisk(c.dataDir(), false, !c.o.NoFsync, tuneTries); err == nil {
			page := nanosPerWrite(took)
			c.o.PageSyncTimeout = &page
		}
	}
}

func (c *creation) dataDir() string {
	if filepath.IsAbs(c.o.Data) {
		return c.o.Data
	}
	return filepath.Join(c.o.Directory, c.o.Data)
}

// nanosPerWrite is the time of one write. As in Artemis a try counts in whole milliseconds.
func nanosPerWrite(try time.Duration) int64 { return try.Milliseconds() * 1_000_000 / tuneBlocks }

// writesPerMilli has up to two decimals.
func writesPerMilli(try time.Duration) string {
	n := float64(tuneBlocks) / float64(try.Milliseconds())
	return strconv.FormatFloat(float64(int64(n*100+0.5))/100, 'f', -1, 64)
}

// measureDisk returns the time of the best try, at least 1 ms.
func measureDisk(dir string, direct, sync bool, tries int) (best time.Duration, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	name := filepath.Join(dir, "journal-test.tmp")
	defer os.Remove(name)
	f, err := (fs.OS{}).Create(name)
	if err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	defer func() { f.Close() }()
	if err := fs.Zero(f, 0, tuneBlocks*tuneBlock); err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	if err := f.Datasync(); err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	if direct {
		again, durable, err := (fs.OS{}).OpenDirect(name, tuneBlock)
		if err != nil {
			return 0, fmt.Errorf("measure the disk: %w", err)
		}
		f.Close()
		f, sync = again, sync && !durable
	}
	block := fs.Aligned(tuneBlock, tuneBlock)
	for i := range block {
		block[i] = 't'
	}
	for range tries {
		begin := time.Now()
		for i := range int64(tuneBlocks) {
			if _, err := f.WriteAt(block, i*tuneBlock); err != nil {
				return 0, fmt.Errorf("measure the disk: %w", err)
			}
			if !sync {
				continue
			}
			if err := f.Datasync(); err != nil {
				return 0, fmt.Errorf("measure the disk: %w", err)
			}
		}
		if took := max(time.Since(begin), time.Millisecond); best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}
