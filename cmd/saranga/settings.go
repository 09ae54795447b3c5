package main

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
)

// settings are the address settings of the configuration, with those made by management on top.
type settings struct {
	mu          sync.RWMutex
	repository  *config.Repository[*config.AddressSetting]
	idCacheSize int
}

// newSettings makes the settings. One of those stored that cannot be read is left out with an error in the log.
func newSettings(c *config.Config, stored []broker.StoredConfig, log hclog.Logger) (*settings, error) {
	r, err := c.AddressSettingRepository()
	if err != nil {
		return nil, err
	}
	for _, x := range stored {
		if x.Kind != broker.AddressSettingConfig {
			continue
		}
		s := &config.AddressSetting{Match: x.Key}
		err := json.Unmarshal([]byte(x.JSON), s)
		if err == nil {
			err = r.Set(config.SettingsAddress(x.Key), s)
		}
		if err != nil {
			log.Error("an address setting made by management cannot be read and does not count: make it anew", "match", x.Key, "error", err)
		}
	}
	return &settings{repository: r, idCacheSize: c.IDCacheSize}, nil
}

// take replaces all settings by those of next.
func (s *settings) take(next *settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repository = next.repository
}

// find returns the merged settings of an address.
func (s *settings) find(address string) config.AddressSettings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return config.MergeSettings(s.repository.Find(config.SettingsAddress(address)), s.idCacheSize)
}

// Find implements management.AddressSettings.
func (s *settings) Find(address string) []*config.AddressSetting {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.repository.Find(config.SettingsAddress(address))
}

// Put implements management.AddressSettings.
func (s *settings) Put(match string, setting *config.AddressSetting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repository.Set(config.SettingsAddress(match), setting)
}

// Remove implements management.AddressSettings.
func (s *settings) Remove(match string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repository.Remove(config.SettingsAddress(match))
}

// newPermissions makes the permissions of the configuration, with those made by management on top.
func newPermissions(c *config.Config, stored []broker.StoredConfig) (*security.Permissions, error) {
	return security.NewPermissions(security.PermissionsOptions{Disabled: !c.SecurityEnabled, Wildcards: security.Wildcards{Delimiter: c.Wildcards.Delimiter, AnyWords: c.Wildcards.AnyWords, SingleWord: c.Wildcards.SingleWord}, CacheSize: int(c.AuthorizationCacheSize)}, securitySettings(c, stored))
}

// storedPermissions is the order of the lists of roles in a stored security setting.
var storedPermissions = []security.Permission{security.Send, security.Consume, security.CreateDurableQueue, security.DeleteDurableQueue, security.CreateNonDurableQueue,
	security.DeleteNonDurableQueue, security.Manage, security.Browse, security.CreateAddress, security.DeleteAddress, security.View, security.Edit}

// securitySettings lists the settings of the configuration and then those that management has stored: the last of a match
// counts.
func securitySettings(c *config.Config, stored []broker.StoredConfig) []security.Setting {
	var list []security.Setting
	for _, s := range c.SecuritySettings {
		roles := map[security.Permission][]string{}
		for p, r := range s.Roles {
			if k, ok := security.ParsePermission(string(p)); ok {
				roles[k] = r
			}
		}
		list = append(list, security.Setting{Match: s.Match, Roles: roles})
	}
	for _, x := range stored {
		if x.Kind != broker.SecuritySettingConfig {
			continue
		}
		s := security.Setting{Match: x.Key, Roles: map[security.Permission][]string{}}
		for i, text := range x.Roles {
			if i == len(storedPermissions) {
				break
			}
			for role := range strings.SplitSeq(text, ",") {
				if role = strings.TrimSpace(role); role != "" {
					s.Roles[storedPermissions[i]] = append(s.Roles[storedPermissions[i]], role)
				}
			}
		}
		list = append(list, s)
	}
	return list
}

// applySettings takes over the security and address settings of a configuration, and puts those made by management on
// top. On an error everything stays as it was.
func (n *node) applySettings(c *config.Config) error {
	stored := n.broker.StoredConfigs()
	next, err := newSettings(c, stored, n.log)
	if err != nil {
		return err
	}
	if err := n.access.Replace(securitySettings(c, stored)); err != nil {
		return err
	}
	n.settings.take(next)
	n.broker.SettingsChanged()
	return nil
}

// resourceLimits are what a user may have (resource-limit-settings). As in Artemis, max-connections bounds sessions.
func resourceLimits(c *config.Config) func(user string) broker.Limits {
	if len(c.ResourceLimits) == 0 {
		return nil
	}
	limits := map[string]broker.Limits{}
	for _, r := range c.ResourceLimits {
		limits[r.Match] = broker.Limits{Sessions: r.MaxConnections, Queues: r.MaxQueues}
	}
	return func(user string) broker.Limits {
		if l, ok := limits[user]; ok {
			return l
		}
		return broker.Limits{Sessions: -1, Queues: -1}
	}
}
