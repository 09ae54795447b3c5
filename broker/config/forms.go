package config

import (
	"strings"
	"time"
)

// How elements that don't map one to one become the types of this package.

func (a *Address) form() any { return &addressXML{} }

func (a *Address) take(form any, d *decoder, n *node) {
	x := form.(*addressXML)
	a.Name = x.Name
	if len(n.children) == 0 && n.text == "" {
		d.fail(n.at, "addresses/address "+x.Name, "the address has no routing type", "put <anycast/> or <multicast/> in it")
		return
	}
	// The order is that of the file: it is also the order of deployment.
	for _, c := range n.children {
		set, kind := x.Anycast, Anycast
		if c.name == "multicast" {
			set, kind = x.Multicast, Multicast
		}
		if set == nil {
			continue
		}
		a.RoutingTypes = append(a.RoutingTypes, kind)
		for _, q := range set.Queues {
			q.Address, q.RoutingType = a.Name, kind
			a.Queues = append(a.Queues, q)
		}
	}
}

func (s *SecuritySetting) form() any { return &securitySettingXML{} }

func (s *SecuritySetting) take(form any, d *decoder, n *node) {
	x := form.(*securitySettingXML)
	s.Match, s.Roles = x.Match, map[Permission][]string{}
	for i, p := range x.Permissions {
		kind, ok := permissionNamed(p.Type)
		if !ok {
			d.warn(Odd, n.children[i].at, "security-setting "+x.Match, "AMQ222177: there is no permission type "+p.Type+", it is ignored", "use one of "+permissionNames())
			continue
		}
		s.Roles[kind] = appendNew(s.Roles[kind], p.Roles...)
	}
}

// permissionNamed knows the old names of temporary queues, too.
func permissionNamed(name string) (Permission, bool) {
	switch name {
	case "createTempQueue":
		return CreateNonDurableQueue, true
	case "deleteTempQueue":
		return DeleteNonDurableQueue, true
	}
	for _, p := range permissions {
		if string(p) == name {
			return p, true
		}
	}
	return "", false
}

func permissionNames() string {
	var b strings.Builder
	for i, p := range permissions {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(p))
	}
	return b.String()
}

// appendNew appends what isn't there yet.
func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// The old names master and slave never take a lock manager.
func (r *ReplicationPolicy) decoded(n *node) {
	if r.Primary != nil && n.child("master") != nil {
		r.Primary.Manager = nil
	}
	if r.Backup != nil && n.child("slave") != nil {
		r.Backup.Manager = nil
	}
}

// retry-replication-wait defaults to vote-retry-wait with voting, and to its own
// 2 s with a lock manager.
func (r *ReplicationPrimary) decoded(n *node) {
	if n.child("retry-replication-wait") == nil {
		r.RetryReplicationWait = replicationWait(r.Manager, r.VoteRetryWait)
	}
}

func (r *ReplicationBackup) decoded(n *node) {
	if n.child("retry-replication-wait") == nil {
		r.RetryReplicationWait = replicationWait(r.Manager, r.VoteRetryWait)
	}
}

func replicationWait(m *LockManager, voteWait time.Duration) time.Duration {
	if m != nil {
		return 2 * time.Second
	}
	return voteWait
}
