package config

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	//lint:ignore SA1019 Blowfish is what Artemis' files are masked with.
	"golang.org/x/crypto/blowfish"
)

// DefaultCodec is the class of the one codec a broker without Java has.
const DefaultCodec = "org.apache.activemq.artemis.utils.DefaultSensitiveStringCodec"

// Codec masks and unmasks passwords as Artemis' default codec does two-way:
// Blowfish, ECB, PKCS#5 padding on the UTF-8 bytes; the result is printed as a
// signed big-endian integer in base 16, so it may start with a minus and has no
// leading zeros (spec/security.md §4). It hides a password from a glance only.
type Codec struct{ key []byte }

// Names under which the key of masked passwords is looked up when the codec
// gives none: first the system property, then the environment variable.
const (
	codecKeyProperty = "artemis.default.sensitive.string.codec.key"
	codecKeyEnv      = "ARTEMIS_DEFAULT_SENSITIVE_STRING_CODEC_KEY"
	codecKeyDefault  = "clusterpassword"
)

// NewCodec makes the codec of a password-codec text: class;key=value;… with
// empty text for the default class. lookup answers the places a key may come
// from, and may be nil.
func NewCodec(text string, lookup Lookup) (*Codec, error) {
	class, params, _ := strings.Cut(text, ";")
	if class = strings.TrimSpace(class); class != "" && class != DefaultCodec {
		return nil, fmt.Errorf("password codec %s needs Java", class)
	}
	key := ""
	for pair := range strings.SplitSeq(params, ";") {
		k, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case k == "key":
			key = v
		case k == "algorithm" && v != "two-way":
			return nil, fmt.Errorf("password codec algorithm %s can't be decoded", v)
		}
	}
	if key == "" && lookup != nil {
		for _, name := range []string{codecKeyProperty, codecKeyEnv} {
			if v, ok := lookup(name); ok && v != "" {
				key = v
				break
			}
		}
	}
	if key == "" {
		key = codecKeyDefault
	}
	if len(key) > 56 {
		return nil, errors.New("the key of the password codec is longer than 56 bytes")
	}
	return &Codec{[]byte(key)}, nil
}

// Encode masks a password. It fails for the few whose masked form can't be
// decoded again by Artemis (a leading FF byte is lost in the integer); another
// password or key has to be taken then.
func (c *Codec) Encode(plain string) (string, error) {
	b, err := blowfish.NewCipher(c.key)
	if err != nil {
		return "", fmt.Errorf("password codec: %w", err)
	}
	pad := b.BlockSize() - len(plain)%b.BlockSize()
	data := append([]byte(plain), strings.Repeat(string(rune(pad)), pad)...)
	for i := 0; i < len(data); i += b.BlockSize() {
		b.Encrypt(data[i:], data[i:])
	}
	if data[0] == 0xFF && data[1] >= 0x80 {
		return "", errors.New("this password can't be masked with this key; take another one")
	}
	n := new(big.Int).SetBytes(data)
	if data[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return n.Text(16), nil
}

// Decode unmasks a password. The integer has lost the bytes at the start of
// the ciphertext that repeat its sign: FF of a negative one, 00 of a positive
// one. Artemis puts 00 back always, so that it can't read some of its own texts
// or, worse, reads another password; here they are what was masked.
func (c *Codec) Decode(masked string) (string, error) {
	n, ok := new(big.Int).SetString(masked, 16)
	if !ok || len(masked) > 8192 {
		return "", errors.New("the password is not encrypted (not a hexadecimal number)")
	}
	data, negative := twosComplement(n)
	if negative {
		return c.decrypt(leftPad(data, 0xFF))
	}
	return c.decrypt(leftPad(data, 0))
}

// twosComplement returns the shortest big-endian two's complement of n.
func twosComplement(n *big.Int) (data []byte, negative bool) {
	if n.Sign() >= 0 {
		data = n.Bytes()
		if len(data) > 0 && data[0] >= 0x80 {
			data = append([]byte{0}, data...)
		}
		return data, false
	}
	abs := new(big.Int).Neg(n)
	bits := new(big.Int).Sub(abs, big.NewInt(1)).BitLen() + 1
	size := uint(bits+7) / 8
	sum := new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 8*size))
	return leftFill(sum.Bytes(), int(size), 0xFF), true
}

func leftPad(data []byte, fill byte) []byte {
	// A positive number may have a zero byte in front that isn't part of the text.
	if len(data)%blowfish.BlockSize == 1 && data[0] == 0 && len(data) > 1 {
		return data[1:]
	}
	return leftFill(data, (len(data)+blowfish.BlockSize-1)/blowfish.BlockSize*blowfish.BlockSize, fill)
}

func leftFill(data []byte, size int, fill byte) []byte {
	out := make([]byte, size)
	for i := range size - len(data) {
		out[i] = fill
	}
	copy(out[size-len(data):], data)
	return out
}

func (c *Codec) decrypt(data []byte) (string, error) {
	b, err := blowfish.NewCipher(c.key)
	if err != nil {
		return "", fmt.Errorf("password codec: %w", err)
	}
	bad := errors.New("the password can't be decrypted with this key")
	if len(data) == 0 || len(data)%b.BlockSize() != 0 {
		return "", bad
	}
	plain := make([]byte, len(data))
	for i := 0; i < len(data); i += b.BlockSize() {
		b.Decrypt(plain[i:], data[i:])
	}
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > b.BlockSize() {
		return "", bad
	}
	for _, p := range plain[len(plain)-pad:] {
		if int(p) != pad {
			return "", bad
		}
	}
	return string(plain[:len(plain)-pad]), nil
}

// Unwrap returns what is inside ENC(…).
func unwrapENC(text string) (inner string, ok bool) {
	inner, ok = strings.CutPrefix(text, "ENC(")
	if !ok || !strings.HasSuffix(inner, ")") {
		return text, false
	}
	return inner[:len(inner)-1], true
}

// Unmask decodes a password of the configuration: ENC(…) always, bare text only
// if mask is true, nothing if it is false.
func (c *Codec) Unmask(text string, mask *bool) (string, error) {
	if mask != nil && !*mask {
		return text, nil
	}
	inner, wrapped := unwrapENC(text)
	if !wrapped && mask == nil {
		return text, nil
	}
	return c.Decode(inner)
}
