package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/saranga-mq/saranga/journal/fs"
)

// control is the content of journal-rename-control.ctr: what a compaction, once it is written, will have done. It is a
// journal file with one ADD whose payload has three lists: input files to delete, output files whose .cmp goes, renames.
type control struct {
	inputs, outputs []string
	renames         [][2]string
}

// readControl returns nil when the file holds no whole record: then the compaction did not happen.
func readControl(fsys fs.FS, name string) (*control, error) {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("journal: read %s: %w", name, err)
	}
	if len(b) < headerSize {
		return nil, nil
	}
	h, err := ReadHeader(b)
	if err != nil {
		return nil, nil
	}
	var r Record
	if !NewScanner(b, h, false).Next(&r) || r.Kind != Add {
		return nil, nil
	}
	return decodeControl(r.Payload)
}

var errControl = errors.New("journal: damaged list in " + controlFile)

func decodeControl(b []byte) (*control, error) {
	c := &control{}
	list := func(each func(name func() (string, bool)) bool) bool {
		if len(b) < 4 {
			return false
		}
		n := int(int32(binary.BigEndian.Uint32(b)))
		b = b[4:]
		for ; n > 0; n-- {
			if !each(func() (string, bool) {
				if len(b) < 2 {
					return "", false
				}
				n := int(binary.BigEndian.Uint16(b))
				if len(b) < 2+n {
					return "", false
				}
				s := string(b[2 : 2+n]) // file names are ASCII, where modified UTF-8 is the same
				b = b[2+n:]
				return s, s != "" && !strings.ContainsAny(s, "/\x00")
			}) {
				return false
			}
		}
		return n == 0
	}
	one := func(to *[]string) func(func() (string, bool)) bool {
		return func(name func() (string, bool)) bool {
			s, ok := name()
			*to = append(*to, s)
			return ok
		}
	}
	ok := list(one(&c.inputs)) && list(one(&c.outputs)) && list(func(name func() (string, bool)) bool {
		from, ok1 := name()
		to, ok2 := name()
		c.renames = append(c.renames, [2]string{from, to})
		return ok1 && ok2
	})
	if !ok {
		return nil, errControl
	}
	return c, nil
}

// encode returns the whole file.
func (c *control) encode() []byte {
	var p []byte
	count := func(n int) { p = binary.BigEndian.AppendUint32(p, uint32(n)) }
	name := func(s string) { p = append(binary.BigEndian.AppendUint16(p, uint16(len(s))), s...) }
	count(len(c.inputs))
	for _, s := range c.inputs {
		name(s)
	}
	count(len(c.outputs))
	for _, s := range c.outputs {
		name(s)
	}
	count(len(c.renames))
	for _, r := range c.renames {
		name(r[0])
		name(r[1])
	}
	b := make([]byte, headerSize+Add.Size(len(p)))
	putHeader(b, 0)
	copy(putRecord(b[headerSize:], &Record{Kind: Add, ID: 1}, len(p)), p)
	return b
}
