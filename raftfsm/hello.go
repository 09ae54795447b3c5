package raftfsm

import (
	"errors"
	"fmt"
	"io"
)

// A connection between members starts, inside TLS if there is TLS, with a hello of whoever dialled:
//
//	 0  magic    "SRNGRAFT"
//	 8  version  uint8   1
//	 9  service  uint8   1 raft stream, 2 RPC
//	10  cluster          uint8 length, bytes: must be that of the member
//	    member           uint8 length, bytes: who dialled, empty for a tool
//
// and one answer:
//
//	0  code     uint8   0 welcome; else the connection is closed after the text
//	1  text             uint8 length, bytes: why it is refused
type hello struct {
	Service service
	Cluster string
	Member  string
}

type service uint8

const (
	serviceRaft service = 1
	serviceRPC  service = 2
)

const (
	helloMagic   = "SRNGRAFT"
	helloVersion = 1
	maxName      = 255 // bytes of a cluster's name, a member's id, an address, the reason of a refusal
)

var errNoHello = errors.New("not the hello of a member")

func (h hello) append(b []byte) []byte {
	b = append(append(b, helloMagic...), helloVersion, byte(h.Service))
	return appendName(appendName(b, h.Cluster), h.Member)
}

// readHello reads no byte beyond the hello.
func readHello(r io.Reader) (h hello, err error) {
	var head [len(helloMagic) + 2]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return h, err
	}
	if string(head[:len(helloMagic)]) != helloMagic {
		return h, fmt.Errorf("%w: it begins with %q", errNoHello, head[:len(helloMagic)])
	}
	if v := head[len(helloMagic)]; v != helloVersion {
		return h, fmt.Errorf("%w: version %d, this is %d", errNoHello, v, helloVersion)
	}
	h.Service = service(head[len(helloMagic)+1])
	if h.Cluster, err = readName(r); err != nil {
		return h, err
	}
	h.Member, err = readName(r)
	return h, err
}

// appendWelcome is the answer to a hello: an empty reason welcomes.
func appendWelcome(b []byte, refused string) []byte {
	if refused == "" {
		return append(b, 0, 0)
	}
	return appendName(append(b, 1), refused)
}

// readWelcome returns the reason of a refusal as an error.
func readWelcome(r io.Reader) error {
	var code [1]byte
	if _, err := io.ReadFull(r, code[:]); err != nil {
		return fmt.Errorf("no answer to the hello: %w", err)
	}
	text, err := readName(r)
	if err != nil {
		return fmt.Errorf("no answer to the hello: %w", err)
	}
	if code[0] != 0 {
		return fmt.Errorf("%w: %s", ErrRefused, text)
	}
	return nil
}

func appendName(b []byte, s string) []byte {
	s = s[:min(len(s), maxName)]
	return append(append(b, byte(len(s))), s...)
}

func readName(r io.Reader) (string, error) {
	var n [1]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return "", err
	}
	b := make([]byte, n[0])
	_, err := io.ReadFull(r, b)
	return string(b), err
}
