package raftfsm

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// marker is the file MEMBER of a state folder: whose folder it is. It is text, every line ends in \n:
//
//	saranga raft member
//	format 1
//	cluster "orders"                   as a Go string literal
//	member "a"
//	state member                       or: founding | joining | refilling FLOOR
//	check 0f1e2d3c                     CRC-32C of all lines before, 8 hex digits
//
// A folder in state founding has never been in a group: what else is in it is begun anew. joining and refilling are told in the package comment;
// FLOOR is the highest term that another member had seen, and no vote is given in it or before.
type marker struct {
	Cluster string
	Member  string
	State   phase
	Floor   uint64 // refilling only
}

// phase is how far a member has come.
type phase string

const (
	phaseFounding  phase = "founding"
	phaseJoining   phase = "joining"
	phaseRefilling phase = "refilling"
	phaseMember    phase = "member"
)

const (
	markerTitle  = "saranga raft member"
	markerFormat = 1
	maxMarker    = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (m marker) encode() []byte {
	state := string(m.State)
	if m.State == phaseRefilling {
		state += " " + strconv.FormatUint(m.Floor, 10)
	}
	text := fmt.Sprintf("%s\nformat %d\ncluster %q\nmember %q\nstate %s\n", markerTitle, markerFormat, m.Cluster, m.Member, state)
	return fmt.Appendf(nil, "%scheck %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

func decodeMarker(b []byte) (m marker, err error) {
	text := string(b)
	if len(b) > maxMarker || !strings.HasPrefix(text, markerTitle+"\nformat ") {
		return m, fmt.Errorf("it is not the file of a member: it does not begin with %q", markerTitle)
	}
	lines := strings.Split(text, "\n")
	if format := strings.TrimPrefix(lines[1], "format "); format != strconv.Itoa(markerFormat) {
		return m, fmt.Errorf("it has format %s, this version knows %d", format, markerFormat)
	}
	if len(lines) != 7 || lines[6] != "" {
		return m, fmt.Errorf("it has %d lines, not 6", len(lines)-1)
	}
	var fields [7]string
	for i, name := range []string{"cluster", "member", "state", "check"} {
		value, ok := strings.CutPrefix(lines[2+i], name+" ")
		if !ok {
			return m, fmt.Errorf("line %d is not that of %s", 3+i, name)
		}
		fields[i] = value
	}
	covered := text[:strings.LastIndex(text, "check ")]
	if want := fmt.Sprintf("%08x", crc32.Checksum([]byte(covered), castagnoli)); fields[3] != want {
		return m, fmt.Errorf("its check is %s, not %s", fields[3], want)
	}
	if m.Cluster, err = strconv.Unquote(fields[0]); err != nil {
		return m, fmt.Errorf("bad cluster %s", fields[0])
	}
	if m.Member, err = strconv.Unquote(fields[1]); err != nil {
		return m, fmt.Errorf("bad member %s", fields[1])
	}
	state, floor, refilling := strings.Cut(fields[2], " ")
	m.State = phase(state)
	switch m.State {
	case phaseFounding, phaseJoining, phaseMember:
		if refilling {
			return m, fmt.Errorf("bad state %q", fields[2])
		}
	case phaseRefilling:
		if m.Floor, err = strconv.ParseUint(floor, 10, 64); err != nil {
			return m, fmt.Errorf("bad state %q", fields[2])
		}
	default:
		return m, fmt.Errorf("unknown state %q", fields[2])
	}
	return m, nil
}
