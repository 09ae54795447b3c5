package core

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/wire/buf"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "")), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// packetRow is a packet as bytes and as a struct.
type packetRow struct {
	name    string
	version Version
	channel int64
	frame   string // hex; the first four bytes are the length
	packet  Packet
}

// emptyMessage is the MSG of the smallest send of a 2.56.0 client.
const emptyMessage = "0000000d 0000000000000000 01 00000006 65002e006300 00 00 00 0000000000000000 000001a22c37fa79 04 00"

var null = buf.Null[string]{}

// packetTable: the worked bytes of core-protocol 8, which come from captures,
// and packets that no capture holds, spelt by the layouts of section 3.
func packetTable(t testing.TB) []packetRow {
	msg := unhex(t, emptyMessage)
	node := buf.Of("n1")
	return []packetRow{
		{"ping", 136, 0, "00000011 0a 0000000000000000 000000000000ea60", &Ping{TTL: 60000}},
		{"request credits", 136, 10, "00000017 4f 000000000000000a 00008000 00000006 65002e006300",
			&Credits{Form: TypeRequestCredits, Credits: 32768, Address: "e.c"}},
		{"create producer", 136, 10, "00000018 ec 000000000000000a 00000001 01 00000006 65002e006300",
			&CreateProducer{ID: 1, Address: buf.Of("e.c")}},
		{"send", 136, 10, "00000042 47 000000000000000a" + emptyMessage + "ff 0000000000000001 00000001",
			&Send{Message: msg, RequiresResponse: true, CorrelationID: 1, SenderID: 1}},
		{"send 133", 133, 10, "0000003e 47 000000000000000a" + emptyMessage + "ff 0000000000000001",
			&Send{Message: msg, RequiresResponse: true, CorrelationID: 1}},
		{"send 129", 129, 10, "00000036 47 000000000000000a" + emptyMessage + "00", &Send{Message: msg}},
		{"send, version not told", 0, 10, "0000003e 47 000000000000000a" + emptyMessage + "00 0000000000000000", &Send{Message: msg}},
		{"null response", 136, 10, "00000011 15 000000000000000a 0000000000000001", &NullResponse{CorrelationID: 1}},
		{"null response 129", 129, 10, "00000009 15 000000000000000a", &NullResponse{CorrelationID: NoCorrelation}},
		{"null response, version not told", 0, 10, "00000011 15 000000000000000a ffffffffffffffff", &NullResponse{CorrelationID: NoCorrelation}},
		{"create queue", 136, 10, `00000037 f4 000000000000000a
			00000006 65002e006300 00000006 65002e006300 00
			ff 00 ff 00 01 ffffffff 00
			00 00 | 00 00 00 00 00 00 00 00 00 | 00 | 00 | 00 | 00`,
			&CreateQueueV2{CreateQueue: CreateQueue{Address: "e.c", Name: "e.c", Durable: true, RequiresResponse: true},
				RoutingType: RoutingAnycast, MaxConsumers: -1}},
		{"exception without correlation", 136, 10, "00000041 14 000000000000000a 00000064 01 0000002d 002d" +
			hex.EncodeToString([]byte("AMQ229017: Queue core.err.none does not exist")),
			&Exception{Code: QueueDoesNotExist, Message: buf.Of("AMQ229017: Queue core.err.none does not exist")}},
		{"exception with correlation", 136, 10, "00000016 14 000000000000000a 00000066 00 ffffffffffffffb3",
			&Exception{Code: ObjectClosed, CorrelationID: buf.Of(int64(-77))}},
		{"commit", 136, 10, "00000011 2b 000000000000000a fffffffffffffff9", &Commit{CorrelationID: buf.Of(int64(-7))}},
		{"commit not waited for", 136, 10, "00000009 2b 000000000000000a", &Commit{}},
		{"xa end", 136, 10, "00000019 34 000000000000000a 00000001 00000002 6271 00000001 67 ff",
			&XA{Op: TypeXAEnd, Xid: buf.Xid{FormatID: 1, Branch: "bq", Global: "g"}, Flag: true}},

		{"captured queue query answer", 136, 10, "000000b4f2000000000000000affff00000000000000000000000000010000000a780020003e0020003100010000001463006f00720065002e00" +
			"6100700069002e006100010000001463006f00720065002e006100700069002e007100ff00000100000001ffffff00ff0010000000ff00ff0000" +
			"0000ffffffffffffffffffffffff00000004ff00ff0000000000000000ff0000000000000000010000000a66006900720073007400ff00000000" +
			"00000064ffffff00ff00",
			&QueueQueryResponse{Form: TypeQueueQueryResponseV3, Exists: true, Durable: true, Filter: buf.Of("x > 1"), Address: buf.Of("core.api.a"),
				Name: buf.Of("core.api.q"), AutoCreateQueues: true, RoutingType: RoutingAnycast, MaxConsumers: 1,
				DefaultConsumerWindowSize: buf.Of(int32(1048576)), ConfigurationManaged: buf.Of(false),
				QueueAttributes: QueueAttributes{Exclusive: buf.Of(true), LastValue: buf.Of(false), NonDestructive: buf.Of(false),
					ConsumersBeforeDispatch: buf.Of(int32(0)), DelayBeforeDispatch: buf.Of(int64(-1)), GroupRebalance: buf.Of(true),
					GroupBuckets: buf.Of(int32(4)), AutoDelete: buf.Of(false), AutoDeleteDelay: buf.Of(int64(0)), AutoDeleteMessageCount: buf.Of(int64(0)),
					GroupFirstKey: buf.Of("first"), RingSize: buf.Of(int64(100)), Enabled: buf.Of(true), GroupRebalancePauseDispatch: buf.Of(false)}}},
		{"captured creation of a queue", 136, 10, "0000008cf4000000000000000a0000001463006f00720065002e006100700069002e0061000000001463" +
			"006f00720065002e006100700069002e007100010000000a780020003e0020003100ff00ff00010000000100ffffff000000ff00000000ffffff" +
			"ffffffffffffffffff00000004ff000000010000000a66006900720073007400ff0000000000000064ffff00",
			&CreateQueueV2{CreateQueue: CreateQueue{Address: "core.api.a", Name: "core.api.q", Filter: buf.Of("x > 1"), Durable: true, RequiresResponse: true},
				RoutingType: RoutingAnycast, MaxConsumers: 1,
				QueueAttributes: QueueAttributes{Exclusive: buf.Of(true), LastValue: buf.Of(false), ConsumersBeforeDispatch: buf.Of(int32(0)),
					DelayBeforeDispatch: buf.Of(int64(-1)), GroupRebalance: buf.Of(true), GroupBuckets: buf.Of(int32(4)), AutoDelete: buf.Of(false),
					GroupFirstKey: buf.Of("first"), RingSize: buf.Of(int64(100)), Enabled: buf.Of(true)}}},
		{"captured binding query answer", 136, 10, "0000002cea000000000000000a0000000000ffff00ffffffffff00ff0000ff00ff00000000ffffffffffffffffff0000",
			&BindingQueryResponse{Form: TypeBindingQueryResponseV5, AutoCreateQueues: true, AutoCreateAddresses: true, DefaultMaxConsumers: -1,
				DefaultExclusive: buf.Of(false), DefaultLastValue: buf.Of(false), DefaultNonDestructive: buf.Of(false),
				DefaultConsumersBeforeDispatch: buf.Of(int32(0)), DefaultDelayBeforeDispatch: buf.Of(int64(-1))}},
		{"captured session", 136, 1, "0000006bee000000000000000100000024002431396634623532342d656362312d313166312d623234642d303266633030303030303031" +
			"000000000000000b00000088010000000500610064006d0069006e010000000500610064006d0069006e0001900000ffffffffffff000000",
			&CreateSession{Form: TypeCreateSessionV2, Name: "19f4b524-ecb1-11f1-b24d-02fc00000001", ChannelID: 11, Version: 136, User: buf.Of("admin"),
				Password: buf.Of("admin"), MinLargeMessageSize: 102400, AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1}},
		{"captured topology", 136, 0, "000000dcef00000000000000000000000024002435633436336634362d656362312d313166312d386331612d303266633030303030303031" +
			"000001a22c37f5f1ff000000040063006f006e006e0000004a004a6f72672e6170616368652e6163746976656d712e617274656d69732e636f72" +
			"652e72656d6f74696e672e696d706c2e6e657474792e4e65747479436f6e6e6563746f72466163746f727900000002000000040070006f007200" +
			"74030000000500360032003600310037000000040068006f00730074030000000900093132372e302e302e3100ff000000000088",
			&ClusterTopology{Form: TypeClusterTopologyV4, NodeID: "5c463f46-ecb1-11f1-8c1a-02fc00000001", UniqueEventID: 1796038194673, Last: true, ServerVersion: 136,
				Primary: &TransportConfiguration{Name: "conn", Factory: NettyConnectorFactory, Params: []Param{{Key: "port", Value: "62617"}, {Key: "host", Value: "127.0.0.1"}}}}},

		{"disconnect", 121, 0, "00000012 0b 0000000000000000 01 00000004 6e003100", &Disconnect{Form: TypeDisconnect, NodeID: node}},
		{"disconnect v2", 128, 0, "00000013 7c 0000000000000000 01 00000004 6e003100 00", &Disconnect{Form: TypeDisconnectV2, NodeID: node}},
		{"disconnect v3 of a normal stop", 136, 0, "00000015 ed 0000000000000000 01 00000004 6e003100 02 00 00",
			&Disconnect{Form: TypeDisconnectV3, NodeID: node, Reason: ReasonScaleDown}},
		{"consumer kill", 136, 1, "0000000a 0d 0000000000000001 00", &DisconnectConsumerKill{NodeID: null}},
		{"create shared queue", 128, 10, "0000001c 24 000000000000000a 00000002 6100 00000002 7100 01 00000000 ff 00",
			&CreateSharedQueue{Address: "a", Name: "q", Filter: buf.Of(""), Durable: true}},
		{"xa failed", 136, 10, "00000015 27 000000000000000a 00000007 00000000 00000000", &XA{Op: TypeXAFailed, Xid: buf.Xid{FormatID: 7}}},
		{"expired", 136, 10, "00000019 2a 000000000000000a 0000000000000001 0000000000000002", &Expired{ConsumerID: 1, MessageID: 2}},
		{"add metadata", 136, 10, "00000015 68 000000000000000a 00000001 006b 00000001 0076",
			&AddMetadata{Form: TypeAddMetadata, Key: "k", Data: "v"}},
		{"topology v1", 121, 0, "00000015 6e 0000000000000000 00 00000002 006e0031 00 00 ff",
			&ClusterTopology{Form: TypeClusterTopology, NodeID: "n1", Last: true}},
		{"topology v3", 125, 0, "0000001f 7a 0000000000000000 00 00000002 006e0031 0000000000000005 00 00 ff 00 00",
			&ClusterTopology{Form: TypeClusterTopologyV3, NodeID: "n1", UniqueEventID: 5, Last: true}},
		{"topology of a node that left", 136, 0, "0000001b 72 0000000000000000 ff 00000002 006e0031 0000000000000005 00",
			&ClusterTopology{Form: TypeClusterTopologyV2, Exit: true, NodeID: "n1", UniqueEventID: 5}},
		{"subscribe topology", 121, 0, "0000000a 70 0000000000000000 ff", &SubscribeTopology{Form: TypeSubscribeTopology, ClusterConnection: true}},
		{"registration failed", 136, 3, "0000000d 74 0000000000000003 00000002", &BackupRegistrationFailed{Problem: BackupProblemAlreadyReplicating}},
		{"backup request", 136, 3, "0000001e 7f 0000000000000003 ffffffff 01 00000001 006a 00 00 00 01 00000002 6e00",
			&BackupRequest{BackupSize: -1, JournalDirectory: buf.Of("j"), NodeID: buf.Of("n")}},
		{"backup request response", 136, 3, "0000000a ff 0000000000000003 ff", &BackupRequestResponse{BackupStarted: true}},

		{"append before 2.18: an update", 130, 2, "0000001b 5b 0000000000000002 01 ff 0000000000000009 20 00000003 616263",
			&ReplicationAppend{Journal: JournalMessages, Operation: RecordUpdate, ID: 9, RecordType: 32, Record: []byte("abc")}},
		{"append before 2.18: an add", 130, 2, "0000001b 5b 0000000000000002 01 00 0000000000000009 20 00000003 616263",
			&ReplicationAppend{Journal: JournalMessages, Operation: RecordAdd, ID: 9, RecordType: 32, Record: []byte("abc")}},
		{"append: an add", 131, 2, "0000001b 5b 0000000000000002 01 01 0000000000000009 20 00000003 616263",
			&ReplicationAppend{Journal: JournalMessages, Operation: RecordAdd, ID: 9, RecordType: 32, Record: []byte("abc")}},
		{"page event with short page number", 132, 2, "00000014 62 0000000000000002 00000002 7300 00000007 ff",
			&ReplicationPageEvent{StoreName: "s", Page: 7, IsDelete: true}},
		{"page write with short page number", 132, 2, "00000010 61 0000000000000002 00000007 616263",
			&ReplicationPageWrite{Page: 7, Message: []byte("abc")}},
		{"page write, AMQP message", 133, 2, "00000057 61 0000000000000002 0000000000000007" +
			"ffffffffffffffff 00  05 0000000000000001 0000000000000000 01 00000002 6100 00000002 5370 00000000 0000000000000000" +
			"00000001 0000000000000002  01 00000002 6100",
			&ReplicationPageWrite{Page: 7, Message: unhex(t, "ffffffffffffffff 00  05 0000000000000001 0000000000000000 01 00000002 6100 00000002 5370 00000000 0000000000000000 00000001 0000000000000002"),
				Address: buf.Of("a")}},
		{"page write, large AMQP message", 133, 2, "0000007b 61 0000000000000002 0000000000000007" + pagedLargeAMQP + "00",
			&ReplicationPageWrite{Page: 7, Message: unhex(t, pagedLargeAMQP)}},
		{"end of a list of files", 136, 2, "00000011 67 0000000000000002 ffffffffffffffff", &ReplicationSyncFile{FileID: -1}},
		{"end of synchronisation before 2.18", 130, 2, "0000000f 78 0000000000000002 ff 00 00000000",
			&ReplicationStartFinishSync{Finished: true}},
		{"transport with every type", 136, 3, `0000005f 73 0000000000000003 00000001 0075 00000001 0070 00 00000001 0063 00000001 0066
			00000004 00000001 0061 00 ff  00000001 0062 01 00000007  00000001 0063 02 0000000000000008
			00000006 0024002e00450050002e0064 03 00000001 0076`,
			&BackupRegistration{User: "u", Password: "p", Connector: TransportConfiguration{Name: "c", Factory: "f", Params: []Param{
				{Key: "a", Value: true}, {Key: "b", Value: int32(7)}, {Key: "c", Value: int64(8)}, {Key: "d", Value: "v", Extra: true}}}}},
	}
}

