package security

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker/config"
)

// Hashed passwords of user files: ENC(iterations:salt:hash), PBKDF2 with HMAC-SHA1, salt and hash in hexadecimal.
const (
	hashIterations = 1024
	hashSaltLength = 32 // bytes
	hashLength     = 64 // bytes

	maxHashIterations = 10_000_000
	maxHashLength     = 1024 // bytes
)

// HashPassword makes the text for a user file from a password: ENC(1024:SALT:HASH), with a new salt each time.
func HashPassword(password string) (string, error) {
	hash, err := Hash(password)
	return "ENC(" + hash + ")", err
}

// Hash makes 1024:SALT:HASH, as "mask --hash" prints it.
func Hash(password string) (string, error) {
	salt := make([]byte, hashSaltLength)
	rand.Read(salt)
	hash, err := pbkdf2.Key(sha1.New, password, salt, hashIterations, hashLength)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return fmt.Sprintf("%d:%X:%X", hashIterations, salt, hash), nil
}

// verifyHash compares a password with iterations:salt:hash. It takes the same time whether they match or not.
func verifyHash(password, stored string) (bool, error) {
	parts := strings.Split(stored, ":")
	if len(parts) != 3 {
		return false, fmt.Errorf("stored hash has %d parts, want iterations:salt:hash", len(parts))
	}
	iterations, err := strconv.Atoi(parts[0])
	if err != nil || iterations < 1 || iterations > maxHashIterations {
		return false, fmt.Errorf("stored hash has %q iterations, want 1 to %d", parts[0], maxHashIterations)
	}
	salt, err := hex.DecodeString(parts[1])
	if err != nil {
		return false, fmt.Errorf("salt of stored hash: %w", err)
	}
	want, err := hex.DecodeString(parts[2])
	if err != nil || len(want) == 0 || len(want) > maxHashLength {
		return false, fmt.Errorf("stored hash is not 1 to %d bytes in hexadecimal", maxHashLength)
	}
	got, err := pbkdf2.Key(sha1.New, password, salt, iterations, len(want))
	if err != nil {
		return false, fmt.Errorf("hash password: %w", err)
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// verifier says whether secret, the text inside ENC(), stands for the password.
type verifier func(password, secret string) (bool, error)

// newVerifier reads the codec of a PropertiesLoginModule: hashes by default and with algorithm=one-way, else masked
// passwords, which are compared in their masked form.
func newVerifier(codec string, lookup config.Lookup) (verifier, error) {
	if codec == "" || slices.Contains(strings.Split(codec, ";"), "algorithm=one-way") {
		return verifyHash, nil
	}
	c, err := config.NewCodec(codec, lookup)
	if err != nil {
		return nil, err
	}
	return func(password, secret string) (bool, error) {
		masked, err := c.Encode(password)
		return err == nil && subtle.ConstantTimeCompare([]byte(masked), []byte(secret)) == 1, err
	}, nil
}

// verifyPassword compares a password with what a user file has: plain text, or ENC() of what verify knows.
func verifyPassword(password, stored string, verify verifier) (bool, error) {
	if secret, ok := strings.CutPrefix(stored, "ENC("); ok && strings.HasSuffix(secret, ")") {
		return verify(password, secret[:len(secret)-1])
	}
	return subtle.ConstantTimeCompare([]byte(password), []byte(stored)) == 1, nil
}
