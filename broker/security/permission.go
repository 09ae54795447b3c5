package security

import "fmt"

// Permission is a right on an address or queue.
type Permission uint8

const (
	Send Permission = iota
	Consume
	CreateAddress
	DeleteAddress
	CreateDurableQueue
	DeleteDurableQueue
	CreateNonDurableQueue
	DeleteNonDurableQueue
	Manage
	Browse
	View
	Edit

	permissionCount = iota
)

// permissionNames are the spelling in broker.xml and the spelling in messages.
var permissionNames = [permissionCount][2]string{
	Send:                  {"send", "SEND"},
	Consume:               {"consume", "CONSUME"},
	CreateAddress:         {"createAddress", "CREATE_ADDRESS"},
	DeleteAddress:         {"deleteAddress", "DELETE_ADDRESS"},
	CreateDurableQueue:    {"createDurableQueue", "CREATE_DURABLE_QUEUE"},
	DeleteDurableQueue:    {"deleteDurableQueue", "DELETE_DURABLE_QUEUE"},
	CreateNonDurableQueue: {"createNonDurableQueue", "CREATE_NON_DURABLE_QUEUE"},
	DeleteNonDurableQueue: {"deleteNonDurableQueue", "DELETE_NON_DURABLE_QUEUE"},
	Manage:                {"manage", "MANAGE"},
	Browse:                {"browse", "BROWSE"},
	View:                  {"view", "VIEW"},
	Edit:                  {"edit", "EDIT"},
}

// String is the spelling in error messages and notifications: "CREATE_ADDRESS".
func (p Permission) String() string { return permissionNames[p][1] }

// Type is the spelling of the type attribute in broker.xml: "createAddress".
func (p Permission) Type() string { return permissionNames[p][0] }

// ParsePermission reads the type attribute of a permission element.
func ParsePermission(name string) (Permission, bool) {
	for p, names := range permissionNames {
		if names[0] == name {
			return Permission(p), true
		}
	}
	return 0, false
}

// PermissionError is a refused operation, with the text that clients of Artemis see.
type PermissionError struct {
	User       string
	Permission Permission
	Address    string
	Queue      string // "" when the permission concerns the address
}

func (e *PermissionError) Error() string {
	if e.Queue != "" {
		return fmt.Sprintf("AMQ229213: User: %s does not have permission='%s' for queue %s on address %s",
			orNull(e.User), e.Permission, e.Queue, e.Address)
	}
	return fmt.Sprintf("AMQ229032: User: %s does not have permission='%s' on address %s", orNull(e.User), e.Permission, e.Address)
}
