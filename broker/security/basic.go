package security

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// BasicManagerClass is the security manager of bootstrap.xml that [Basic] stands for.
const BasicManagerClass = "org.apache.activemq.artemis.spi.core.security.ActiveMQBasicSecurityManager"

// UserRecords keeps the users and roles of the basic manager, in the bindings journal. A method returns when the record
// is on disk. Storing replaces what is there.
type UserRecords interface {
	StoreUser(name, password string) error
	DeleteUser(name string) error
	StoreRoles(user string, roles []string) error
	DeleteRoles(user string) error
}

// StoredUser is a user that was loaded from the records.
type StoredUser struct {
	Password string
	Roles    []string
}

// Bootstrap are the properties of the security-manager element, all users that it creates or updates at each start.
type Bootstrap struct {
	User, Password, Role string
	UserFile, RoleFile   string // "" or both; instead of the three above
}

// ErrNotActive is the error of the basic manager before [Basic.Open] and after [Basic.Close]: a backup has no records.
var ErrNotActive = errors.New("users are kept in the bindings journal, which is open on the live server only")

// Basic is the basic security manager: a realm whose users are records. It is safe for concurrent use.
type Basic struct {
	log hclog.Logger

	mu      sync.RWMutex
	records UserRecords // nil: not active
	users   map[string]StoredUser
}

// NewBasic makes the manager, which lets nobody in until it is opened. log may be nil.
func NewBasic(log hclog.Logger) *Basic {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return &Basic{log: log}
}

// Open starts the manager with the users found in the records, and applies the bootstrap users: Artemis writes them at
// every start, so that a password that was reset since is back.
func (b *Basic) Open(records UserRecords, existing map[string]StoredUser, bootstrap Bootstrap) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records, b.users = records, make(map[string]StoredUser)
	for name, user := range existing {
		b.users[name] = user
	}
	users, err := bootstrap.users()
	if err != nil {
		return fmt.Errorf("bootstrap users: %w", err)
	}
	if len(users) == 0 {
		b.log.Warn("AMQ222299: No bootstrap credentials found. User management may not function.")
	}
	for _, u := range users {
		if err := b.store(u.name, u.Password, u.Roles); err != nil {
			return fmt.Errorf("bootstrap user %s: %w", u.name, err)
		}
	}
	return nil
}

// Close makes the manager inactive.
func (b *Basic) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records, b.users = nil, nil
}

type namedUser struct {
	name string
	StoredUser
}

func (b Bootstrap) users() ([]namedUser, error) {
	if b.UserFile != "" && b.RoleFile != "" {
		users, err := readPropertiesFile(b.UserFile)
		if err != nil {
			return nil, err
		}
		roles, err := readPropertiesFile(b.RoleFile)
		if err != nil {
			return nil, err
		}
		byUser, err := rolesByUser(roles)
		if err != nil {
			return nil, err
		}
		var list []namedUser
		for _, name := range users.Keys() {
			password, _ := users.Get(name)
			list = append(list, namedUser{name, StoredUser{password, byUser[name]}})
		}
		return list, nil
	}
	if b.User == "" || b.Password == "" || b.Role == "" {
		return nil, nil
	}
	return []namedUser{{b.User, StoredUser{b.Password, []string{b.Role}}}}, nil
}

// Login compares the password, plain or hashed.
func (b *Basic) Login(_ context.Context, c Credentials) (Principal, error) {
	b.mu.RLock()
	active := b.records != nil
	user, ok := b.users[c.User]
	b.mu.RUnlock()
	switch {
	case !active:
		return Principal{}, unavailable{ErrNotActive}
	case !ok || c.User == "":
		return Principal{}, fmt.Errorf("User does not exist: %s", c.User)
	}
	match, err := verifyPassword(c.Password, user.Password, verifyHash)
	if err != nil {
		return Principal{}, unavailable{fmt.Errorf("stored password of user %s: %w", c.User, err)}
	}
	if !match {
		return Principal{}, fmt.Errorf("Password does not match for user: %s", c.User) //lint:ignore ST1005 the text of Artemis
	}
	return Principal{User: c.User, Roles: slices.Sorted(slices.Values(user.Roles))}, nil
}

// store writes a user, new or not; password "" and no roles mean unchanged.
func (b *Basic) store(name, password string, roles []string) error {
	user := b.users[name]
	if password != "" {
		if err := b.records.StoreUser(name, password); err != nil {
			return err
		}
		user.Password = password
	}
	if len(roles) > 0 {
		if err := b.records.StoreRoles(name, roles); err != nil {
			return err
		}
		user.Roles = roles
	}
	b.users[name] = user
	return nil
}

// AddUser adds a user.
func (b *Basic) AddUser(name, password string, roles []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.check(name, false); err != nil {
		return err
	}
	if err := validUser(name, password, roles); err != nil {
		return err
	}
	return b.store(name, password, trimAll(roles))
}

// RemoveUser removes a user.
func (b *Basic) RemoveUser(name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.check(name, true); err != nil {
		return err
	}
	if err := b.records.DeleteUser(name); err != nil {
		return err
	}
	delete(b.users, name)
	return b.records.DeleteRoles(name)
}

// ListUsers lists users sorted by name. One that is not there is an error, in difference to [UserFiles].
func (b *Basic) ListUsers(name string) ([]User, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if name != "" {
		if err := b.check(name, true); err != nil {
			return nil, err
		}
		return []User{{name, slices.Clone(b.users[name].Roles)}}, nil
	}
	if b.records == nil {
		return nil, ErrNotActive
	}
	var list []User
	for name, user := range b.users {
		list = append(list, User{name, slices.Clone(user.Roles)})
	}
	slices.SortFunc(list, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// ResetUser changes the password and the roles of a user.
func (b *Basic) ResetUser(name, password string, roles []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.check(name, true); err != nil {
		return err
	}
	if err := validUser(name, "-", roles); err != nil {
		return err
	}
	return b.store(name, password, trimAll(roles))
}

func (b *Basic) check(name string, exists bool) error {
	if b.records == nil {
		return ErrNotActive
	}
	if _, ok := b.users[name]; ok != exists {
		return &UserError{name, ok}
	}
	return nil
}

func trimAll(texts []string) []string {
	var trimmed []string
	for _, t := range texts {
		trimmed = append(trimmed, strings.TrimSpace(t))
	}
	return trimmed
}
