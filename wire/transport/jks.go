package transport

import (
	"bytes"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// A JKS file, all numbers big-endian, a UTF being a 2-byte length and bytes:
//
//	feedfeed, u32 version (1, 2), u32 entries
//	entry: u32 1, UTF alias, u64 time, u32 length + protected key, u32 certificates
//	       u32 2, UTF alias, u64 time, one certificate
//	certificate: UTF type (version 2 only), u32 length + DER
//	20 bytes SHA-1 of: the password as UTF-16, "Mighty Aphrodite", everything before
//
// The keystore package believes the lengths, so openJKS checks that they fit before.

var errJKSDamaged = errors.New("damaged: its lengths exceed the file")

// openJKS checks the file and returns it in the form that the keystore package opens with the password. Without a
// password nothing is verified, as in Java.
func openJKS(data []byte, password string) ([]byte, error) {
	at := len(data) - sha1.Size
	if at < 12 {
		return nil, errJKSDamaged
	}
	body := data[:at]
	if err := checkJKS(body); err != nil {
		return nil, err
	}
	h := sha1.New()
	for _, unit := range utf16.Encode([]rune(password)) {
		h.Write(binary.BigEndian.AppendUint16(nil, unit))
	}
	h.Write([]byte("Mighty Aphrodite"))
	h.Write(body)
	sum := h.Sum(nil)
	if password == "" {
		return append(bytes.Clone(body), sum...), nil
	}
	if subtle.ConstantTimeCompare(sum, data[at:]) == 0 {
		return nil, errors.New("damaged, or the password is wrong")
	}
	return data, nil
}

func checkJKS(body []byte) error {
	r := jksReader{rest: body[4:]}
	version := r.u32()
	if version != 1 && version != 2 {
		return errors.New("unknown version of a JKS file")
	}
	for n := r.u32(); n > 0 && !r.short; n-- {
		tag := r.u32()
		r.utf()
		r.skip(8)
		certificates := uint32(1)
		switch tag {
		case 1:
			r.skip(int(r.u32()))
			certificates = r.u32()
		case 2:
		default:
			return errors.New("damaged: unknown kind of entry")
		}
		for ; certificates > 0 && !r.short; certificates-- {
			if version == 2 {
				r.utf()
			}
			r.skip(int(r.u32()))
		}
	}
	if r.short || len(r.rest) != 0 {
		return errJKSDamaged
	}
	return nil
}

type jksReader struct {
	rest  []byte
	short bool
}

func (r *jksReader) skip(n int) []byte {
	if r.short || n < 0 || n > len(r.rest) {
		r.short = true
		return make([]byte, 8)
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}

func (r *jksReader) u32() uint32 { return binary.BigEndian.Uint32(r.skip(4)) }
func (r *jksReader) utf()        { r.skip(int(binary.BigEndian.Uint16(r.skip(2)))) }
