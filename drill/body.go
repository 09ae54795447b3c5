package drill

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// # Bodies
//
// A body is a line, "saranga.drill RUN PRODUCER SEQ LENGTH" and a newline, and then letters up to LENGTH bytes in all, which follow from
// the message's ID.

const magic = "saranga.drill"

// maxBody bounds what a body may say of its length, in bytes.
const maxBody = 1 << 30

// appendBody appends the body of a message, of at least size bytes.
func appendBody(dst []byte, run string, id ID, size int) []byte {
	begin := len(dst)
	line := fmt.Sprintf("%s %s %d %d ", magic, run, id.Producer, id.Seq)
	size = max(size, len(line)+len("0000000000")+1)
	dst = fmt.Appendf(dst, "%s%010d\n", line, size)
	for i := len(dst) - begin; i < size; i++ {
		dst = append(dst, letter(id, i))
	}
	return dst
}

func letter(id ID, i int) byte {
	return 'a' + byte((uint32(id.Producer)*7+id.Seq*3+uint32(i)+uint32(i)>>10)%26)
}

var (
	errStranger = errors.New("not a message of this drill")
	errDamaged  = errors.New("damaged")
)

// parseBody tells which message has the body. With errDamaged the message is known and the body is not what was sent.
func parseBody(body []byte, run string) (ID, error) {
	line, _, ok := bytes.Cut(body[:min(len(body), 200)], []byte("\n"))
	fields := bytes.Fields(line)
	if !ok || len(fields) != 5 || string(fields[0]) != magic || string(fields[1]) != run {
		return ID{}, errStranger
	}
	producer, err1 := strconv.ParseUint(string(fields[2]), 10, 16)
	seq, err2 := strconv.ParseUint(string(fields[3]), 10, 32)
	size, err3 := strconv.ParseUint(string(fields[4]), 10, 32)
	if err := errors.Join(err1, err2, err3); err != nil || size > maxBody {
		return ID{}, errStranger
	}
	id := ID{uint16(producer), uint32(seq)}
	if uint64(len(body)) != size {
		return id, errDamaged
	}
	for i := len(line) + 1; i < len(body); i++ {
		if body[i] != letter(id, i) {
			return id, errDamaged
		}
	}
	return id, nil
}
