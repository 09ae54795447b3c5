package core

import "github.com/saranga-mq/saranga/wire/buf"

// A Decoder reads payloads into packets of the caller's, so that a stream of small packets allocates nothing. The zero value is
// ready. It is for one goroutine at a time.
type Decoder struct{ r buf.Reader }

// Decode reads the payload of a packet of p's type into p. Fields that the payload does not have stay as they are: a packet that is
// used again is to be cleared before.
func (d *Decoder) Decode(p Packet, payload []byte, v Version) error {
	d.r = buf.NewReader(payload)
	p.decode(&d.r, v)
	return finish(&d.r, p.Type())
}
