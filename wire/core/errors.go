package core

import "fmt"

// Code is the code of an EXCEPTION (Artemis ActiveMQExceptionType).
type Code int32

// Codes.
const (
	InternalError             Code = 0
	UnsupportedPacket         Code = 1
	NotConnected              Code = 2
	ConnectionTimedOut        Code = 3
	Disconnected              Code = 4
	Unblocked                 Code = 5
	IOError                   Code = 6
	QueueDoesNotExist         Code = 100
	QueueExists               Code = 101
	ObjectClosed              Code = 102
	InvalidFilterExpression   Code = 103
	IllegalState              Code = 104
	SecurityException         Code = 105
	AddressDoesNotExist       Code = 106
	AddressExists             Code = 107
	IncompatibleVersions      Code = 108
	LargeMessageErrorBody     Code = 110
	TransactionRolledBack     Code = 111
	SessionCreationRejected   Code = 112
	DuplicateIDRejected       Code = 113
	DuplicateMetadata         Code = 114
	TransactionOutcomeUnknown Code = 115
	AlreadyReplicating        Code = 116
	InterceptorRejectedPacket Code = 117
	InvalidTransientQueueUse  Code = 118
	RemoteDisconnect          Code = 119
	TransactionTimeout        Code = 120
	AddressFull               Code = 210
	LargeMessageInterrupted   Code = 211
	ClusterSecurityException  Code = 212
	NotImplemented            Code = 213
	MaxConsumerLimitExceeded  Code = 214
	UnexpectedRoutingType     Code = 215
	InvalidQueueConfiguration Code = 216
	DeleteAddressError        Code = 217
	NullRef                   Code = 218
	ShutdownError             Code = 219
	ReplicationTimeoutError   Code = 220
	DivertDoesNotExist        Code = 221
	RoutingException          Code = 222
	TimeoutException          Code = 223
	GenericException          Code = 999
)

// nativeErrors are the codes of native I/O errors, 200 to 209, which have no
// names in the protocol.
const nativeErrorMin, nativeErrorMax Code = 200, 209

// String returns the name Artemis gives the code.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	if c >= nativeErrorMin && c <= nativeErrorMax {
		return fmt.Sprintf("NATIVE_ERROR %d", int32(c))
	}
	return fmt.Sprintf("error code %d", int32(c))
}

var codeNames = map[Code]string{
	InternalError:             "INTERNAL_ERROR",
	UnsupportedPacket:         "UNSUPPORTED_PACKET",
	NotConnected:              "NOT_CONNECTED",
	ConnectionTimedOut:        "CONNECTION_TIMEDOUT",
	Disconnected:              "DISCONNECTED",
	Unblocked:                 "UNBLOCKED",
	IOError:                   "IO_ERROR",
	QueueDoesNotExist:         "QUEUE_DOES_NOT_EXIST",
	QueueExists:               "QUEUE_EXISTS",
	ObjectClosed:              "OBJECT_CLOSED",
	InvalidFilterExpression:   "INVALID_FILTER_EXPRESSION",
	IllegalState:              "ILLEGAL_STATE",
	SecurityException:         "SECURITY_EXCEPTION",
	AddressDoesNotExist:       "ADDRESS_DOES_NOT_EXIST",
	AddressExists:             "ADDRESS_EXISTS",
	IncompatibleVersions:      "INCOMPATIBLE_CLIENT_SERVER_VERSIONS",
	LargeMessageErrorBody:     "LARGE_MESSAGE_ERROR_BODY",
	TransactionRolledBack:     "TRANSACTION_ROLLED_BACK",
	SessionCreationRejected:   "SESSION_CREATION_REJECTED",
	DuplicateIDRejected:       "DUPLICATE_ID_REJECTED",
	DuplicateMetadata:         "DUPLICATE_METADATA",
	TransactionOutcomeUnknown: "TRANSACTION_OUTCOME_UNKNOWN",
	AlreadyReplicating:        "ALREADY_REPLICATING",
	InterceptorRejectedPacket: "INTERCEPTOR_REJECTED_PACKET",
	InvalidTransientQueueUse:  "INVALID_TRANSIENT_QUEUE_USE",
	RemoteDisconnect:          "REMOTE_DISCONNECT",
	TransactionTimeout:        "TRANSACTION_TIMEOUT",
	AddressFull:               "ADDRESS_FULL",
	LargeMessageInterrupted:   "LARGE_MESSAGE_INTERRUPTED",
	ClusterSecurityException:  "CLUSTER_SECURITY_EXCEPTION",
	NotImplemented:            "NOT_IMPLEMENTED",
	MaxConsumerLimitExceeded:  "MAX_CONSUMER_LIMIT_EXCEEDED",
	UnexpectedRoutingType:     "UNEXPECTED_ROUTING_TYPE_FOR_ADDRESS",
	InvalidQueueConfiguration: "INVALID_QUEUE_CONFIGURATION",
	DeleteAddressError:        "DELETE_ADDRESS_ERROR",
	NullRef:                   "NULL_REF",
	ShutdownError:             "SHUTDOWN_ERROR",
	ReplicationTimeoutError:   "REPLICATION_TIMEOUT_ERROR",
	DivertDoesNotExist:        "DIVERT_DOES_NOT_EXIST",
	RoutingException:          "ROUTING_EXCEPTION",
	TimeoutException:          "TIMEOUT_EXCEPTION",
	GenericException:          "GENERIC_EXCEPTION",
}

// Error is what an EXCEPTION tells. errors.Is(err, core.AddressFull) holds for
// an Error of that code.
type Error struct {
	Code    Code
	Message string
}

// Error returns the name of the code and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.String()
	}
	return e.Code.String() + ": " + e.Message
}

// Is reports whether target is the error's Code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Error makes a Code an error, for errors.Is and for an EXCEPTION without text.
func (c Code) Error() string { return c.String() }
