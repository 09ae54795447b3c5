package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/test/peers"
)

// bareWrites is the p50 in µs of what no broker can avoid for a durable message: one write and one fdatasync, at rising
// offsets in a zero-filled file of a journal file's size, on the disk of the instance.
func bareWrites(i peers.Instance) (p50 float64, err error) {
	const (
		fileSize = 10 << 20
		record   = bodySize + 300 // with the headers of message and record, and the record of its route
		length   = time.Second
	)
	name := filepath.Join(i.Dir, "data", "bare-writes")
	defer func() {
		if err != nil {
			err = fmt.Errorf("bare writes to %s: %w", name, err)
		}
	}()
	f, err := fs.OS{}.Create(name)
	if err != nil {
		return 0, err
	}
	defer fs.OS{}.Remove(name)
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, fileSize), 0); err != nil {
		return 0, err
	}
	if err := f.Datasync(); err != nil {
		return 0, err
	}
	took := newTimes()
	bytes := make([]byte, record)
	for begin, at := time.Now(), int64(0); time.Since(begin) < length; at = (at + record) % (fileSize - record) {
		wrote := time.Now()
		if _, err := f.WriteAt(bytes, at); err != nil {
			return 0, err
		}
		if err := f.Datasync(); err != nil {
			return 0, err
		}
		took.add(time.Since(wrote))
	}
	return took.at(50), nil
}
