package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/test/peers"
)

// bareWrites is the p50 in µs of what no broker can avoid for a durable message: one write and one fdatasync, at rising
// offsets in a zero-filled file of a journal file's size, on the disk of the instance. rest is slept before each: a closed
// loop leaves the machine idle between its syncs, and many machines take longer for a sync then.
func bareWrites(i peers.Instance, rest time.Duration) (p50 float64, err error) {
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
		if rest > 0 {
			time.Sleep(rest)
		}
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

// bareFiles is how many files of 1 MiB can be made in a second, each written and synced before the next, on the disk of the
// instance: what large messages sent one after the other cannot exceed.
func bareFiles(i peers.Instance) (perSecond float64, err error) {
	const (
		size   = 1 << 20
		length = 2 * time.Second
	)
	name := filepath.Join(i.Dir, "data", "bare-file")
	defer func() {
		if err != nil {
			err = fmt.Errorf("bare files at %s: %w", name, err)
		}
	}()
	content := make([]byte, size)
	n := 0
	begin := time.Now()
	for ; time.Since(begin) < length; n++ {
		if err := bareFile(name, content); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

func bareFile(name string, content []byte) error {
	f, err := fs.OS{}.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Datasync()
	}
	return errors.Join(err, f.Close(), fs.OS{}.Remove(name))
}
