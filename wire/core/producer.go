package core

import "github.com/saranga-mq/saranga/wire/buf"

// Credits moves producer credits of an address. Form is TypeRequestCredits
// (client to server), TypeCredits, or TypeFailCredits, which grants them too
// but tells that the address is full.
type Credits struct {
	Form    Type
	Credits int32  // bytes
	Address string // SS; answered as it was asked
}

func (p *Credits) Type() Type { return p.Form }
func (p *Credits) decode(r *buf.Reader, _ Version) {
	p.Credits = r.Int32()
	p.Address = r.SS()
}
func (p *Credits) encode(dst []byte, _ Version) []byte {
	return buf.AppendSS(buf.AppendInt32(dst, p.Credits), p.Address)
}

// DecodeCredits reads the payload of any of the three forms without
// allocating; address is a view of the UTF-16LE units.
func DecodeCredits(payload []byte) (credits int32, address []byte, err error) {
	r := buf.NewReader(payload)
	credits = r.Int32()
	address = r.SSBytes()
	return credits, address, finish(&r, TypeCredits)
}

// AppendCredits appends the whole frame of the form; address is in UTF-16LE
// units. It does not allocate.
func AppendCredits(dst []byte, form Type, channel int64, credits int32, address []byte) []byte {
	dst = buf.AppendInt32(appendHeader(dst, form, channel, 4+4+len(address)), credits)
	return buf.AppendBlock(dst, address)
}

// CreateProducer announces a producer, from version 134 on. It is not answered.
type CreateProducer struct {
	ID      int32            // from 1 in each session
	Address buf.Null[string] // SS; null: any
}

func (*CreateProducer) Type() Type { return TypeCreateProducer }
func (p *CreateProducer) decode(r *buf.Reader, _ Version) {
	p.ID = r.Int32()
	p.Address = r.NSS()
}
func (p *CreateProducer) encode(dst []byte, _ Version) []byte {
	return buf.AppendNSS(buf.AppendInt32(dst, p.ID), p.Address)
}

// RemoveProducer withdraws a producer. It is not answered.
type RemoveProducer struct {
	ID int32
}

func (*RemoveProducer) Type() Type                            { return TypeRemoveProducer }
func (p *RemoveProducer) decode(r *buf.Reader, _ Version)     { p.ID = r.Int32() }
func (p *RemoveProducer) encode(dst []byte, _ Version) []byte { return buf.AppendInt32(dst, p.ID) }
