// Package bindings encodes what the bindings journal holds, and generates ids.
//
// The bindings journal is a journal of its own (prefix activemq-bindings, extension bindings, files of 1 MiB, always
// NIO). Its records are plain adds of the user types below, with the exception of queue and address bindings, which are
// added, updated and deleted in journal transactions and whose record id is the id of the queue or address.
//
// Strings are of the two kinds of package buf: SS (SimpleString) in bindings, statuses, groups and settings, STR in
// users, roles, key-values, connectors, diverts and bridges. Fields marked opt may be missing at the end: older writers
// stopped there, and a reader takes the default.
//
//	21 QUEUE_BINDING   SS name, SS address, nSS filter, nSS metadata ("user=<name>;" or ""), bool autoCreated,
//	                   opt [i32 maxConsumers (-1), bool purgeOnNoConsumers, i8 routing type (0)], opt bool exclusive,
//	                   opt bool lastValue, opt bool configurationManaged, opt i32 consumersBeforeDispatch,
//	                   opt i64 delayBeforeDispatch (-1), opt nSS lastValueKey, opt bool nonDestructive,
//	                   opt bool groupRebalance, opt i32 groupBuckets (-1), opt bool autoDelete (autoCreated),
//	                   opt i64 autoDeleteDelay (0), opt i64 autoDeleteMessageCount (0), opt nSS groupFirstKey,
//	                   opt i64 ringSize (-1), opt bool enabled (true), opt bool groupRebalancePauseDispatch,
//	                   opt bool internal
//	44 ADDRESS_BINDING SS name, i32 n, n × i8 routing type, bool autoCreated, opt bool internal
//	22 QUEUE_STATUS    i64 queue, i16 status: 0 paused, 1 running
//	46 ADDRESS_STATUS  i64 address, i16 status
//	24 ID_COUNTER      i64 value
//	26 SECURITY        SS match, 12 × nSS comma-separated roles; the last two opt
//	52 ADDRESS_SETTING SS match, SS JSON object
//	27 DIVERT          nSTR name, address, forwarding address, routing name; bool exclusive; nSTR filter;
//	                   i8 routing type; transformer: nSTR class, if not null i32 n, n × (nSTR key, nSTR value)
//	28 BRIDGE          see ReadBridge
//	51 CONNECTOR       STR name, STR URL
//	47 USER            STR name, STR password as stored
//	48 ROLE            STR user, i32 n, n × STR role
//	50 KEY_VALUE       STR map, STR key, STR value
//	20 GROUP           SS group, SS cluster
//
// Records of other types are kept. Source: spec journal §3.1 and §4; Artemis PersistentQueueBindingEncoding,
// PersistentAddressBindingEncoding, core.persistence.config.
package bindings

// The user types of the bindings journal.
const (
	TypeGroup          = 20
	TypeQueue          = 21
	TypeQueueStatus    = 22
	TypeIDCounter      = 24
	TypeOldSetting     = 25
	TypeSecurity       = 26
	TypeDivert         = 27
	TypeBridge         = 28
	TypeAddress        = 44
	TypeAddressStatus  = 46
	TypeUser           = 47
	TypeRole           = 48
	TypeKeyValue       = 50
	TypeConnector      = 51
	TypeAddressSetting = 52
)
