package management

import (
	"maps"
	"slices"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/security"
)

// permissionOrder is the order of permissions in rows, in addSecuritySettings and in the store.
var permissionOrder = []security.Permission{security.Send, security.Consume, security.CreateDurableQueue, security.DeleteDurableQueue, security.CreateNonDurableQueue,
	security.DeleteNonDurableQueue, security.Manage, security.Browse, security.CreateAddress, security.DeleteAddress, security.View, security.Edit}

// role is what a role may do, in that order.
type role struct {
	name    string
	granted []bool
}

// roles are the permissions on an address by role.
func (g *Registry) roles(match string) []role {
	if g.env.Access == nil {
		return nil
	}
	s := g.env.Access.For(match)
	byName := map[string]*role{}
	for i, p := range permissionOrder {
		for _, name := range s.Roles[p] {
			if byName[name] == nil {
				byName[name] = &role{name, make([]bool, len(permissionOrder))}
			}
			byName[name].granted[i] = true
		}
	}
	var out []role
	for _, name := range sortedKeys(byName) {
		out = append(out, *byName[name])
	}
	return out
}

func roleRows(list []role) []any {
	out := []any{}
	for _, r := range list {
		row := []any{r.name}
		for _, g := range r.granted {
			row = append(row, g)
		}
		out = append(out, row)
	}
	return out
}

func roleObjects(list []role) []Object {
	out := []Object{}
	for _, r := range list {
		o := Object{{"name", r.name}}
		for i, p := range permissionOrder {
			o = append(o, Member{p.Type(), r.granted[i]})
		}
		out = append(out, o)
	}
	return out
}

// addSecuritySettings sets the permissions of a match from comma-separated lists of roles, in the usual order; what is
// missing at the end is granted to nobody.
func (g *Registry) addSecuritySettings(match string, lists []string) error {
	if g.env.Access == nil {
		return notAvailable("security settings")
	}
	for len(lists) < len(permissionOrder) {
		lists = append(lists, "")
	}
	s := security.Setting{Match: match, Roles: map[security.Permission][]string{}}
	for i, p := range permissionOrder {
		s.Roles[p] = splitList(lists[i])
	}
	if err := g.b.Store().StoreConfig(broker.StoredConfig{Kind: broker.SecuritySettingConfig, Key: match, Roles: lists}); err != nil {
		return err
	}
	defer g.b.PermissionsChanged()
	return g.env.Access.Put(s)
}

func (g *Registry) removeSecuritySettings(match string) error {
	if g.env.Access == nil {
		return notAvailable("security settings")
	}
	if err := g.b.Store().DeleteConfig(broker.SecuritySettingConfig, match); err != nil {
		return err
	}
	defer g.b.PermissionsChanged()
	return g.env.Access.Remove(match)
}

// splitList splits a comma-separated list.
func splitList(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
