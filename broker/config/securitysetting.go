package config

// Permission is a right that a security setting gives to roles.
type Permission string

// Permissions, with the spelling of the type attribute.
const (
	CreateAddress         Permission = "createAddress"
	DeleteAddress         Permission = "deleteAddress"
	CreateDurableQueue    Permission = "createDurableQueue"
	DeleteDurableQueue    Permission = "deleteDurableQueue"
	CreateNonDurableQueue Permission = "createNonDurableQueue"
	DeleteNonDurableQueue Permission = "deleteNonDurableQueue"
	Send                  Permission = "send"
	Consume               Permission = "consume"
	Browse                Permission = "browse"
	Manage                Permission = "manage"
	View                  Permission = "view"
	Edit                  Permission = "edit"
)

// Permissions lists all permissions.
var permissions = []Permission{CreateAddress, DeleteAddress, CreateDurableQueue, DeleteDurableQueue,
	CreateNonDurableQueue, DeleteNonDurableQueue, Send, Consume, Browse, Manage, View, Edit}

// Permissions returns all permissions.
func Permissions() []Permission { return append([]Permission(nil), permissions...) }

// SecuritySetting gives permissions on the addresses of one match. Settings of
// different matches don't merge: the most specific match alone counts. Roles has
// an entry for every permission element, also one without roles, and the
// external roles of role-mappings already added.
type SecuritySetting struct {
	Match string
	Roles map[Permission][]string
}

// RoleMapping gives the external role From the permissions of the roles To.
type RoleMapping struct {
	From string   `cfg:"@from,required"`
	To   []string `cfg:"@to,required"`
}

// securitySettingXML is a security-setting as the file has it.
type securitySettingXML struct {
	Match       string          `cfg:"@match,required"`
	Permissions []permissionXML `cfg:"permission"`
}

type permissionXML struct {
	Type  string   `cfg:"@type,required"`
	Roles []string `cfg:"@roles,required"`
}
