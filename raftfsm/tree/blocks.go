package tree

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The blocks of a snapshot: see Snapshot.

const (
	blockSize = 64 << 10 // of payload
	blockHead = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockWriter cuts records into blocks.
type blockWriter struct {
	w       io.Writer
	written int64
	number  uint32
	buf     []byte // room for the block's head, then payload; nil before the header
}

func newBlockWriter(w io.Writer) *blockWriter { return &blockWriter{w: w} }

func (w *blockWriter) write(b []byte) error {
	n, err := w.w.Write(b)
	w.written += int64(n)
	return err
}

// record adds one record.
func (w *blockWriter) record(body []byte) error {
	if len(body) > maxRecord {
		return fmt.Errorf("a record of %d bytes, more than %d", len(body), maxRecord)
	}
	if w.buf == nil {
		head := be.AppendUint32([]byte(snapshotMagic), snapshotVersion<<16)
		if err := w.write(be.AppendUint32(head, crc32.Checksum(head, castagnoli))); err != nil {
			return err
		}
		w.buf = make([]byte, blockHead, blockHead+blockSize)
	}
	if err := w.add(be.AppendUint32(nil, uint32(len(body)))); err != nil {
		return err
	}
	return w.add(body)
}

func (w *blockWriter) add(b []byte) error {
	for len(b) > 0 {
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return err
			}
		}
		n := min(len(b), cap(w.buf)-len(w.buf))
		w.buf = append(w.buf, b[:n]...)
		b = b[n:]
	}
	return nil
}

// flush writes the block that is being filled.
func (w *blockWriter) flush() error {
	payload := w.buf[blockHead:]
	be.PutUint32(w.buf, uint32(len(payload)))
	be.PutUint32(w.buf[4:], blockCheck(w.number, payload))
	err := w.write(w.buf)
	w.number++
	w.buf = w.buf[:blockHead]
	return err
}

func blockCheck(number uint32, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(be.AppendUint32(nil, number), castagnoli), castagnoli, payload)
}

// blockReader joins blocks to records.
type blockReader struct {
	r      io.Reader
	offset int64 // of the next byte of r
	number uint32
	short  bool   // the last block was not full: there is no other
	block  []byte // what is left of the block
	buf    []byte // of blocks
	body   []byte // of records
}

// read fills b. The end of r inside is damage.
func (r *blockReader) read(b []byte) error {
	n, err := io.ReadFull(r.r, b)
	r.offset += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends early", ErrCorrupt)
	}
	return err
}

func (r *blockReader) header() error {
	head := make([]byte, 16)
	if err := r.read(head); err != nil {
		if errors.Is(err, ErrCorrupt) && string(head[:len(snapshotMagic)]) != snapshotMagic {
			return fmt.Errorf("%w: %d bytes", ErrForeign, r.offset)
		}
		return err
	}
	version := be.Uint16(head[8:])
	switch {
	case string(head[:len(snapshotMagic)]) != snapshotMagic:
		return fmt.Errorf("%w: it begins with %q", ErrForeign, head[:len(snapshotMagic)])
	case be.Uint32(head[12:]) != crc32.Checksum(head[:12], castagnoli):
		return fmt.Errorf("%w: check of the header", ErrCorrupt)
	case version > snapshotVersion:
		return fmt.Errorf("%w: %d, this is %d", ErrSnapshotVersion, version, snapshotVersion)
	case version == 0 || be.Uint16(head[10:]) != 0:
		return fmt.Errorf("%w: header of version %d", ErrCorrupt, version)
	}
	r.buf = make([]byte, blockSize)
	return nil
}

// next reads the next block.
func (r *blockReader) next() error {
	var head [blockHead]byte
	if err := r.read(head[:]); err != nil {
		return err
	}
	n := be.Uint32(head[:])
	if n == 0 || n > blockSize || r.short {
		return fmt.Errorf("%w: block %d of %d bytes", ErrCorrupt, r.number, n)
	}
	if err := r.read(r.buf[:n]); err != nil {
		return err
	}
	if be.Uint32(head[4:]) != blockCheck(r.number, r.buf[:n]) {
		return fmt.Errorf("%w: check of block %d", ErrCorrupt, r.number)
	}
	r.number++
	r.short = n < blockSize
	r.block = r.buf[:n]
	return nil
}

// take appends the next n bytes of payload to b. b grows with what was read, whatever n says.
func (r *blockReader) take(b []byte, n int) ([]byte, error) {
	for n > 0 {
		if len(r.block) == 0 {
			if err := r.next(); err != nil {
				return b, err
			}
		}
		m := min(n, len(r.block))
		b = append(b, r.block[:m]...)
		r.block = r.block[m:]
		n -= m
	}
	return b, nil
}

// record reads the next record. Its body is valid until the next call.
func (r *blockReader) record() ([]byte, error) {
	body, err := r.take(r.body[:0], 4)
	if err != nil {
		return nil, err
	}
	n := be.Uint32(body)
	if n > maxRecord {
		return nil, fmt.Errorf("%w: record of %d bytes", ErrCorrupt, n)
	}
	if r.body, err = r.take(body[:0], int(n)); err != nil {
		return nil, err
	}
	return r.body, nil
}

// end checks that the last record ended its block.
func (r *blockReader) end() error {
	if len(r.block) > 0 {
		return fmt.Errorf("%w: %d bytes after the last record", ErrCorrupt, len(r.block))
	}
	return nil
}