// pagedLargeAMQP is a paged message of persister 4 with a header and a properties section.
const pagedLargeAMQP = "ffffffffffffffff 02  04 0000000000000001 ff 0000000000000000 01 00000002 6100 00000000" +
	"00000000 00000009 005370c00301 4141 ffffffff 00000000 ffffffff 40 00000009 00537345 ffffffff 00000010 40 0000000000000000 00" +
	"00000001 0000000000000002"

func TestPacketTable(t *testing.T) {
	for _, row := range packetTable(t) {
		t.Run(row.name, func(t *testing.T) {
			raw := unhex(t, row.frame)
			if got := Append(nil, row.channel, row.packet, row.version); !bytes.Equal(got, raw) {
				t.Errorf("Append\n got %x\nwant %x", got, raw)
			}
			f, rest, need, err := Split(raw, 1<<20)
			if err != nil || need != 0 || len(rest) != 0 {
				t.Fatalf("Split: need %d, %d left, %v", need, len(rest), err)
			}
			if f.Channel != row.channel || f.Type != row.packet.Type() {
				t.Errorf("channel %d, type %v", f.Channel, f.Type)
			}
			p, err := Decode(f.Type, f.Payload, row.version)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(p, row.packet) {
				t.Errorf("Decode\n got %+v\nwant %+v", p, row.packet)
			}
		})
	}
}

