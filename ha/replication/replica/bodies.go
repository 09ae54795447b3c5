package replica

import (
	"fmt"
	"path"
	"strconv"

	"github.com/saranga-mq/saranga/journal/fs"
)

// maxListed bounds the bodies that a peer may announce.
const maxListed = 1 << 22

// bodies are the large messages: <id>.msg, and <id>.sync for what is added to a body whose copy has not ended.
type bodies struct {
	fsys  fs.FS
	dir   string
	files *growing

	listed  bool
	copying map[int64]*copiedBody // until finish
}

// copiedBody is a body that the peer announced.
type copiedBody struct {
	side    bool // there is a .sync file
	deleted bool
}

func (b *bodies) name(id int64, ext string) string {
	return path.Join(b.dir, strconv.FormatInt(id, 10)+ext)
}

func checkID(id int64) error {
	if id < 0 {
		return fmt.Errorf("large message id %d", id)
	}
	return nil
}

// list takes the ids of the bodies that will be copied.
func (b *bodies) list(ids []int64) error {
	if b.listed {
		return fmt.Errorf("a second list of large messages")
	}
	if len(ids) > maxListed {
		return fmt.Errorf("%d large messages, at most %d", len(ids), maxListed)
	}
	b.listed, b.copying = true, make(map[int64]*copiedBody, len(ids))
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
		b.copying[id] = &copiedBody{}
		if err := b.files.append(b.name(id, ".msg"), nil); err != nil { // it may be empty
			return err
		}
		if err := b.files.close(b.name(id, ".msg")); err != nil {
			return err
		}
	}
	return nil
}

// piece appends to the copy of a body.
func (b *bodies) piece(id int64, p []byte) error {
	c := b.copying[id]
	if c == nil {
		return fmt.Errorf("large message %d is not being copied", id)
	}
	if c.deleted {
		return nil
	}
	return b.files.append(b.name(id, ".msg"), p)
}

func (b *bodies) endOfFile(id int64) error {
	if b.copying[id] == nil {
		return fmt.Errorf("large message %d is not being copied", id)
	}
	return b.files.close(b.name(id, ".msg"))
}

// write appends to a body as its message arrives. Without bytes it only makes the file.
func (b *bodies) write(id int64, p []byte) error {
	if err := checkID(id); err != nil {
		return err
	}
	c := b.copying[id]
	switch {
	case c == nil:
		return b.files.append(b.name(id, ".msg"), p)
	case c.deleted || len(p) == 0:
		return nil
	}
	c.side = true
	return b.files.append(b.name(id, ".sync"), p)
}

// close tells that a body is complete.
func (b *bodies) close(id int64) error {
	if err := checkID(id); err != nil || b.copying[id] != nil {
		return err
	}
	return b.files.close(b.name(id, ".msg"))
}

// delete removes a body; it may be unknown.
func (b *bodies) delete(id int64) error {
	if err := checkID(id); err != nil {
		return err
	}
	if c := b.copying[id]; c != nil {
		if c.side {
			if err := b.files.remove(b.name(id, ".sync")); err != nil {
				return err
			}
		}
		c.side, c.deleted = false, true
	}
	return b.files.remove(b.name(id, ".msg"))
}

// finish puts the side files behind their bodies.
func (b *bodies) finish() error {
	for id, c := range b.copying {
		if c.side {
			if err := b.join(id); err != nil {
				return fmt.Errorf("large message %d: %w", id, err)
			}
		}
	}
	b.copying = nil
	return nil
}

func (b *bodies) join(id int64) error {
	side := b.name(id, ".sync")
	if err := b.files.close(side); err != nil {
		return err
	}
	f, err := b.fsys.OpenRead(side)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	chunk := make([]byte, min(size, 256<<10))
	for at := int64(0); at < size; {
		p := chunk[:min(size-at, int64(len(chunk)))]
		if n, err := f.ReadAt(p, at); n < len(p) {
			return fmt.Errorf("read %s at %d: %w", side, at, err)
		}
		if err := b.files.append(b.name(id, ".msg"), p); err != nil {
			return err
		}
		at += int64(len(p))
	}
	if err := b.files.close(b.name(id, ".msg")); err != nil {
		return err
	}
	return b.files.remove(side)
}
