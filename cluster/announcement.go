package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Bounds of an announcement that is heard.
const (
	maxDatagram   = 65535 // bytes, as UDP has it
	maxConnectors = 64
	maxParams     = 256 // of a connector
)

// extraPrefix marks extra parameters on the wire.
const extraPrefix = "$.EP."

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
		dst = appendConnector(dst, &a.Connectors[i])
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
		a.Connectors = append(a.Connectors, readConnector(&r))
	}
	if r.Err() == nil && a.NodeID == "" {
		return Announcement{}, errors.New("cluster: decode an announcement: it names no node")
	}
	if err := r.Err(); err != nil {
		return Announcement{}, fmt.Errorf("cluster: decode an announcement: %w", err)
	}
	return a, nil
}

func appendConnector(dst []byte, t *core.TransportConfiguration) []byte {
	dst = buf.AppendSTR(buf.AppendSTR(dst, t.Name), t.Factory)
	dst = buf.AppendInt32(dst, int32(len(t.Params)))
	for _, p := range t.Params {
		key := p.Key
		if p.Extra {
			key = extraPrefix + key
		}
		dst = buf.AppendSTR(dst, key)
		switch v := p.Value.(type) {
		case bool:
			dst = buf.AppendBool(append(dst, 0), v)
		case int32:
			dst = buf.AppendInt32(append(dst, 1), v)
		case int64:
			dst = buf.AppendInt64(append(dst, 2), v)
		default:
			dst = buf.AppendSTR(append(dst, 3), fmt.Sprint(v))
		}
	}
	return dst
}

func readConnector(r *buf.Reader) core.TransportConfiguration {
	t := core.TransportConfiguration{Name: r.STR(), Factory: r.STR()}
	n := r.Count(6) // an empty key, its type and a bool at least
	if n > maxParams {
		r.Fail(fmt.Sprintf("%d parameters, at most %d", n, maxParams))
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		var p core.Param
		p.Key, p.Extra = strings.CutPrefix(r.STR(), extraPrefix)
		switch kind := r.Int8(); kind {
		case 0:
			p.Value = r.Bool()
		case 1:
			p.Value = r.Int32()
		case 2:
			p.Value = r.Int64()
		case 3:
			p.Value = r.STR()
		default:
			r.Fail(fmt.Sprintf("parameter type %d", kind))
		}
		t.Params = append(t.Params, p)
	}
	return t
}