// TestFormByVersion: a packet without a Form goes out in the form the version calls for.
func TestFormByVersion(t *testing.T) {
	for _, c := range []struct {
		version                              Version
		queue, binding, topology, disconnect Type
		nullResponse                         int
	}{ // core-protocol 2.1
		{121, 46, 50, 110, 11, 13},
		{122, 46, 50, 114, 11, 13},
		{124, 46, 50, 114, 11, 13},
		{125, 46, 50, 122, 124, 13},
		{126, -7, -8, 122, 124, 13},
		{127, -7, -10, 122, 124, 13},
		{128, -7, -10, 122, 124, 13},
		{129, -14, -15, 122, 124, 13},
		{130, -14, -15, 122, 124, 21},
		{131, -14, -15, -17, -19, 21},
		{134, -14, -15, -17, -19, 21},
		{135, -14, -22, -17, -19, 21},
		{136, -14, -22, -17, -19, 21},
		{0, -14, -15, 110, 11, 21},
	} {
		for _, q := range []struct {
			p    Packet
			want Type
		}{
			{&QueueQueryResponse{}, c.queue}, {&BindingQueryResponse{}, c.binding},
			{&ClusterTopology{}, c.topology}, {&Disconnect{}, c.disconnect},
		} {
			raw := Append(nil, 10, q.p, c.version)
			if got := Type(raw[4]); got != q.want {
				t.Errorf("version %d: %T goes out as %v, want %v", c.version, q.p, got, q.want)
			}
			if _, err := Decode(q.want, raw[HeaderSize:], c.version); err != nil {
				t.Errorf("version %d: %v", c.version, err)
			}
		}
		if got := len(Append(nil, 10, &NullResponse{}, c.version)); got != c.nullResponse {
			t.Errorf("version %d: null response of %d bytes, want %d", c.version, got, c.nullResponse)
		}
	}
}

