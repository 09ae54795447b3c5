package print

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/bindings"
	"github.com/saranga-mq/saranga/journal/paging"
	"github.com/saranga-mq/saranga/wire/buf"
)

// unknown is what stands for a payload that has no description.
const unknown = "** null **"

// describe is the text of a record's payload. One that cannot be read says so.
func (p *printer) describe(r *journal.Record) string {
	in := buf.NewReader(r.Payload)
	s := p.text(r, &in)
	if in.Err() != nil {
		return fmt.Sprintf("** damaged: %v **", in.Err())
	}
	return s
}

func (p *printer) text(r *journal.Record, in *buf.Reader) string {
	if r.Kind == journal.DeleteTx {
		return unknown
	}
	switch r.UserType {
	case 30, 45:
		return p.message(r)
	case 32:
		return fmt.Sprintf("AddRef;QueueEncoding [queueID=%d]", in.Int64())
	case 33:
		return fmt.Sprintf("ACK;QueueEncoding [queueID=%d]", in.Int64())
	case 34:
		return fmt.Sprintf("DeliveryCountUpdateEncoding [queueID=%d, count=%d]", in.Int64(), in.Int32())
	case 36:
		queue, at := in.Int64(), in.Int64()
		return fmt.Sprintf("ScheduledDeliveryEncoding [scheduledDeliveryTime=%d, queueID=%d]", at, queue)
	case 37:
		return fmt.Sprintf("DuplicateIDEncoding [address=%s, duplID=%s]", in.SS(), grouped(in.Block()))
	case 38:
		n := len(r.Payload) - 1
		in.Skip(n)
		return fmt.Sprintf("HeuristicCompletionEncoding [xid=%s, isCommit=%t]", xidText(r.Payload[:max(n, 0)]), in.Bool())
	case 29:
		return fmt.Sprintf("PendingLargeMessageEncoding::MessageID=%d", in.Int64())
	case paging.TypePageTransaction:
		return fmt.Sprintf("PageTransactionInfoImpl(transactionID=%d,id=%d,numberOfMessages=%d)", in.Int64(), r.ID, in.Int32())
	case paging.TypeCursorAck:
		return fmt.Sprintf("CursorAckRecordEncoding [queueID=%d, position=%s]", in.Int64(), position(in))
	case paging.TypePageComplete:
		return fmt.Sprintf("PGComplete [queueID=%d, position=%s]", in.Int64(), position(in))
	case paging.TypeCounter:
		return fmt.Sprintf("PageCountRecord [queueID=%d, value=%d, persistentSize=%d]", in.Int64(), in.Int64(), optionalLong(in))
	case paging.TypeCounterDelta:
		return fmt.Sprintf("PageCountRecordInc [queueID=%d, value=%d, persistentSize=%d]", in.Int64(), in.Int32(), optionalLong(in))
	case paging.TypePendingCounter:
		return fmt.Sprintf("PageCountPendingImpl [queueID=%d, pageID=%d]", in.Int64(), in.Int64())
	case 53:
		return ackRetry(in)
	case bindings.TypeIDCounter:
		return fmt.Sprintf("IDCounterEncoding [id=%d]", in.Int64())
	case bindings.TypeQueue:
		return queueText(r)
	case bindings.TypeAddress:
		return addressText(r)
	case bindings.TypeQueueStatus:
		return fmt.Sprintf("QueueStatusEncoding [id=%d, queueID=%d, status=%s]", r.ID, in.Int64(), status(in.Int16()))
	case bindings.TypeAddressStatus:
		id, s := in.Int64(), in.Int16()
		return fmt.Sprintf("AddressStatusEncoding{status=%s, id=%d}", status(s), id)
	case bindings.TypeGroup:
		return fmt.Sprintf("GroupingEncoding [id=%d, groupId=%s, clusterName=%s]", r.ID, in.SS(), in.SS())
	case bindings.TypeBridge:
		return bridgeText(r)
	case bindings.TypeAddressSetting, bindings.TypeSecurity, bindings.TypeUser, bindings.TypeRole, bindings.TypeDivert:
		return configText(r)
	}
	return unknown
}

func position(in *buf.Reader) string {
	return fmt.Sprintf("PagePositionImpl [pageNr=%d, messageNr=%d, recordID=-1]", in.Int64(), in.Int32())
}

func optionalLong(in *buf.Reader) int64 {
	if in.Len() == 0 {
		return 0
	}
	return in.Int64()
}

func status(s int16) string {
	if s == 0 {
		return "PAUSED"
	}
	return "RUNNING"
}

func ackRetry(in *buf.Reader) string {
	id := in.Int64()
	in.Skip(1)
	queue := in.Int64()
	node := "'null'"
	if b := in.Block(); len(b) > 0 {
		node = "'" + string(b) + "'"
	}
	messageID, reason := in.Int64(), in.Int8()
	names := []string{"NORMAL", "KILLED", "EXPIRED", "REPLACED"}
	name := fmt.Sprint(reason)
	if reason >= 0 && int(reason) < len(names) {
		name = names[reason]
	}
	text := fmt.Sprintf("AckRetry{nodeID=%s, messageID=%d, reason=%s, pageAttempts=0, queueAttempts=0}", node, messageID, name)
	return fmt.Sprintf("MapRecord{collectionID=%d, id=%d, key=%s, value=%s}", queue, id, text, text)
}

