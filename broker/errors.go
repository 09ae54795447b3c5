package broker

import (
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/broker/security"
)

// Code is the number of an error that Artemis' protocols carry (core-protocol §4.10).
type Code int32

const (
	InternalError             Code = 0
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
	TransactionTimeout        Code = 120
	IOError                   Code = 6
	AddressFull               Code = 210
	LargeMessageInterrupted   Code = 211
	NotImplemented            Code = 213
	MaxConsumerLimitExceeded  Code = 214
	UnexpectedRoutingType     Code = 215
	InvalidTransientQueueUse  Code = 118
	InvalidQueueConfiguration Code = 216
	DeleteAddressError        Code = 217
	DivertDoesNotExist        Code = 221
	GenericException          Code = 999
)

// Error is a refusal with the code and text that a client gets.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("error %d", e.Code)
	}
	return e.Text
}

func errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// AsError returns err as the refusal that a client is told: anything that is not one already becomes an internal error
// without a text, as Artemis does, so that nothing of the inside leaks.
func AsError(err error) *Error {
	switch e := err.(type) {
	case *Error:
		return e
	case *security.PermissionError:
		return &Error{Code: SecurityException, Text: e.Error()}
	case *security.AuthenticationError: // the user of a session is gone
		return &Error{Code: SecurityException, Text: e.Error()}
	}
	if errors.Is(err, ErrNoSpace) {
		return errorf(IOError, "the disk of the journal is full: free some space and send again")
	}
	return &Error{Code: InternalError}
}

func errNoQueue(name string) *Error {
	return errorf(QueueDoesNotExist, "AMQ229017: Queue %s does not exist", name)
}

func errQueueExists(name, address string) *Error {
	return errorf(QueueExists, "AMQ229019: Queue %s already exists on address %s", name, address)
}

func errFilter(text string) *Error {
	return errorf(InvalidFilterExpression, "AMQ229020: Invalid filter: %s", text)
}

func errNoAddress(name string) *Error {
	return errorf(AddressDoesNotExist, "AMQ229203: Address Does Not Exist: %s", name)
}

func errAddressFull(name string) *Error {
	return errorf(AddressFull, "AMQ229102: Address %q is full.", name)
}

func errDuplicate(address string) *Error {
	return errorf(DuplicateIDRejected, "Duplicate message detected - message will not be routed. Message information: address=%s", address)
}
