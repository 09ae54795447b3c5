package security

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// A Realm checks credentials. Login may block on files or a directory service; it is called concurrently. The error
// says which part refused what, for the operator only.
type Realm interface {
	Login(ctx context.Context, c Credentials) (Principal, error)
}

// Flag says what the success or failure of a login module means for its realm.
type Flag string

const (
	Required   Flag = "required"   // must succeed; the rest is tried anyway
	Requisite  Flag = "requisite"  // must succeed; a failure ends the login
	Sufficient Flag = "sufficient" // a success ends the login, a failure does no harm
	Optional   Flag = "optional"   // neither matters, but one module of the realm has to succeed
)

// ModuleConfig is one login module of a realm, as in login.config.
type ModuleConfig struct {
	Class   string // Java class name
	Flag    Flag
	Options map[string]string
}

// JAAS is a realm of login.config: a list of login modules, evaluated by the rules of JAAS. Modules first check
// (login), and when the whole list is content they add users and roles to the subject (commit).
type JAAS struct {
	name    string
	modules []configuredModule
	log     hclog.Logger
}

type configuredModule struct {
	ModuleConfig
	module loginModule
}

// A loginModule is used by concurrent logins.
type loginModule interface {
	login(ctx context.Context, c Credentials) (attempt, error)
}

// attempt is a login in progress of one module.
type attempt struct {
	accepted bool                // false without error: the module has nothing to say
	commit   func(*subject) bool // adds to the subject; false when it is not the module that let the client in
}

// subject gathers what the modules of a realm know about a client.
type subject struct {
	users []string
	roles []string
}

func (s *subject) addUser(name string) {
	if !slices.Contains(s.users, name) {
		s.users = append(s.users, name)
	}
}

func (s *subject) addRoles(names ...string) {
	for _, name := range names {
		if !slices.Contains(s.roles, name) {
			s.roles = append(s.roles, name)
		}
	}
}

// unavailable marks an error that says nothing about the credentials, so that it is not remembered.
type unavailable struct{ error }

func (e unavailable) Unwrap() error { return e.error }

// errIgnored is the failure of a realm in which every module had nothing to say.
var errIgnored = errors.New("no login module accepts these credentials")

// NewJAAS makes a realm. Relative file names in options are below dir, the folder of login.config. A module that is not
// built in, and a bad option, is an error. log may be nil.
func NewJAAS(name string, modules []ModuleConfig, dir string, log hclog.Logger) (*JAAS, error) {
	if len(modules) == 0 {
		return nil, fmt.Errorf("realm %s has no login module", name)
	}
	if log == nil {
		log = hclog.NewNullLogger()
	}
	r := &JAAS{name: name, log: log}
	for _, config := range modules {
		switch config.Flag {
		case Required, Requisite, Sufficient, Optional:
		default:
			return nil, fmt.Errorf("realm %s: login module %s: flag %q, want required, requisite, sufficient or optional", name, config.Class, config.Flag)
		}
		module, err := newModule(config, dir, log)
		if err != nil {
			return nil, fmt.Errorf("realm %s: login module %s: %w", name, config.Class, err)
		}
		r.modules = append(r.modules, configuredModule{config, module})
	}
	return r, nil
}

// Login runs the modules.
func (r *JAAS) Login(ctx context.Context, c Credentials) (Principal, error) {
	attempts := make([]attempt, len(r.modules))
	outage := false
	err := r.evaluate(func(i int) (bool, error) {
		a, err := r.modules[i].module.login(ctx, c)
		attempts[i] = a
		outage = outage || errors.As(err, new(unavailable))
		return a.accepted, err
	})
	var s subject
	if err == nil {
		err = r.evaluate(func(i int) (bool, error) {
			return attempts[i].commit != nil && attempts[i].commit(&s), nil
		})
	}
	if err == nil && len(s.users) == 0 {
		err = unavailable{errors.New("the login modules give no user")}
	}
	if err != nil {
		if outage {
			err = unavailable{err}
		}
		return Principal{}, err
	}
	slices.Sort(s.roles)
	return Principal{User: s.users[0], Roles: s.roles}, nil
}

// evaluate runs a step of all modules and combines the results by their flags.
func (r *JAAS) evaluate(step func(i int) (bool, error)) error {
	var refused, failed error // of a required module, of any
	succeeded := false
	for i, m := range r.modules {
		ok, err := step(i)
		if err != nil {
			err = fmt.Errorf("realm %s: %s: %w", r.name, m.Class[lastDot(m.Class)+1:], err)
			if failed == nil {
				failed = err
			}
			if refused == nil && (m.Flag == Required || m.Flag == Requisite) {
				refused = err
			}
			if m.Flag == Requisite {
				return refused
			}
			continue
		}
		if ok {
			succeeded = true
			if m.Flag == Sufficient && refused == nil {
				return nil
			}
		}
	}
	switch {
	case refused != nil:
		return refused
	case succeeded:
		return nil
	case failed != nil:
		return failed
	default:
		return fmt.Errorf("realm %s: %w", r.name, errIgnored)
	}
}

// Anonymous is who a client without credentials becomes, false when it does not get in: an instance that makes an
// administrator of everybody says so at every start.
func (r *JAAS) Anonymous() (Principal, bool) {
	p, err := r.Login(context.Background(), Credentials{})
	return p, err == nil
}
