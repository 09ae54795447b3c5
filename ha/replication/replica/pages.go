package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/buf"
)

// Bounds of what a peer may name.
const (
	maxAddress   = 32 << 10 // bytes
	maxAddresses = 1 << 20
	maxNames     = 64 << 20 // bytes of all addresses
)

// pages are the pages of all addresses: <folder>/<page>.page, with the address in <folder>/address.txt. The names of the folders differ from
// the peer's.
type pages struct {
	fsys      fs.FS
	dir       string
	newFolder func() (string, error) // a name that was never used
	files     *growing
	stores    map[string]*pageStore
	names     int    // bytes of the addresses in stores
	record    []byte // reused
}

// pageStore is the pages of an address.
type pageStore struct {
	dir string
	// live are the pages that hold a message.
	live map[int64]struct{}
}

func (p *pages) store(address string) (*pageStore, error) {
	if s := p.stores[address]; s != nil {
		return s, nil
	}
	// The first line of address.txt is the address.
	if address == "" || len(address) > maxAddress || strings.ContainsAny(address, "\r\n\x00") {
		return nil, fmt.Errorf("page of address %.100q", address)
	}
	if len(p.stores) >= maxAddresses || p.names+len(address) > maxNames {
		return nil, fmt.Errorf("pages of more than %d addresses, with %d bytes of names", len(p.stores), p.names)
	}
	name, err := p.newFolder()
	if err != nil {
		return nil, err
	}
	s := &pageStore{dir: path.Join(p.dir, name), live: map[int64]struct{}{}}
	if err := p.makeFolder(s.dir, address); err != nil {
		return nil, fmt.Errorf("make page folder %s of %q: %w", s.dir, address, err)
	}
	p.stores[address] = s
	p.names += len(address)
	return s, nil
}

func (p *pages) makeFolder(dir, address string) error {
	if err := p.fsys.MkdirAll(dir); err != nil {
		return err
	}
	f, err := p.fsys.Create(path.Join(dir, "address.txt"))
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(address+"\n"), 0)
	if err == nil {
		err = f.Datasync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := p.fsys.SyncDir(dir); err != nil {
		return err
	}
	return p.fsys.SyncDir(p.dir)
}

// page returns the store of an address and the name of a page's file.
func (p *pages) page(address string, page int64) (*pageStore, string, error) {
	if page < 0 || page > math.MaxInt32 {
		return nil, "", fmt.Errorf("page %d of address %.100q", page, address)
	}
	s, err := p.store(address)
	if err != nil {
		return nil, "", err
	}
	return s, path.Join(s.dir, fmt.Sprintf("%09d.page", page)), nil
}

// piece appends bytes of a page as they stand in the peer's file. first tells that it is the first message of the address.
func (p *pages) piece(address string, page int64, b []byte) (first bool, err error) {
	s, name, err := p.page(address, page)
	if err != nil {
		return false, err
	}
	if err := p.files.append(name, b); err != nil {
		return false, err
	}
	if len(b) == 0 {
		return false, nil
	}
	first = len(s.live) == 0
	s.live[page] = struct{}{}
	return first, nil
}

// write appends a message to a page.
func (p *pages) write(address string, page int64, message []byte) (first bool, err error) {
	p.record = append(p.record[:0], '{')
	p.record = binary.BigEndian.AppendUint32(p.record, uint32(len(message)))
	p.record = append(append(p.record, message...), '}')
	first, err = p.piece(address, page, p.record)
	if cap(p.record) > 1<<20 {
		p.record = nil
	}
	return first, err
}

// close tells that nothing more comes for a page.
func (p *pages) close(address string, page int64) error {
	_, name, err := p.page(address, page)
	if err != nil {
		return err
	}
	return p.files.close(name)
}

// delete removes a page; it may be unknown. last tells that the address has no message in pages any more.
func (p *pages) delete(address string, page int64) (last bool, err error) {
	s, name, err := p.page(address, page)
	if err != nil {
		return false, err
	}
	if _, ok := s.live[page]; ok {
		delete(s.live, page)
		last = len(s.live) == 0
	}
	return last, p.files.remove(name)
}

// paging returns the addresses with a message in a page.
func (p *pages) paging() []string {
	var list []string
	for address, s := range p.stores {
		if len(s.live) > 0 {
			list = append(list, address)
		}
	}
	slices.Sort(list)
	return list
}

// addressOf reads the address of a paged message: peers below version 133 don't tell it beside the message.
func addressOf(paged []byte) (string, error) {
	r := buf.NewReader(paged)
	r.Int64()
	kind := r.Int8()
	if kind == 1 || kind == -1 {
		headers := r.Block()
		if r.Err() != nil {
			return "", r.Err()
		}
		m, err := message.ParseCoreHeaders(headers)
		if err != nil {
			return "", err
		}
		return m.Address(), nil
	}
	switch persister := r.Int8(); persister {
	case 1: // Core
		r.Skip(8) // id
	case 2, 3, 5: // AMQP
		r.Skip(8 + 8) // id, format
	case 4: // large AMQP
		r.Skip(8 + 1 + 8) // id, durable, format
	default:
		r.Fail(fmt.Sprintf("persister %d", persister))
	}
	address := r.NSSBytes()
	if r.Err() != nil {
		return "", r.Err()
	}
	return buf.StringFromSS(address), nil
}
