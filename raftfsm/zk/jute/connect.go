package jute

import "fmt"

// ConnectRequest is the first frame of a client.
type ConnectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	TimeOut         int32 // ms
	SessionID       int64 // 0: a new session
	Passwd          []byte
	ReadOnly        bool
	HasReadOnly     bool // the client sends the last byte, and expects it in the response
}

// ParseConnectRequest takes the payload of a first frame.
func ParseConnectRequest(payload []byte) (ConnectRequest, error) {
	r := NewReader(payload)
	c := ConnectRequest{ProtocolVersion: r.Int(), LastZxidSeen: r.Long(), TimeOut: r.Int(), SessionID: r.Long(), Passwd: r.Buffer()}
	if r.Len() > 0 {
		c.ReadOnly, c.HasReadOnly = r.Bool(), true
	}
	if err := r.End(); err != nil {
		return ConnectRequest{}, fmt.Errorf("connect request: %w", err)
	}
	return c, nil
}

// Append appends the payload.
func (c ConnectRequest) Append(b []byte) []byte {
	b = AppendInt(b, c.ProtocolVersion)
	b = AppendLong(b, c.LastZxidSeen)
	b = AppendInt(b, c.TimeOut)
	b = AppendLong(b, c.SessionID)
	b = AppendBuffer(b, c.Passwd)
	if c.HasReadOnly {
		b = AppendBool(b, c.ReadOnly)
	}
	return b
}

// ConnectResponse is the first frame of a server. The zero value with 16 zero bytes of Passwd says that the session has expired.
type ConnectResponse struct {
	ProtocolVersion int32
	TimeOut         int32 // ms, granted
	SessionID       int64
	Passwd          []byte
	ReadOnly        bool
	HasReadOnly     bool // as in the request
}

// ParseConnectResponse takes the payload of a server's first frame.
func ParseConnectResponse(payload []byte) (ConnectResponse, error) {
	r := NewReader(payload)
	c := ConnectResponse{ProtocolVersion: r.Int(), TimeOut: r.Int(), SessionID: r.Long(), Passwd: r.Buffer()}
	if r.Len() > 0 {
		c.ReadOnly, c.HasReadOnly = r.Bool(), true
	}
	if err := r.End(); err != nil {
		return ConnectResponse{}, fmt.Errorf("connect response: %w", err)
	}
	return c, nil
}

// Append appends the payload.
func (c ConnectResponse) Append(b []byte) []byte {
	b = AppendInt(b, c.ProtocolVersion)
	b = AppendInt(b, c.TimeOut)
	b = AppendLong(b, c.SessionID)
	b = AppendBuffer(b, c.Passwd)
	if c.HasReadOnly {
		b = AppendBool(b, c.ReadOnly)
	}
	return b
}
