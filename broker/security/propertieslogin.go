package security

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// Options of the PropertiesLoginModule.
const (
	usersFileOption     = "org.apache.activemq.jaas.properties.user"
	rolesFileOption     = "org.apache.activemq.jaas.properties.role"
	passwordCodecOption = "org.apache.activemq.jaas.properties.password.codec"
)

// propertiesModule knows users from a file "user = password" and roles from a file "role = user,user". Names in the
// second are taken as they stand, blanks behind a comma included.
type propertiesModule struct {
	users  *reloadable[map[string]string]
	roles  *reloadable[map[string][]string]
	verify verifier
}

func newPropertiesModule(o moduleOptions, log hclog.Logger) (*propertiesModule, error) {
	verify, err := newVerifier(o.text(passwordCodecOption, ""), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return &propertiesModule{
		users:  &reloadable[map[string]string]{path: o.path(usersFileOption, "user"), reload: o.is("reload"), log: log, build: textValues},
		roles:  &reloadable[map[string][]string]{path: o.path(rolesFileOption, "role"), reload: o.is("reload"), log: log, build: rolesByUser},
		verify: verify,
	}, nil
}

// rolesByUser turns "role = user,user" around.
func rolesByUser(p *Properties) (map[string][]string, error) {
	roles := make(map[string][]string)
	for _, role := range p.Keys() {
		users, _ := p.Get(role)
		for _, user := range strings.Split(users, ",") {
			if !slices.Contains(roles[user], role) {
				roles[user] = append(roles[user], role)
			}
		}
	}
	return roles, nil
}

func (m *propertiesModule) login(_ context.Context, c Credentials) (attempt, error) {
	roles, err := m.roles.get()
	if err != nil {
		return attempt{}, err
	}
	user, err := m.check(c)
	return attempt{
		accepted: err == nil,
		commit: func(s *subject) bool {
			if err == nil {
				s.addUser(user)
			}
			for _, name := range s.users { // also those that other modules found
				s.addRoles(roles[name]...)
			}
			return err == nil
		},
	}, err
}

func (m *propertiesModule) check(c Credentials) (user string, err error) {
	users, err := m.users.get()
	if err != nil {
		return "", err
	}
	if c.User == "" {
		return "", errors.New("User is null")
	}
	stored, ok := users[c.User]
	if !ok {
		return "", fmt.Errorf("User does not exist: %s", c.User)
	}
	match, err := verifyPassword(c.Password, stored, m.verify)
	if err != nil {
		return "", unavailable{fmt.Errorf("stored password of user %s: %w", c.User, err)}
	}
	if !match {
		return "", fmt.Errorf("Password does not match for user: %s", c.User) //lint:ignore ST1005 the text of Artemis
	}
	return c.User, nil
}
