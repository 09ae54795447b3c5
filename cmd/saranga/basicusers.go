package main

import (
	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
)

// open gives the basic security manager its users from the store.
func (r *realms) open(in *config.Instance, b *broker.Broker) error {
	if r.basic == nil {
		return nil
	}
	users := map[string]security.StoredUser{}
	for _, c := range b.StoredConfigs() {
		u := users[c.Key]
		switch c.Kind {
		case broker.UserConfig:
			u.Password = c.Text
		case broker.RoleConfig:
			u.Roles = c.Roles
		default:
			continue
		}
		users[c.Key] = u
	}
	p := in.Bootstrap.SecurityManager.Properties
	return r.basic.Open(userRecords{b.Store()}, users, security.Bootstrap{User: p["bootstrapUser"], Password: p["bootstrapPassword"], Role: p["bootstrapRole"],
		UserFile: p["bootstrapUserFile"], RoleFile: p["bootstrapRoleFile"]})
}

// userRecords keeps users in the bindings journal.
type userRecords struct{ store broker.Store }

func (r userRecords) StoreUser(name, password string) error {
	return r.store.StoreConfig(broker.StoredConfig{Kind: broker.UserConfig, Key: name, Text: password})
}

func (r userRecords) DeleteUser(name string) error {
	return r.store.DeleteConfig(broker.UserConfig, name)
}

func (r userRecords) StoreRoles(user string, roles []string) error {
	return r.store.StoreConfig(broker.StoredConfig{Kind: broker.RoleConfig, Key: user, Roles: roles})
}

func (r userRecords) DeleteRoles(user string) error {
	return r.store.DeleteConfig(broker.RoleConfig, user)
}