// grouped is bytes in upper-case hex, two to a group.
func grouped(b []byte) string {
	s := strings.ToUpper(hex.EncodeToString(b))
	var groups []string
	for len(s) > 4 {
		groups, s = append(groups, s[:4]), s[4:]
	}
	return strings.Join(append(groups, s), " ")
}

// xidText is an encoded xid.
func xidText(b []byte) string {
	in := buf.NewReader(b)
	x := in.Xid()
	if in.Err() != nil {
		return fmt.Sprintf("** damaged: %v **", in.Err())
	}
	dotted := func(s string) string {
		var parts []string
		for _, c := range []byte(s) {
			parts = append(parts, fmt.Sprint(int8(c)))
		}
		return strings.Join(parts, ".")
	}
	key := binary.LittleEndian.AppendUint32([]byte(x.Branch+x.Global), uint32(x.FormatID))
	return fmt.Sprintf("XidImpl (%d bq:%s formatID:%d gtxid:%s base64:%s", len(key), dotted(x.Branch), x.FormatID, dotted(x.Global), base64.StdEncoding.EncodeToString(key))
}

// javaDate is java.util.Date's text.
func (p *printer) javaDate(ms int64) string {
	return time.UnixMilli(ms).In(p.o.Location).Format("Mon Jan 02 15:04:05 MST 2006")
}

func (p *printer) message(r *journal.Record) string {
	m, err := p.pool.FromRecord(r.UserType, r.Payload)
	if err != nil {
		return fmt.Sprintf("** damaged: %v **", err)
	}
	defer m.Release()
	kind := "Message"
	if m.IsLarge() {
		kind = "LargeMessage"
	}
	user := ""
	if id := userID(m); id != "" {
		user = "userMessageID=" + id + ";"
	}
	return fmt.Sprintf("%s(messageID=%d;%smsg=%s", kind, r.ID, user, p.messageText(m))
}

