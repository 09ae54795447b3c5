package security

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// Options of the TextFileCertificateLoginModule.
const (
	dnUsersFileOption = "org.apache.activemq.jaas.textfiledn.user"
	dnRolesFileOption = "org.apache.activemq.jaas.textfiledn.role"
)

// textFileCertificateModule knows users by the subject of their certificate, from a file "user = DN" or
// "user = /regular expression/", and roles from a file "role = user,user". A DN must stand there in the form of
// [DistinguishedName]; with normalise=true other spellings are understood too.
type textFileCertificateModule struct {
	users *reloadable[dnUsers]
	roles *reloadable[map[string][]string]
}

type dnUsers struct {
	byDN        map[string]string
	expressions []dnExpression // in the order of the file
}

type dnExpression struct {
	user    string
	pattern *regexp.Regexp
}

func newTextFileCertificateModule(o moduleOptions, log hclog.Logger) (*textFileCertificateModule, error) {
	for _, name := range []string{dnUsersFileOption, dnRolesFileOption} {
		if o.text(name, "") == "" {
			return nil, fmt.Errorf("option %s is missing", name)
		}
	}
	normalise := o.is("normalise")
	path := o.path(dnUsersFileOption, "")
	build := func(p *Properties) (dnUsers, error) { return readDNUsers(p, normalise, path, log), nil }
	return &textFileCertificateModule{
		users: &reloadable[dnUsers]{path: path, reload: o.is("reload"), log: log, build: build},
		roles: &reloadable[map[string][]string]{path: o.path(dnRolesFileOption, ""), reload: o.is("reload"), log: log, build: rolesByUser},
	}, nil
}

func readDNUsers(p *Properties, normalise bool, path string, log hclog.Logger) dnUsers {
	users := dnUsers{byDN: make(map[string]string)}
	for _, user := range p.Keys() {
		dn, _ := p.Get(user)
		if len(dn) > 2 && strings.HasPrefix(dn, "/") && strings.HasSuffix(dn, "/") {
			pattern, err := regexp.Compile(`\A(?:` + dn[1:len(dn)-1] + `)\z`)
			if err != nil {
				log.Warn("Ignoring invalid regexp: "+dn, "file", path, "user", user, "error", err)
				continue
			}
			users.expressions = append(users.expressions, dnExpression{user, pattern})
			continue
		}
		if normalise {
			dn = normalizeDN(dn)
		}
		users.byDN[dn] = user
	}
	return users
}

func (u dnUsers) find(dn string) (user string, ok bool) {
	if user, ok := u.byDN[dn]; ok {
		return user, true
	}
	for _, e := range u.expressions {
		if e.pattern.MatchString(dn) {
			return e.user, true
		}
	}
	return "", false
}

func (m *textFileCertificateModule) login(_ context.Context, c Credentials) (attempt, error) {
	if len(c.PeerCertificates) == 0 {
		return attempt{}, errors.New("Client certificates not found. Cannot authenticate.") //lint:ignore ST1005 the text of Artemis
	}
	users, err := m.users.get()
	if err != nil {
		return attempt{}, err
	}
	roles, err := m.roles.get()
	if err != nil {
		return attempt{}, err
	}
	user, ok := users.find(c.SubjectDN())
	if !ok {
		return attempt{}, fmt.Errorf("No user for client certificate: %s", c.SubjectDN()) //lint:ignore ST1005 the text of Artemis
	}
	return attempt{true, func(s *subject) bool {
		s.addUser(user)
		s.addRoles(roles[user]...)
		return true
	}}, nil
}

// externalCertificateModule takes the subject of the certificate as the user. Roles come from other modules.
type externalCertificateModule struct{}

func (externalCertificateModule) login(_ context.Context, c Credentials) (attempt, error) {
	present := len(c.PeerCertificates) > 0
	return attempt{present, func(s *subject) bool {
		if present {
			s.addUser(c.SubjectDN())
		}
		return true
	}}, nil
}
