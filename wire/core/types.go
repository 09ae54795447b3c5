package core

import "fmt"

// Type is the type byte of a packet.
type Type int8

// Packet types (Artemis PacketImpl).
const (
	TypePing                         Type = 10
	TypeDisconnect                   Type = 11
	TypeDisconnectConsumer           Type = 12
	TypeDisconnectConsumerKill       Type = 13
	TypeException                    Type = 20
	TypeNullResponse                 Type = 21
	TypePacketsConfirmed             Type = 22
	TypeCreateSession                Type = 30
	TypeCreateSessionResponse        Type = 31
	TypeReattachSession              Type = 32
	TypeReattachSessionResponse      Type = 33
	TypeCreateQueue                  Type = 34
	TypeDeleteQueue                  Type = 35
	TypeCreateSharedQueue            Type = 36
	TypeXAFailed                     Type = 39
	TypeCreateConsumer               Type = 40
	TypeAcknowledge                  Type = 41
	TypeExpired                      Type = 42
	TypeCommit                       Type = 43
	TypeRollback                     Type = 44
	TypeQueueQuery                   Type = 45
	TypeQueueQueryResponse           Type = 46
	TypeBindingQuery                 Type = 49
	TypeBindingQueryResponse         Type = 50
	TypeXAStart                      Type = 51
	TypeXAEnd                        Type = 52
	TypeXACommit                     Type = 53
	TypeXAPrepare                    Type = 54
	TypeXAResponse                   Type = 55
	TypeXARollback                   Type = 56
	TypeXAJoin                       Type = 57
	TypeXASuspend                    Type = 58
	TypeXAResume                     Type = 59
	TypeXAForget                     Type = 60
	TypeXAInDoubtXids                Type = 61
	TypeXAInDoubtXidsResponse        Type = 62
	TypeXASetTimeout                 Type = 63
	TypeXASetTimeoutResponse         Type = 64
	TypeXAGetTimeout                 Type = 65
	TypeXAGetTimeoutResponse         Type = 66
	TypeStart                        Type = 67
	TypeStop                         Type = 68
	TypeClose                        Type = 69
	TypeFlowToken                    Type = 70
	TypeSend                         Type = 71
	TypeSendLarge                    Type = 72
	TypeSendContinuation             Type = 73
	TypeConsumerClose                Type = 74
	TypeReceive                      Type = 75
	TypeReceiveLarge                 Type = 76
	TypeReceiveContinuation          Type = 77
	TypeForceDelivery                Type = 78
	TypeRequestCredits               Type = 79
	TypeCredits                      Type = 80
	TypeIndividualAcknowledge        Type = 81
	TypeFailCredits                  Type = 82
	TypeReplicationResponse          Type = 90
	TypeReplicationAppend            Type = 91
	TypeReplicationAppendTx          Type = 92
	TypeReplicationDelete            Type = 93
	TypeReplicationDeleteTx          Type = 94
	TypeReplicationPrepare           Type = 95
	TypeReplicationCommitRollback    Type = 96
	TypeReplicationPageWrite         Type = 97
	TypeReplicationPageEvent         Type = 98
	TypeReplicationLargeBegin        Type = 99
	TypeReplicationLargeEnd          Type = 100
	TypeReplicationLargeWrite        Type = 101
	TypeReplicationSyncFile          Type = 103
	TypeAddMetadata                  Type = 104
	TypeAddMetadata2                 Type = 105
	TypeUniqueAddMetadata            Type = 106
	TypeClusterTopology              Type = 110
	TypeNodeAnnounce                 Type = 111
	TypeSubscribeTopology            Type = 112
	TypeSubscribeTopologyV2          Type = 113
	TypeClusterTopologyV2            Type = 114
	TypeBackupRegistration           Type = 115
	TypeBackupRegistrationFailed     Type = 116
	TypeReplicationStartFinishSync   Type = 120
	TypeReplicationScheduledFailover Type = 121
	TypeClusterTopologyV3            Type = 122
	TypeDisconnectV2                 Type = 124
	TypeClusterConnect               Type = 125
	TypeClusterConnectReply          Type = 126
	TypeBackupRequest                Type = 127
	TypeBackupRequestResponse        Type = -1
	TypeQuorumVote                   Type = -2
	TypeQuorumVoteReply              Type = -3
	TypeCheckForFailover             Type = -4
	TypeCheckForFailoverReply        Type = -5
	TypeScaleDownAnnouncement        Type = -6
	TypeQueueQueryResponseV2         Type = -7
	TypeBindingQueryResponseV2       Type = -8
	TypeReplicationResponseV2        Type = -9
	TypeBindingQueryResponseV3       Type = -10
	TypeCreateAddress                Type = -11
	TypeCreateQueueV2                Type = -12
	TypeCreateSharedQueueV2          Type = -13
	TypeQueueQueryResponseV3         Type = -14
	TypeBindingQueryResponseV4       Type = -15
	TypeFederationDownstreamConnect  Type = -16
	TypeClusterTopologyV4            Type = -17
	TypeCreateSessionV2              Type = -18
	TypeDisconnectV3                 Type = -19
	TypeCreateProducer               Type = -20
	TypeRemoveProducer               Type = -21
	TypeBindingQueryResponseV5       Type = -22
)