func userID(m *message.Message) string {
	if b := m.UserID(); b != nil && m.Encoding() == message.Core {
		h := hex.EncodeToString(b)
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	return ""
}

func (p *printer) messageText(m *message.Message) string {
	if m.Encoding() != message.Core {
		class, size := "AMQPStandardMessage", m.Size()
		if m.IsLarge() {
			class, size = "AMQPLargeMessage", 0
		}
		return fmt.Sprintf("%s( [durable=%t, messageID=%d, address=%s, size=%d]", class, m.IsDurable(), m.ID(), m.Address(), size)
	}
	id := userID(m)
	if id == "" {
		id = "null"
	}
	expiration := "0"
	if m.Expiration() > 0 {
		expiration = p.javaDate(m.Expiration())
	}
	if m.IsLarge() {
		return fmt.Sprintf("LargeServerMessage[messageID=%d,durable=%t,userID=%s,priority=%d, timestamp=%s,expiration=%s, durable=%t, address=%s, properties=%s]@%d",
			m.ID(), m.IsDurable(), id, m.Priority(), p.javaDate(m.Timestamp()), expiration, m.IsDurable(), m.Address(), properties(m), m.ID())
	}
	return fmt.Sprintf("CoreMessage[messageID=%d, durable=%t, userID=%s, priority=%d, timestamp=%s, expiration=%s, durable=%t, address=%s, size=%d, properties=%s]@%d",
		m.ID(), m.IsDurable(), id, m.Priority(), p.javaDate(m.Timestamp()), expiration, m.IsDurable(), m.Address(), m.Size(), properties(m), m.ID())
}

// pagedMessage is a message in a page, and its user id.
func (p *printer) pagedMessage(pm *paging.Message) (text, user string) {
	m, err := p.pool.FromRecord(pm.RecordType, pm.Record)
	if err != nil {
		return fmt.Sprintf("** damaged: %v **", err), ""
	}
	defer m.Release()
	if m.IsLarge() && m.Encoding() == message.Core {
		return fmt.Sprintf("NullStorageLargeServerMessage[messageID=%d, durable=%t, address=%s,properties=%s]", m.ID(), m.IsDurable(), m.Address(), properties(m)), userID(m)
	}
	return p.messageText(m), userID(m)
}

func properties(m *message.Message) string {
	var out []string
	props := m.Properties()
	for k, v, ok := props.Next(); ok; k, v, ok = props.Next() {
		text := ""
		switch v.Type {
		case buf.TypeNull:
			text = "NULL-value"
		case buf.TypeBytes:
			text = "[" + grouped(v.Bytes()) + "]"
		case buf.TypeChar:
			c, _ := v.Char()
			text = string(rune(c))
		default:
			text = fmt.Sprint(v.Any())
		}
		out = append(out, buf.StringFromSS(k)+"="+text)
	}
	return "TypedProperties[" + strings.Join(out, ", ") + "]"
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func queueText(r *journal.Record) string {
	q, err := bindings.ReadQueue(r.ID, r.Payload)
	if err != nil {
		return fmt.Sprintf("** damaged: %v **", err)
	}
	return fmt.Sprintf("PersistentQueueBindingEncoding [queueConfiguration=QueueConfiguration [id=%d, name=%s, address=%s, routingType=%s, filterString=%s, durable=null, "+
		"user=%s, maxConsumers=%d, exclusive=%t, groupRebalance=%t, groupRebalancePauseDispatch=%t, groupBuckets=%d, groupFirstKey=%s, lastValue=%t, lastValueKey=%s, "+
		"nonDestructive=%t, purgeOnNoConsumers=%t, enabled=%t, consumersBeforeDispatch=%d, delayBeforeDispatch=%d, consumerPriority=null, autoDelete=%t, autoDeleteDelay=%d, "+
		"autoDeleteMessageCount=%d, ringSize=%d, configurationManaged=%t, temporary=null, autoCreateAddress=null, internal=%t, transient=null, autoCreated=%t, fqqn=null]]",
		q.ID, q.Name, q.Address, q.Routing, orNull(q.Filter), orNull(q.User), q.MaxConsumers, q.Exclusive, q.GroupRebalance, q.GroupRebalancePauseDisp, q.GroupBuckets,
		orNull(q.GroupFirstKey), q.LastValue, orNull(q.LastValueKey), q.NonDestructive, q.PurgeOnNoConsumers, q.Enabled, q.ConsumersBeforeDispatch, q.DelayBeforeDispatch,
		q.AutoDelete, q.AutoDeleteDelay, q.AutoDeleteMessageCount, q.RingSize, q.ConfigurationManaged, q.Internal, q.AutoCreated)
}

func addressText(r *journal.Record) string {
	a, err := bindings.ReadAddress(r.ID, r.Payload)
	if err != nil {
		return fmt.Sprintf("** damaged: %v **", err)
	}
	var types []string
	for _, t := range a.RoutingTypes.List() {
		types = append(types, t.String())
	}
	return fmt.Sprintf("PersistentAddressBindingEncoding [id=%d, name=%s, routingTypes={%s}, autoCreated=%t, internal=%t]", a.ID, a.Name, strings.Join(types, ","), a.AutoCreated, a.Internal)
}

var permissions = []string{"send", "consume", "createDurableQueue", "deleteDurableQueue", "createNonDurableQueue", "deleteNonDurableQueue", "manage", "browse",
	"createAddress", "deleteAddress", "view", "edit"}

func configText(r *journal.Record) string {
	c, _, err := bindings.ReadConfig(r.UserType, r.Payload)
	if err != nil {
		return fmt.Sprintf("** damaged: %v **", err)
	}
	switch c.Kind {
	case broker.AddressSettingConfig:
		return fmt.Sprintf("PersistedAddressSettingJSON{jsonSetting=%s, storeId=%d, addressMatch=%s}", c.JSON, r.ID, c.Key)
	case broker.SecuritySettingConfig:
		s := fmt.Sprintf("PersistedSecuritySetting [storeId=%d, addressMatch=%s", r.ID, c.Key)
		for i, name := range permissions {
			roles := "null"
			if i < len(c.Roles) {
				roles = c.Roles[i]
			}
			s += fmt.Sprintf(", %sRoles=%s", name, roles)
		}
		return s + "]"
	case broker.UserConfig:
		return fmt.Sprintf("PersistedUser [storeId=%d, username=%s, password=****]", r.ID, c.Key)
	case broker.RoleConfig:
		return fmt.Sprintf("PersistedRole [storeId=%d, username=%s, roles [%s]]", r.ID, c.Key, strings.Join(c.Roles, ", "))
	default:
		d := c.Divert
		routing := fmt.Sprint(d.RoutingType)
		if n := int(d.RoutingType); n >= 0 && n < 4 {
			routing = []string{"MULTICAST", "ANYCAST", "STRIP", "PASS"}[n]
		}
		return fmt.Sprintf("PersistedDivertConfiguration{storeId=0, divertConfiguration=DivertConfiguration [name=%s, routingName=%s, address=%s, forwardingAddress=%s, "+
			"exclusive=%t, filterString=%s, routing-type=%s, transformerConfiguration=%s]}", d.Name, d.RoutingName, d.Address, d.ForwardAddress, d.Exclusive, orNull(d.Filter), routing, orNull(d.TransformerClass))
	}
}

func bridgeText(r *journal.Record) string {
	b, err := bindings.ReadBridge(r.Payload)
	if err != nil {
		return fmt.Sprintf("** damaged: %v **", err)
	}
	return fmt.Sprintf("PersistedBridgeConfiguration{storeId=0, bridgeConfiguration=[name=%s, queueName=%s, forwardingAddress=%s, filterString=%s, staticConnectors=%v]}",
		b.Name, b.QueueName, orNull(b.ForwardingAddress), orNull(b.Filter), b.StaticConnectors)
}