func TestVersionPredicates(t *testing.T) {
	type row struct{ addressChange, async, priority, clientID, commit, long, eighteen, metrics bool }
	for v, want := range map[Version]row{ // core-protocol 2.1
		0:   {false, false, false, false, false, false, true, true},
		128: {true, true, false, false, false, false, true, true},
		129: {false, true, false, false, false, false, true, true},
		130: {false, false, true, false, false, false, true, true},
		131: {false, false, true, true, false, false, false, true},
		132: {false, false, true, true, true, false, false, true},
		133: {false, false, true, true, true, true, false, true},
		134: {false, false, true, true, true, true, false, false},
	} {
		got := row{v.BeforeAddressChange(), v.BeforeAsyncResponseChange(), v.ConsumerPriority(), v.ClientID(),
			v.CommitV2(), v.LongPageNumbers(), v.BeforeTwoEighteen(), v.BeforeProducerMetrics()}
		if got != want {
			t.Errorf("version %d: %+v, want %+v", v, got, want)
		}
	}
	for v, want := range map[Version]bool{0: false, 120: false, 121: true, 136: true, 137: false} {
		if v.Compatible() != want {
			t.Errorf("version %d compatible: %v", v, !want)
		}
	}
}

func TestCounted(t *testing.T) {
	// core-protocol 4.5: packets that never count
	never := []Type{10, 11, 124, -19, 22, 30, -18, 31, 32, 33, 104}
	for i := range 256 {
		typ := Type(int8(i))
		if typ == TypeAddMetadata2 || typ == TypeUniqueAddMetadata || !typ.Known() {
			continue
		}
		want := true
		for _, n := range never {
			want = want && n != typ
		}
		if Counted(typ, nil) != want {
			t.Errorf("%v counted: %v, want %v", typ, !want, want)
		}
	}
	for _, form := range []Type{TypeAddMetadata2, TypeUniqueAddMetadata} {
		for _, want := range []bool{true, false} {
			raw := Append(nil, 10, &AddMetadata{Form: form, Key: "k", RequiresConfirmation: want}, 136)
			if Counted(form, raw[HeaderSize:]) != want {
				t.Errorf("%v with %v counted: %v", form, want, !want)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	ping := unhex(t, "00000011 0a 0000000000000000 000000000000ea60")
	two := append(append([]byte{}, ping...), ping...)
	for _, c := range []struct {
		name string
		in   []byte
		max  int
		need int
		rest int
		err  bool
	}{
		{"nothing", nil, 100, HeaderSize, 0, false},
		{"no length", ping[:3], 100, HeaderSize, 3, false},
		{"part", ping[:20], 100, 21, 20, false},
		{"whole", ping, 21, 0, 0, false},
		{"two", two, 21, 0, 21, false},
		{"over the limit", ping, 20, 0, 21, true},
		{"length 8", unhex(t, "00000008 0a 00000000000000"), 100, 0, 12, true},
		{"length negative", unhex(t, "ffffffff 0a"), 100, 0, 5, true},
		{"length of garbage", []byte("GET / HTTP/1.1\r\n"), 1 << 20, 0, 16, true},
	} {
		_, rest, need, err := Split(c.in, c.max)
		if need != c.need || len(rest) != c.rest || (err != nil) != c.err || (err != nil && !errors.Is(err, ErrFrameLength)) {
			t.Errorf("%s: need %d, rest %d, err %v", c.name, need, len(rest), err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		typ     Type
		payload string
		want    error
	}{
		{"unknown type", 102, "", ErrUnknownPacket},
		{"type 0", 0, "", ErrUnknownPacket},
		{"short", TypePing, "00", buf.ErrShort},
		{"bytes left over", TypeStart, "00", buf.ErrMalformed},
		{"four-byte UTF-8", TypeCheckForFailover, "01 00000009 0004 f09f9880", buf.ErrMalformed},
		{"send of nothing", TypeSend, "00 0000000000000000 00000000", buf.ErrMalformed},
		{"send shorter than its tail", TypeSend, "00", buf.ErrShort},
		{"body before the message", TypeSend, "00000000 00 00 0000000000000000 00000000", buf.ErrMalformed},
		{"body over the end", TypeSend, "000000ff 00 00 0000000000000000 00000000", buf.ErrMalformed},
		{"no headers", TypeSend, "0000000d 00 0000000000000000 00000000", buf.ErrMalformed},
		{"chunk over the end", TypeSendContinuation, "00000005 00 00 0000000000000000 00000000", buf.ErrMalformed},
		{"chunk without tail", TypeSendContinuation, "00000001 aa ff", buf.ErrShort},
		{"many routing types", TypeCreateAddress, "00000002 6100 7fffffff 00 00", buf.ErrMalformed},
		{"many queue names", TypeBindingQueryResponse, "ff 7fffffff 00000000", buf.ErrMalformed},
		{"many xids", TypeXAInDoubtXidsResponse, "7fffffff 000000000000000000000000", buf.ErrMalformed},
		{"transport parameter type 4", TypeBackupRegistration, "00000000 00000000 00 00000000 00000000 00000001 00000001 0061 04 00", buf.ErrMalformed},
		{"unknown persister", TypeReplicationPageWrite, "0000000000000007 ffffffffffffffff 00 09", buf.ErrMalformed},
		{"AMQP descriptors without end", TypeReplicationPageWrite, "0000000000000007 ffffffffffffffff 02 04 0000000000000001 00 0000000000000000 00 00000000 00000000 00000000" +
			strings.Repeat("00", 64), buf.ErrMalformed},
		{"unknown federation policy", TypeFederationDownstreamConnect, "00000001 0061 00 00000001 00000001 0078 0000000000000000", buf.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			payload := unhex(t, c.payload)
			_, err := Decode(c.typ, payload, 136)
			if err == nil {
				t.Fatal("decoded")
			}
			if c.name == "chunk over the end" { // either is right: the chunk swallows the tail
				return
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

func TestError(t *testing.T) {
	e := (&Exception{Code: AddressFull, Message: buf.Of("AMQ229102: Address \"a\" is full.")}).Err()
	if !errors.Is(e, AddressFull) || errors.Is(e, IllegalState) || e.Error() != `ADDRESS_FULL: AMQ229102: Address "a" is full.` {
		t.Errorf("%v", e)
	}
	if s := Code(205).String(); s != "NATIVE_ERROR 205" {
		t.Error(s)
	}
	if s := Code(777).String(); s != "error code 777" {
		t.Error(s)
	}
}

// TestHotPacketsDoNotAllocate holds the packets sent for every message.
func TestHotPacketsDoNotAllocate(t *testing.T) {
	msg := unhex(t, emptyMessage)
	address := buf.AppendSSUnits(nil, "e.c")
	dst := make([]byte, 0, 1024)
	var sink int
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"send", func() {
			p := Send{Message: msg, CorrelationID: 1}
			dst = p.Append(dst[:0], 10, 136)
			f, _, _, _ := Split(dst, 1<<20)
			if err := p.Decode(f.Payload, 136); err != nil {
				t.Fatal(err)
			}
			sink += len(p.Message)
		}},
		{"continuation", func() {
			p := SendContinuation{Body: msg}
			dst = p.Append(dst[:0], 10, 136)
			if err := p.Decode(dst[HeaderSize:], 136); err != nil {
				t.Fatal(err)
			}
		}},
		{"receive", func() {
			dst = AppendReceiveHeader(dst[:0], 10, len(msg))
			dst = AppendReceiveTail(append(dst, msg...), 3, 1)
			var p Receive
			if err := p.Decode(dst[HeaderSize:], 136); err != nil || p.ConsumerID != 3 || len(dst) != ReceiveFrameSize(len(msg)) {
				t.Fatal(err)
			}
		}},
		{"receive large", func() {
			p := ReceiveLarge{Headers: msg, ConsumerID: 3}
			dst = p.Append(dst[:0], 10)
			if err := p.Decode(dst[HeaderSize:]); err != nil {
				t.Fatal(err)
			}
			dst = AppendReceiveContinuationHeader(dst[:0], 10, len(msg))
			dst = AppendReceiveContinuationTail(append(dst, msg...), true, 3)
			var q ReceiveContinuation
			if err := q.Decode(dst[HeaderSize:]); err != nil || len(dst) != ReceiveContinuationFrameSize(len(msg)) || !q.Continues {
				t.Fatal(err)
			}
		}},
		{"acknowledge", func() {
			p := Acknowledge{ConsumerID: 1, MessageID: 2}
			dst = p.Append(dst[:0], 10)
			if err := p.Decode(dst[HeaderSize:]); err != nil {
				t.Fatal(err)
			}
		}},
		{"flow token", func() {
			p := FlowToken{ConsumerID: 1, Credits: 2}
			dst = p.Append(dst[:0], 10)
			if err := p.Decode(dst[HeaderSize:]); err != nil {
				t.Fatal(err)
			}
		}},
		{"responses", func() {
			n := NullResponse{CorrelationID: 4}
			dst = n.Append(dst[:0], 10, 136)
			if err := n.Decode(dst[HeaderSize:], 136); err != nil {
				t.Fatal(err)
			}
			c := PacketsConfirmed{CommandID: 4}
			dst = c.Append(dst[:0], 10)
			if err := c.Decode(dst[HeaderSize:]); err != nil {
				t.Fatal(err)
			}
		}},
		{"commit", func() {
			p := Commit{CorrelationID: buf.Of(int64(-2))}
			dst = p.Append(dst[:0], 10)
			if err := p.Decode(dst[HeaderSize:]); err != nil {
				t.Fatal(err)
			}
		}},
		{"credits", func() {
			dst = AppendCredits(dst[:0], TypeCredits, 10, 32768, address)
			n, a, err := DecodeCredits(dst[HeaderSize:])
			if err != nil || n != 32768 || !buf.EqualSS(a, "e.c") {
				t.Fatal(err)
			}
		}},
	} {
		if n := testing.AllocsPerRun(100, c.run); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

// TestHotFormsAgree: the dedicated functions write what Append writes.
func TestHotFormsAgree(t *testing.T) {
	msg := unhex(t, emptyMessage)
	rapid.Check(t, func(t *rapid.T) {
		v := Version(rapid.SampledFrom([]int{0, 121, 128, 129, 130, 133, 134, 136}).Draw(t, "version"))
		n := rapid.Int64().Draw(t, "n")
		flag := rapid.Bool().Draw(t, "flag")
		for _, c := range []struct {
			p   Packet
			hot []byte
		}{
			{&Send{Message: msg, RequiresResponse: flag, CorrelationID: n, SenderID: 3},
				(&Send{Message: msg, RequiresResponse: flag, CorrelationID: n, SenderID: 3}).Append(nil, 10, v)},
			{&Send{Message: msg, RequiresResponse: flag, CorrelationID: n, SenderID: 3},
				AppendSendTail(append(AppendSendHeader(nil, 10, len(msg), v), msg...), flag, n, 3, v)},
			{&Receive{Message: msg, ConsumerID: n, DeliveryCount: 2}, (&Receive{Message: msg, ConsumerID: n, DeliveryCount: 2}).Append(nil, 10)},
			{&SendContinuation{Body: msg, Continues: flag, CorrelationID: n}, (&SendContinuation{Body: msg, Continues: flag, CorrelationID: n}).Append(nil, 10, v)},
			{&ReceiveLarge{ConsumerID: n, Headers: msg, Size: n}, (&ReceiveLarge{ConsumerID: n, Headers: msg, Size: n}).Append(nil, 10)},
			{&ReceiveContinuation{ConsumerID: n, Body: msg, Continues: flag}, (&ReceiveContinuation{ConsumerID: n, Body: msg, Continues: flag}).Append(nil, 10)},
			{&Acknowledge{MessageID: n, RequiresResponse: flag, Individual: flag}, (&Acknowledge{MessageID: n, RequiresResponse: flag, Individual: flag}).Append(nil, 10)},
			{&FlowToken{ConsumerID: n, Credits: 1}, (&FlowToken{ConsumerID: n, Credits: 1}).Append(nil, 10)},
			{&NullResponse{CorrelationID: n}, (&NullResponse{CorrelationID: n}).Append(nil, 10, v)},
			{&PacketsConfirmed{CommandID: int32(n)}, (&PacketsConfirmed{CommandID: int32(n)}).Append(nil, 10)},
			{&Commit{CorrelationID: buf.Of(n)}, (&Commit{CorrelationID: buf.Of(n)}).Append(nil, 10)},
			{&Credits{Form: TypeCredits, Credits: 5, Address: "é"}, AppendCredits(nil, TypeCredits, 10, 5, buf.AppendSSUnits(nil, "é"))},
		} {
			if want := Append(nil, 10, c.p, v); !bytes.Equal(c.hot, want) {
				t.Fatalf("%T at version %d\n got %x\nwant %x", c.p, v, c.hot, want)
			}
		}
	})
}

func BenchmarkSend(b *testing.B) {
	msg := append(unhex(b, "0000040d"), make([]byte, 1024)...)
	msg = append(msg, unhex(b, emptyMessage)[4:]...)
	frame := (&Send{Message: msg, RequiresResponse: true, CorrelationID: 1, SenderID: 1}).Append(nil, 10, 136)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		f, _, _, err := Split(frame, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		var p Send
		if err := p.Decode(f.Payload, 136); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzDecode: no payload makes a decoder panic; what decodes is encoded to
// bytes that decode to the same packet.
func FuzzDecode(f *testing.F) {
	for _, row := range packetTable(f) {
		raw := unhex(f, row.frame)
		f.Add(raw[4:5][0], int32(row.version), raw[HeaderSize:])
	}
	seen := map[Type]int{}
	for _, path := range captureFiles(f) {
		for _, c := range readCapture(f, path) {
			if seen[c.frame.Type]++; seen[c.frame.Type] <= 3 && len(c.frame.Payload) < 4096 {
				f.Add(uint8(c.frame.Type), int32(c.version), c.frame.Payload)
			}
		}
	}
	f.Fuzz(func(t *testing.T, typ uint8, version int32, payload []byte) {
		v := Version(version)
		p, err := Decode(Type(typ), payload, v)
		var hot Packet
		var hotErr error
		switch Type(typ) {
		case TypeSend:
			s := new(Send)
			hot, hotErr = s, s.Decode(payload, v)
		case TypeReceive:
			r := new(Receive)
			hot, hotErr = r, r.Decode(payload, v)
		}
		if hot != nil && ((err == nil) != (hotErr == nil) || err == nil && !reflect.DeepEqual(p, hot)) {
			t.Fatalf("Decode gives %+v, %v; the type's own %+v, %v", p, err, hot, hotErr)
		}
		if err != nil {
			return
		}
		again := Append(nil, 10, p, v)
		q, err := Decode(p.Type(), again[HeaderSize:], v)
		if err != nil {
			t.Fatalf("%T decodes, its encoding does not: %v\n%x\n%x", p, err, payload, again)
		}
		if third := Append(nil, 10, q, v); !bytes.Equal(third, again) {
			t.Fatalf("%T\n%x\n%x", p, again, third)
		}
	})
}

// FuzzSplit: frames come off a stream whole, whatever is in it.
func FuzzSplit(f *testing.F) {
	f.Add(unhex(f, "00000011 0a 0000000000000000 000000000000ea60 00000009 43 000000000000000a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			frame, rest, need, err := Split(b, 1<<16)
			if err != nil {
				return
			}
			if need > 0 {
				if need <= len(b) {
					t.Fatalf("need %d with %d there", need, len(b))
				}
				return
			}
			if len(frame.Raw)+len(rest) != len(b) || len(frame.Payload) != len(frame.Raw)-HeaderSize {
				t.Fatalf("frame of %d, rest %d, of %d", len(frame.Raw), len(rest), len(b))
			}
			b = rest
		}
	})
}
