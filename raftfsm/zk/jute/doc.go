// Package jute is the codec of ZooKeeper's client protocol, as clients and servers 3.4 to 3.9 speak it: pure, bounded,
// bytes in and values out (and back). It follows the tables of spec ha.md section 3.7.
//
// # Frames
//
// All numbers are big-endian. A connection carries frames in both directions:
//
//	+---------------+-------------------+
//	| int32 length  | length bytes      |
//	+---------------+-------------------+
//
// and the payload is made of
//
//	int     4 bytes          ustring   int32 length (-1 null), UTF-8
//	long    8 bytes          buffer    int32 length (-1 null), bytes
//	bool    1 byte           vector    int32 count (-1 null), elements
//
// The first frame of each direction has no header:
//
//	ConnectRequest   int protocolVersion, long lastZxidSeen, int timeOut ms, long sessionId (0 new), buffer passwd, [bool readOnly]
//	ConnectResponse  int protocolVersion, int timeOut ms, long sessionId, buffer passwd, [bool readOnly]
//
// readOnly is left out by old clients, and then by the server too. A response with timeOut 0 and sessionId 0 says that the session
// has expired. Every further frame is
//
//	request  int xid, int op, body                 reply  int xid, long zxid, int err, body if err is 0
//	event    xid -1, long zxid, err 0, int type, int state 3, ustring path
//
// Replies have no other correlation than their order; the xid is only echoed. A ping has xid -2, auth -4. Instead of a first
// frame a peer may send four letters ("ruok"), which read as a length above 1.6 GB; see [FourLetter].
//
// # Limits
//
// Whoever reads frames bounds their length. Within a frame no count or length is believed before it is
// known to fit into what is left; nothing nests deeper than the operations of a multi, and a multi holds no multi. A body that ends too early or
// goes on after its end is an error that the server answers with [MarshallingError]; the connection stays usable because the frame's length was right.
package jute
