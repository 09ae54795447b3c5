package cluster

import (
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Bounds of an announcement that is heard.
const (
	maxDatagram   = 65535 // bytes, as UDP has it
	maxConnectors = 64
)

// An Announcement is what a broadcast group sends: see the package for its layout.
type Announcement struct {
	NodeID string
	// UniqueID is another one for each start of a broadcast group.
	UniqueID   string
	Connectors []core.TransportConfiguration
}

// Append appends the datagram.
func (a *Announcement) Append(dst []byte) []byte {
	dst = buf.AppendSTR(buf.AppendSTR(dst, a.NodeID), a.UniqueID)
	dst = buf.AppendInt32(dst, int32(len(a.Connectors)))
	for i := range a.Connectors {
		dst = a.Connectors[i].Append(dst)
	}
	return dst
}

// DecodeAnnouncement reads a datagram. The result shares no memory with it.
func DecodeAnnouncement(datagram []byte) (Announcement, error) {
	r := buf.NewReader(datagram)
	a := Announcement{NodeID: r.STR(), UniqueID: r.STR()}
	n := r.Count(12) // two empty strings and a number at least
	if n > maxConnectors {
		r.Fail(fmt.Sprintf("%d connectors, at most %d", n, maxConnectors))
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		a.Connectors = append(a.Connectors, *core.ReadTransportConfiguration(&r))
	}
	if r.Err() == nil && a.NodeID == "" {
		return Announcement{}, errors.New("cluster: decode an announcement: it names no node")
	}
	if err := r.Err(); err != nil {
		return Announcement{}, fmt.Errorf("cluster: decode an announcement: %w", err)
	}
	return a, nil
}
