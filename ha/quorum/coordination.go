package quorum

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/saranga-mq/saranga/journal/lock"
)

// ErrNodeID: a node id that has no 16 bytes.
var ErrNodeID = errors.New("node id is not made of pairs of hex digits, 32 at most")

// CoordinationID is the node id that a configured coordination-id stands for: in topology, replication, lock and long. Only the
// first 16 characters count, an odd number of fewer gets a "+", and every '-' becomes '.'. "" is none.
//
// The rule is that of Artemis' ReplicationPrimaryPolicyConfiguration, which means to have something that NodeID takes.
func CoordinationID(configured string) string {
	text := utf16.Encode([]rune(configured)) // Artemis counts in Java's characters
	switch {
	case len(text) > 16:
		text = text[:16]
	case len(text)%2 != 0:
		text = append(text, '+')
	}
	return strings.ReplaceAll(string(utf16.Decode(text)), "-", ".")
}

// NodeID converts a node id to the 16 bytes of server.lock. They do not always give the text again: after a restart without the
// coordination-id the node is known by the text of the bytes.
//
// The rule is Artemis' UUID.stringToBytes with the constructor of UUID: pairs of hex digits, each pair after any number of
// '-', missing bytes 0, a character that is no hex digit counts as -1 without a word; then the bits of version and
// variant are set to those of a time-based UUID. An odd number of digits, more than 32, or a '-' at the end is an error.
func NodeID(nodeID string) (lock.UUID, error) {
	var id lock.UUID
	text := utf16.Encode([]rune(nodeID))
	n := 0
	for i := 0; i < len(text); i += 2 {
		for i < len(text) && text[i] == '-' {
			i++
		}
		if i+1 >= len(text) || n == len(id) {
			return id, fmt.Errorf("%w: %q", ErrNodeID, nodeID)
		}
		id[n] = byte(digit(text[i])<<4 + digit(text[i+1]))
		n++
	}
	id[6] = id[6]&0x0f | 1<<4
	id[8] = id[8]&0x3f | 0x80
	return id, nil
}

// digit is the value of a hex digit, -1 if it is none.
func digit(c uint16) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c - 'a' + 10)
	case 'A' <= c && c <= 'F':
		return int(c - 'A' + 10)
	}
	return -1
}
