package create

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// encode writes text in an encoding. As in Java, UTF-16 is big-endian with a
// byte order mark.
func encode(text, encoding string) ([]byte, error) {
	switch strings.ToUpper(encoding) {
	case "", "UTF-8", "UTF8":
		return []byte(text), nil
	case "UTF-16":
		return utf16Bytes("\uFEFF"+text, binary.BigEndian), nil
	case "UTF-16BE":
		return utf16Bytes(text, binary.BigEndian), nil
	case "UTF-16LE":
		return utf16Bytes(text, binary.LittleEndian), nil
	case "ISO-8859-1":
		return oneByte(text, 0xFF)
	case "US-ASCII":
		return oneByte(text, 0x7F)
	}
	return nil, fmt.Errorf("encoding %s is not known", encoding)
}

func utf16Bytes(text string, order binary.AppendByteOrder) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

func oneByte(text string, last rune) ([]byte, error) {
	var out []byte
	for _, r := range text {
		if r > last {
			return nil, fmt.Errorf("character %q is not in the encoding", r)
		}
		out = append(out, byte(r))
	}
	return out, nil
}
