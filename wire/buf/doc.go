// Package buf reads and writes the primitive encodings of the ActiveMQ buffer,
// which the Core protocol, the journal and the bindings all build on.
//
// All integers are big-endian two's complement.
//
//	bool    1 byte; a reader takes any non-zero byte as true. Writers put ff in
//	        packets (AppendBool) and 01 in message headers and typed
//	        properties (AppendBool01).
//	SS      SimpleString: i32 byte length, always even, then UTF-16 code units
//	        LITTLE-endian
//	STR     i32 count n of UTF-16 code units; n < 9: n big-endian units;
//	        n < 4095: UTF; else: SS
//	UTF     u16 byte length, then modified UTF-8: every UTF-16 unit on its own
//	        in 1 (up to 7f, NUL included), 2 (up to 7ff) or 3 bytes, so that a
//	        supplementary character takes two 3-byte sequences
//	nX      nullable X: 00 for null, else 01 and X. Packets put ff before
//	        nullable bools and integers (AppendNBool), records and federation
//	        policies 01 (AppendNBool01); a reader takes any non-zero byte.
//	block   i32 byte length, then the bytes
//	Xid     i32 format id, block branch qualifier, block global transaction id
//	PROPS   typed properties: 00 when empty; else 01, i32 count, and count
//	        times SS key, i8 type, value (see Type)
//
// Java strings may hold unpaired surrogates, which UTF-8 cannot express. They
// become their three-byte form in a Go string (as WTF-8 has it) and go out
// unchanged, so that a name read and written again is the same name.
//
// A Reader never panics and never reads past its slice: the first short or
// malformed field sets an error that sticks, and everything read after that is
// zero. Views that a Reader hands out ([]byte) point into the slice it reads.
// Lengths and counts found in the input are checked against the bytes left
// before anything is allocated.
//
// Formats: Artemis ChannelBufferWrapper, SimpleString, UTF8Util, XidCodecSupport
// and TypedProperties; core-protocol 1.4, 1.5 and 5.3.
package buf
