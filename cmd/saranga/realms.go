package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
)

// realms are the realms that bootstrap.xml names, as login.config and the broker properties define them now.
type realms struct {
	login, certificate liveRealm
	domains            map[string]*liveRealm // by the securityDomain of an acceptor
	basic              *security.Basic       // nil unless users are kept in the store
	users              security.Users        // nil: they cannot be managed
}

// A liveRealm is a realm whose definition can change.
type liveRealm struct{ now atomic.Pointer[security.JAAS] }

// Login implements security.Realm.
func (r *liveRealm) Login(ctx context.Context, c security.Credentials) (security.Principal, error) {
	return r.now.Load().Login(ctx, c)
}

// reload takes the realms of an instance; on an error those in force stay.
func (r *realms) reload(in *config.Instance, log hclog.Logger) error {
	j := in.Bootstrap.JAAS
	if j == nil || !in.Broker.SecurityEnabled {
		return nil
	}
	login, err := newRealm(in, j.Domain, log)
	if err != nil {
		return err
	}
	var certificate *security.JAAS
	if j.CertificateDomain != "" {
		if certificate, err = newRealm(in, j.CertificateDomain, log); err != nil {
			return err
		}
	}
	domains := map[string]*security.JAAS{}
	for _, a := range in.Broker.Acceptors {
		if name := a.URL.Params["securityDomain"]; name != "" && domains[name] == nil {
			if domains[name], err = newRealm(in, name, log); err != nil {
				return fmt.Errorf("acceptor %s: %w", a.Name, err)
			}
		}
	}
	for name, realm := range domains {
		if r.domains == nil { // acceptors and their domains are those of the start
			r.domains = map[string]*liveRealm{}
		}
		if r.domains[name] == nil {
			r.domains[name] = &liveRealm{}
		}
		r.domains[name].now.Store(realm)
	}
	if files, err := login.UserFiles(); err == nil && r.users == nil {
		r.users = files
	}
	r.login.now.Store(login)
	r.certificate.now.Store(certificate)
	return nil
}

func newRealm(in *config.Instance, name string, log hclog.Logger) (*security.JAAS, error) {
	r := in.Login.Realm(name)
	if r == nil {
		return nil, fmt.Errorf("%s: bootstrap.xml names the realm %q, which login.config does not have", in.Etc, name)
	}
	var modules []security.ModuleConfig
	for _, m := range r.Modules {
		modules = append(modules, security.ModuleConfig{Class: m.Class, Flag: security.Flag(m.Flag), Options: m.Options})
	}
	return security.NewJAAS(name, modules, in.Login.Dir, log)
}

// newAuthenticator makes what checks logins.
func newAuthenticator(in *config.Instance, r *realms, log hclog.Logger) (*security.Authenticator, error) {
	o := security.AuthenticatorOptions{Disabled: !in.Broker.SecurityEnabled, ClusterUser: in.Broker.ClusterUser, ClusterPassword: in.Broker.ClusterPassword,
		CacheSize: int(in.Broker.AuthenticationCacheSize), Invalidation: in.Broker.SecurityInvalidationInterval, Log: log}
	if err := r.reload(in, log); err != nil {
		return nil, err
	}
	if r.login.now.Load() != nil {
		o.Realm = &r.login
	}
	if r.certificate.now.Load() != nil {
		o.CertificateRealm = &r.certificate
	}
	if m := in.Bootstrap.SecurityManager; m != nil && m.ClassName == security.BasicManagerClass && !o.Disabled {
		r.basic = security.NewBasic(log)
		r.users, o.Realm = r.basic, r.basic
	}
	if o.Realm == nil && !o.Disabled {
		return nil, errors.New("bootstrap.xml names no realm for logins that this version knows: use <jaas-security> or the basic security manager")
	}
	o.Domains = map[string]security.Realm{}
	for name, realm := range r.domains {
		o.Domains[name] = realm
	}
	return security.NewAuthenticator(o), nil
}