// typeRow tells of a packet type what holds whatever its payload.
type typeRow struct {
	name      string
	uncounted bool // never counts for confirmations
	make      func() Packet
}

// typeTable is indexed by the type byte taken as unsigned.
var typeTable = buildTypeTable()

func buildTypeTable() (t [256]typeRow) {
	set := func(typ Type, name string, mk func() Packet) { t[uint8(typ)] = typeRow{name: name, make: mk} }
	once := func(typ Type, name string, mk func() Packet) {
		t[uint8(typ)] = typeRow{name: name, make: mk, uncounted: true}
	}
	once(TypePing, "PING", func() Packet { return new(Ping) })
	for typ, name := range map[Type]string{
		TypeDisconnect: "DISCONNECT", TypeDisconnectV2: "DISCONNECT_V2", TypeDisconnectV3: "DISCONNECT_V3",
	} {
		once(typ, name, func() Packet { return &Disconnect{Form: typ} })
	}
	set(TypeDisconnectConsumer, "DISCONNECT_CONSUMER", func() Packet { return new(DisconnectConsumer) })
	set(TypeDisconnectConsumerKill, "DISCONNECT_CONSUMER_KILL", func() Packet { return new(DisconnectConsumerKill) })
	set(TypeException, "EXCEPTION", func() Packet { return new(Exception) })
	set(TypeNullResponse, "NULL_RESPONSE", func() Packet { return new(NullResponse) })
	once(TypePacketsConfirmed, "PACKETS_CONFIRMED", func() Packet { return new(PacketsConfirmed) })
	once(TypeCreateSession, "CREATESESSION", func() Packet { return &CreateSession{Form: TypeCreateSession} })
	once(TypeCreateSessionV2, "CREATESESSION_V2", func() Packet { return &CreateSession{Form: TypeCreateSessionV2} })
	once(TypeCreateSessionResponse, "CREATESESSION_RESP", func() Packet { return new(CreateSessionResponse) })
	once(TypeReattachSession, "REATTACH_SESSION", func() Packet { return new(ReattachSession) })
	once(TypeReattachSessionResponse, "REATTACH_SESSION_RESP", func() Packet { return new(ReattachSessionResponse) })
	set(TypeCreateQueue, "CREATE_QUEUE", func() Packet { return new(CreateQueue) })
	set(TypeCreateQueueV2, "CREATE_QUEUE_V2", func() Packet { return new(CreateQueueV2) })
	set(TypeCreateSharedQueue, "CREATE_SHARED_QUEUE", func() Packet { return new(CreateSharedQueue) })
	set(TypeCreateSharedQueueV2, "CREATE_SHARED_QUEUE_V2", func() Packet { return new(CreateSharedQueueV2) })
	set(TypeDeleteQueue, "DELETE_QUEUE", func() Packet { return new(DeleteQueue) })
	set(TypeCreateAddress, "CREATE_ADDRESS", func() Packet { return new(CreateAddress) })
	set(TypeQueueQuery, "SESS_QUEUEQUERY", func() Packet { return new(QueueQuery) })
	for typ, name := range map[Type]string{
		TypeQueueQueryResponse: "SESS_QUEUEQUERY_RESP", TypeQueueQueryResponseV2: "SESS_QUEUEQUERY_RESP_V2",
		TypeQueueQueryResponseV3: "SESS_QUEUEQUERY_RESP_V3",
	} {
		set(typ, name, func() Packet { return &QueueQueryResponse{Form: typ} })
	}
	set(TypeBindingQuery, "SESS_BINDINGQUERY", func() Packet { return new(BindingQuery) })
	for typ, name := range map[Type]string{
		TypeBindingQueryResponse: "SESS_BINDINGQUERY_RESP", TypeBindingQueryResponseV2: "SESS_BINDINGQUERY_RESP_V2",
		TypeBindingQueryResponseV3: "SESS_BINDINGQUERY_RESP_V3", TypeBindingQueryResponseV4: "SESS_BINDINGQUERY_RESP_V4",
		TypeBindingQueryResponseV5: "SESS_BINDINGQUERY_RESP_V5",
	} {
		set(typ, name, func() Packet { return &BindingQueryResponse{Form: typ} })
	}
	set(TypeStart, "SESS_START", func() Packet { return new(Start) })
	set(TypeStop, "SESS_STOP", func() Packet { return new(Stop) })
	set(TypeClose, "SESS_CLOSE", func() Packet { return new(Close) })
	once(TypeAddMetadata, "SESS_ADD_METADATA", func() Packet { return &AddMetadata{Form: TypeAddMetadata} })
	set(TypeAddMetadata2, "SESS_ADD_METADATA2", func() Packet { return &AddMetadata{Form: TypeAddMetadata2} })
	set(TypeUniqueAddMetadata, "SESS_UNIQUE_ADD_METADATA", func() Packet { return &AddMetadata{Form: TypeUniqueAddMetadata} })
	set(TypeCreateProducer, "CREATE_PRODUCER", func() Packet { return new(CreateProducer) })
	set(TypeRemoveProducer, "REMOVE_PRODUCER", func() Packet { return new(RemoveProducer) })
	set(TypeCheckForFailover, "CHECK_FOR_FAILOVER", func() Packet { return new(CheckForFailover) })
	set(TypeCheckForFailoverReply, "CHECK_FOR_FAILOVER_REPLY", func() Packet { return new(CheckForFailoverReply) })

	set(TypeSend, "SESS_SEND", func() Packet { return new(Send) })
	set(TypeSendLarge, "SESS_SEND_LARGE", func() Packet { return new(SendLarge) })
	set(TypeSendContinuation, "SESS_SEND_CONTINUATION", func() Packet { return new(SendContinuation) })
	set(TypeReceive, "SESS_RECEIVE_MSG", func() Packet { return new(Receive) })
	set(TypeReceiveLarge, "SESS_RECEIVE_LARGE_MSG", func() Packet { return new(ReceiveLarge) })
	set(TypeReceiveContinuation, "SESS_RECEIVE_CONTINUATION", func() Packet { return new(ReceiveContinuation) })
	set(TypeCreateConsumer, "SESS_CREATECONSUMER", func() Packet { return new(CreateConsumer) })
	set(TypeConsumerClose, "SESS_CONSUMER_CLOSE", func() Packet { return new(ConsumerClose) })
	set(TypeAcknowledge, "SESS_ACKNOWLEDGE", func() Packet { return new(Acknowledge) })
	set(TypeIndividualAcknowledge, "SESS_INDIVIDUAL_ACKNOWLEDGE", func() Packet { return &Acknowledge{Individual: true} })
	set(TypeExpired, "SESS_EXPIRED", func() Packet { return new(Expired) })
	set(TypeCommit, "SESS_COMMIT", func() Packet { return new(Commit) })
	set(TypeRollback, "SESS_ROLLBACK", func() Packet { return new(Rollback) })
	set(TypeFlowToken, "SESS_FLOWTOKEN", func() Packet { return new(FlowToken) })
	set(TypeForceDelivery, "SESS_FORCE_CONSUMER_DELIVERY", func() Packet { return new(ForceDelivery) })
	set(TypeRequestCredits, "SESS_PRODUCER_REQUEST_CREDITS", func() Packet { return &Credits{Form: TypeRequestCredits} })
	set(TypeCredits, "SESS_PRODUCER_CREDITS", func() Packet { return &Credits{Form: TypeCredits} })
	set(TypeFailCredits, "SESS_PRODUCER_FAIL_CREDITS", func() Packet { return &Credits{Form: TypeFailCredits} })

	for typ, name := range map[Type]string{
		TypeXAStart: "SESS_XA_START", TypeXAEnd: "SESS_XA_END", TypeXACommit: "SESS_XA_COMMIT",
		TypeXAPrepare: "SESS_XA_PREPARE", TypeXARollback: "SESS_XA_ROLLBACK", TypeXAJoin: "SESS_XA_JOIN",
		TypeXASuspend: "SESS_XA_SUSPEND", TypeXAResume: "SESS_XA_RESUME", TypeXAForget: "SESS_XA_FORGET",
		TypeXAFailed: "SESS_XA_FAILED",
	} {
		set(typ, name, func() Packet { return &XA{Op: typ} })
	}
	set(TypeXAResponse, "SESS_XA_RESP", func() Packet { return new(XAResponse) })
	set(TypeXAInDoubtXids, "SESS_XA_INDOUBT_XIDS", func() Packet { return new(XAInDoubtXids) })
	set(TypeXAInDoubtXidsResponse, "SESS_XA_INDOUBT_XIDS_RESP", func() Packet { return new(XAInDoubtXidsResponse) })
	set(TypeXASetTimeout, "SESS_XA_SET_TIMEOUT", func() Packet { return new(XASetTimeout) })
	set(TypeXASetTimeoutResponse, "SESS_XA_SET_TIMEOUT_RESP", func() Packet { return new(XASetTimeoutResponse) })
	set(TypeXAGetTimeout, "SESS_XA_GET_TIMEOUT", func() Packet { return new(XAGetTimeout) })
	set(TypeXAGetTimeoutResponse, "SESS_XA_GET_TIMEOUT_RESP", func() Packet { return new(XAGetTimeoutResponse) })

	set(TypeSubscribeTopology, "SUBSCRIBE_TOPOLOGY", func() Packet { return &SubscribeTopology{Form: TypeSubscribeTopology} })
	set(TypeSubscribeTopologyV2, "SUBSCRIBE_TOPOLOGY_V2", func() Packet { return &SubscribeTopology{Form: TypeSubscribeTopologyV2} })
	for typ, name := range map[Type]string{
		TypeClusterTopology: "CLUSTER_TOPOLOGY", TypeClusterTopologyV2: "CLUSTER_TOPOLOGY_V2",
		TypeClusterTopologyV3: "CLUSTER_TOPOLOGY_V3", TypeClusterTopologyV4: "CLUSTER_TOPOLOGY_V4",
	} {
		set(typ, name, func() Packet { return &ClusterTopology{Form: typ} })
	}
	set(TypeClusterConnect, "CLUSTER_CONNECT", func() Packet { return new(ClusterConnect) })
	set(TypeClusterConnectReply, "CLUSTER_CONNECT_REPLY", func() Packet { return new(ClusterConnectReply) })
	set(TypeNodeAnnounce, "NODE_ANNOUNCE", func() Packet { return new(NodeAnnounce) })
	set(TypeBackupRequest, "BACKUP_REQUEST", func() Packet { return new(BackupRequest) })
	set(TypeBackupRequestResponse, "BACKUP_REQUEST_RESPONSE", func() Packet { return new(BackupRequestResponse) })
	set(TypeQuorumVote, "QUORUM_VOTE", func() Packet { return new(QuorumVote) })
	set(TypeQuorumVoteReply, "QUORUM_VOTE_REPLY", func() Packet { return &QuorumVote{Reply: true} })
	set(TypeScaleDownAnnouncement, "SCALEDOWN_ANNOUNCEMENT", func() Packet { return new(ScaleDownAnnouncement) })
	set(TypeBackupRegistration, "BACKUP_REGISTRATION", func() Packet { return new(BackupRegistration) })
	set(TypeBackupRegistrationFailed, "BACKUP_REGISTRATION_FAILED", func() Packet { return new(BackupRegistrationFailed) })
	set(TypeFederationDownstreamConnect, "FEDERATION_DOWNSTREAM_CONNECT", func() Packet { return new(FederationDownstreamConnect) })

	set(TypeReplicationResponse, "REPLICATION_RESPONSE", func() Packet { return &ReplicationResponse{Form: TypeReplicationResponse} })
	set(TypeReplicationResponseV2, "REPLICATION_RESPONSE_V2", func() Packet { return &ReplicationResponse{Form: TypeReplicationResponseV2} })
	set(TypeReplicationAppend, "REPLICATION_APPEND", func() Packet { return new(ReplicationAppend) })
	set(TypeReplicationAppendTx, "REPLICATION_APPEND_TX", func() Packet { return &ReplicationAppend{InTx: true} })
	set(TypeReplicationDelete, "REPLICATION_DELETE", func() Packet { return new(ReplicationDelete) })
	set(TypeReplicationDeleteTx, "REPLICATION_DELETE_TX", func() Packet { return &ReplicationDelete{InTx: true} })
	set(TypeReplicationPrepare, "REPLICATION_PREPARE", func() Packet { return new(ReplicationPrepare) })
	set(TypeReplicationCommitRollback, "REPLICATION_COMMIT_ROLLBACK", func() Packet { return new(ReplicationCommitRollback) })
	set(TypeReplicationPageWrite, "REPLICATION_PAGE_WRITE", func() Packet { return new(ReplicationPageWrite) })
	set(TypeReplicationPageEvent, "REPLICATION_PAGE_EVENT", func() Packet { return new(ReplicationPageEvent) })
	set(TypeReplicationLargeBegin, "REPLICATION_LARGE_MESSAGE_BEGIN", func() Packet { return new(ReplicationLargeBegin) })
	set(TypeReplicationLargeEnd, "REPLICATION_LARGE_MESSAGE_END", func() Packet { return new(ReplicationLargeEnd) })
	set(TypeReplicationLargeWrite, "REPLICATION_LARGE_MESSAGE_WRITE", func() Packet { return new(ReplicationLargeWrite) })
	set(TypeReplicationSyncFile, "REPLICATION_SYNC_FILE", func() Packet { return new(ReplicationSyncFile) })
	set(TypeReplicationStartFinishSync, "REPLICATION_START_FINISH_SYNC", func() Packet { return new(ReplicationStartFinishSync) })
	set(TypeReplicationScheduledFailover, "REPLICATION_SCHEDULED_FAILOVER", func() Packet { return new(ReplicationScheduledFailover) })
	return t
}

// String returns the name Artemis gives the type.
func (t Type) String() string {
	if name := typeTable[uint8(t)].name; name != "" {
		return name
	}
	return fmt.Sprintf("packet type %d", int8(t))
}

// Known reports whether t is assigned.
func (t Type) Known() bool { return typeTable[uint8(t)].make != nil }

// Counted reports whether a packet counts for confirmations (see
// Confirmations). SESS_ADD_METADATA2 and SESS_UNIQUE_ADD_METADATA say so
// themselves, in their last byte.
func Counted(t Type, payload []byte) bool {
	if t == TypeAddMetadata2 || t == TypeUniqueAddMetadata {
		return len(payload) > 0 && payload[len(payload)-1] != 0
	}
	return !typeTable[uint8(t)].uncounted
}

// OfLargeBody reports whether a packet belongs to the sending of a large message: its header or a chunk of its body.
func OfLargeBody(t Type) bool { return t == TypeSendLarge || t == TypeSendContinuation }
