package main

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/transport"
)

// newRegistry makes the registry of what can be managed.
func (n *node) newRegistry() (*management.Registry, error) {
	c := n.in.Broker
	var rbac *security.RBAC
	if c.ManagementMessageRBAC {
		var err error
		if rbac, err = security.NewRBAC(c.ManagementRBACPrefix, c.ViewPermissionMethodMatch); err != nil {
			return nil, fmt.Errorf("management-message-rbac: %w", err)
		}
	}
	pair := n.o.manage
	pair.ReloadConfiguration = func() error { return n.house.reload.Reload() }
	pair.DiskStoreUsage = func() float64 { return n.house.disk.usage() }
	return management.New(management.Environment{
		Broker: n.broker, Config: c, Log: n.log, Settings: n.settings, Access: n.access, Auth: n.auth, Users: n.realms.users, RBAC: rbac,
		Audit: audit{n.logs}, Acceptors: n.managedAcceptors,
		Node: pair,
	}), nil
}

// audit writes audit lines to the loggers that log4j2.properties names for them.
type audit struct{ logs *logging.Logging }

func (a audit) logger(l management.AuditLevel) hclog.Logger {
	switch l {
	case management.AuditResource:
		return a.logs.Logger(logging.AuditResource)
	case management.AuditMessage:
		return a.logs.Logger(logging.AuditMessage)
	}
	return a.logs.Logger(logging.AuditBase)
}

// Enabled implements management.Audit.
func (a audit) Enabled(l management.AuditLevel) bool { return a.logger(l).IsInfo() }

// Log implements management.Audit.
func (a audit) Log(l management.AuditLevel, line string) { a.logger(l).Info(line) }

// managedAcceptor shows an acceptor to management.
type managedAcceptor struct {
	*transport.Acceptor
	url config.TransportURL
}

func (a managedAcceptor) Factory() string {
	return "org.apache.activemq.artemis.core.remoting.impl.netty.NettyAcceptorFactory"
}

// coreParams are the parameters of an acceptor URL that the transport itself knows; others are the protocols'.
func (a managedAcceptor) Params() map[string]any {
	out := map[string]any{"scheme": a.url.Scheme, "host": a.url.Host, "port": fmt.Sprint(a.url.Port)}
	for k, v := range a.url.Params {
		out[k] = v
	}
	return out
}

func (a managedAcceptor) ExtraParams() map[string]any { return map[string]any{} }
func (a managedAcceptor) Start() error                { return a.Resume() }
func (a managedAcceptor) Stop() error                 { a.Pause(); return nil }

func (n *node) managedAcceptors() []management.Acceptor {
	var out []management.Acceptor
	if n.remoting == nil {
		return nil
	}
	for _, a := range n.remoting.Acceptors() {
		out = append(out, managedAcceptor{a, n.acceptors.get(a.Name()).URL})
	}
	return out
}
