// Package core is the codec of the Core protocol, wire versions 121 to 136:
// bytes in, packets out, and back. It does no I/O, starts no goroutine and
// keeps no state but Confirmations, which both ends of a channel use.
//
// A client opens a connection with the 7 bytes of Preamble, which the server
// does not answer. Then frames follow in both directions:
//
//	offset  type   field
//	0       i32    length of all that follows: 9 + payload
//	4       i8     packet type, signed
//	5       i64    channel id
//	13      ...    payload
//
// Primitive encodings are those of package buf. The layout of each payload
// stands at its packet's struct in the order of the wire, with the words of
// buf: STR, nSTR, SS, nSS, nBool, nInt, nLong; "opt" begins a part that older
// peers leave out, so that a reader stops when no bytes are left.
//
// Some payloads depend on the version of the connection (Version), some have
// a packet type for each version; those have a Form field.
//
// Messages stay bytes. A regular message (MSG) is
//
//	i32 endOfBody = 13 + length of body, body, HEADERS
//
// and ends where its packet says, since it has no length. Peers below version
// 129 use the 1.x form
//
//	i32 endOfBody = 17 + length of body, body,
//	i32 endOfMessage = 21 + length of body + length of HEADERS, HEADERS
//
// A large message travels as HEADERS alone, its body in continuation packets.
// Package broker/message reads and writes what is inside.
//
// A decoder fails on an unknown type, a short or malformed field and on bytes
// left over; the connection is dropped then, nothing is sent. Views in decoded
// packets ([]byte fields) point into the payload.
//
// The packets sent for every message have Append and Decode methods on a
// concrete type that allocate nothing; all go through Append and Decode.
//
// Source: core-protocol sections 1 to 5; Artemis PacketImpl, PacketDecoder and
// the wireformat package.
package core
