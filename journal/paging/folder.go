package paging

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/buf"
)

const (
	addressFile = "address.txt"
	extension   = ".page"
	first, last = '{', '}'
	frame       = 6 // bytes around a record
)

// Folder is the pages of one address.
type Folder struct {
	fsys    fs.FS
	Path    string
	Address string
	Pages   []int64 // ids, ascending
}

// Folders finds the page folders in dir. Those without a readable address are left out and named in skipped.
func Folders(fsys fs.FS, dir string) (folders []*Folder, skipped []string, err error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("paging: list %s: %w", dir, err)
	}
	for _, n := range names {
		p := path.Join(dir, n)
		if i, err := fsys.Stat(p); err != nil || !i.Dir || strings.Contains(n, "oldreplica.") {
			continue
		}
		b, err := fs.ReadFile(fsys, path.Join(p, addressFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("paging: read %s/%s: %w", p, addressFile, err)
		}
		address, _, _ := strings.Cut(string(b), "\n")
		if address = strings.TrimRight(address, "\r"); address == "" {
			skipped = append(skipped, p)
			continue
		}
		f := &Folder{fsys: fsys, Path: p, Address: address}
		pages, err := fsys.List(p)
		if err != nil {
			return nil, nil, fmt.Errorf("paging: list %s: %w", p, err)
		}
		for _, name := range pages {
			if number, ok := strings.CutSuffix(name, extension); ok {
				if id, err := strconv.ParseInt(number, 10, 32); err == nil && fileName(id) == name {
					f.Pages = append(f.Pages, id)
				}
			}
		}
		slices.Sort(f.Pages)
		folders = append(folders, f)
	}
	return folders, skipped, nil
}

func fileName(page int64) string { return fmt.Sprintf("%09d%s", page, extension) }

// Open opens a page's file.
func (f *Folder) Open(page int64) (fs.File, error) {
	file, err := f.fsys.OpenRead(path.Join(f.Path, fileName(page)))
	if err != nil {
		return nil, fmt.Errorf("paging: open page %d of %s: %w", page, f.Address, err)
	}
	return file, nil
}

// Message is a message in a page.
type Message struct {
	Page       int64
	Index      int
	Tx         int64 // -1: none
	RecordType byte  // message.RecordLargeMessage or RecordMessage
	Record     []byte
	Queues     []int64
}

// Read calls visit with the messages of a page, in order; their slices are valid during the call. It returns how many bytes of
// the file are whole records, and its size: when they differ the end is damaged.
func (f *Folder) Read(page int64, visit func(*Message) error) (usable, size int, err error) {
	name := path.Join(f.Path, fileName(page))
	b, err := fs.ReadFile(f.fsys, name)
	if err != nil {
		return 0, 0, fmt.Errorf("paging: read %s: %w", name, err)
	}
	usable, err = Scan(b, page, visit)
	if err != nil {
		err = fmt.Errorf("paging: %s: %w", name, err)
	}
	return usable, len(b), err
}

// Scan is Read on a page's bytes.
func Scan(b []byte, page int64, visit func(*Message) error) (usable int, err error) {
	m := Message{Page: page}
	for p := 0; len(b)-p >= frame && b[p] == first; m.Index++ {
		n := int(int32(binary.BigEndian.Uint32(b[p+1:])))
		if n < 0 || n > len(b)-p-frame || b[p+5+n] != last {
			break
		}
		if err := m.decode(b[p+5 : p+5+n]); err != nil {
			return p, fmt.Errorf("message %d at %d: %w", m.Index, p, err)
		}
		if err := visit(&m); err != nil {
			return p, err
		}
		p += frame + n
		usable = p
	}
	return usable, nil
}

func (m *Message) decode(b []byte) error {
	r := buf.NewReader(b)
	m.Tx = r.Int64()
	switch kind := r.Int8(); kind {
	case 1, -1:
		m.RecordType, m.Record = message.RecordLargeMessage, r.Block()
	case 0, 2:
		if r.Err() != nil {
			break
		}
		payload, _, err := message.SplitRecord(r.Rest())
		if err != nil {
			return err
		}
		m.RecordType, m.Record = message.RecordMessage, r.Bytes(len(payload))
	default:
		r.Fail(fmt.Sprintf("kind %d", kind))
	}
	m.Queues = m.Queues[:0]
	for range r.Count(8) {
		m.Queues = append(m.Queues, r.Int64())
	}
	if r.Err() == nil && r.Len() > 0 {
		r.Fail("bytes after the queues")
	}
	return r.Err()
}
