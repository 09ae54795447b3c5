package security

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// User is an entry of user management.
type User struct {
	Name  string
	Roles []string
}

// Users is user management: the files of a PropertiesLoginModule or the records of the basic manager. A password is
// stored as it is given: [HashPassword] comes before. Methods are safe for concurrent use and return when the change is
// on disk. An *[UserError] says that the user is there already or not at all.
type Users interface {
	AddUser(name, password string, roles []string) error
	RemoveUser(name string) error
	// ListUsers lists one user or, with "", all.
	ListUsers(name string) ([]User, error)
	// ResetUser changes the password, unless "", and the roles, unless there are none.
	ResetUser(name, password string, roles []string) error
}

// UserError refuses an operation because of the user's existence, in the words of Artemis.
type UserError struct {
	Name   string
	Exists bool
}

func (e *UserError) Error() string {
	if e.Exists {
		return "AMQ229223: User " + e.Name + " already exists"
	}
	return "AMQ229224: User " + e.Name + " does not exist"
}

// UserFiles manages the two files of a PropertiesLoginModule. Comments and the order of entries are kept; each file is
// replaced in one step and readable by its owner only.
type UserFiles struct {
	UsersPath, RolesPath string

	mu sync.Mutex
}

// UserFiles are the files of the realm's first PropertiesLoginModule. One value serves all callers, as it orders them.
func (r *JAAS) UserFiles() (*UserFiles, error) {
	for _, m := range r.modules {
		if module, ok := m.module.(*propertiesModule); ok {
			return &UserFiles{UsersPath: module.users.path, RolesPath: module.roles.path}, nil
		}
	}
	return nil, fmt.Errorf("AMQ229222: Failed to find login module entry %s from JAAS configuration", r.name)
}

// userEdit is a change of both files.
type userEdit struct {
	users, roles *Properties
}

func (f *UserFiles) load() (userEdit, error) {
	users, err := readPropertiesFile(f.UsersPath)
	if err != nil {
		return userEdit{}, fmt.Errorf("AMQ229220: Failed to load user file: %s: %w", filepath.Base(f.UsersPath), err)
	}
	roles, err := readPropertiesFile(f.RolesPath)
	if err != nil {
		return userEdit{}, fmt.Errorf("AMQ229221: Failed to load role file: %s: %w", filepath.Base(f.RolesPath), err)
	}
	return userEdit{users, roles}, nil
}

func (f *UserFiles) saveUsers(e userEdit) error {
	if err := writeSecretFile(f.UsersPath, e.users.Bytes()); err != nil {
		return fmt.Errorf("write users: %w", err)
	}
	return nil
}

func (f *UserFiles) saveRoles(e userEdit) error {
	if err := writeSecretFile(f.RolesPath, e.roles.Bytes()); err != nil {
		return fmt.Errorf("write roles: %w", err)
	}
	return nil
}

// AddUser adds a user. The roles are written first: the user never exists without them.
func (f *UserFiles) AddUser(name, password string, roles []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := validUser(name, password, roles); err != nil {
		return err
	}
	e, err := f.load()
	if err != nil {
		return err
	}
	if _, ok := e.users.Get(name); ok {
		return &UserError{name, true}
	}
	e.users.Set(name, password)
	e.removeRoles(name)
	e.addRoles(name, roles)
	if err := f.saveRoles(e); err != nil {
		return err
	}
	return f.saveUsers(e)
}

// RemoveUser removes a user, who is gone before the roles are.
func (f *UserFiles) RemoveUser(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := f.load()
	if err != nil {
		return err
	}
	if _, ok := e.users.Get(name); !ok {
		return &UserError{name, false}
	}
	e.users.Delete(name)
	e.removeRoles(name)
	if err := f.saveUsers(e); err != nil {
		return err
	}
	return f.saveRoles(e)
}

// ListUsers lists users in the order of the file; a single one that is not there has no roles.
func (f *UserFiles) ListUsers(name string) ([]User, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := f.load()
	if err != nil {
		return nil, err
	}
	if name != "" {
		return []User{{name, e.rolesOf(name)}}, nil
	}
	var list []User
	for _, name := range e.users.Keys() {
		list = append(list, User{name, e.rolesOf(name)})
	}
	return list, nil
}

// ResetUser changes the password and the roles of a user.
func (f *UserFiles) ResetUser(name, password string, roles []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := validUser(name, "-", roles); err != nil {
		return err
	}
	e, err := f.load()
	if err != nil {
		return err
	}
	if _, ok := e.users.Get(name); !ok {
		return &UserError{name, false}
	}
	if len(roles) > 0 {
		e.removeRoles(name)
		e.addRoles(name, roles)
		if err := f.saveRoles(e); err != nil {
			return err
		}
	}
	if password == "" {
		return nil
	}
	e.users.Set(name, password)
	return f.saveUsers(e)
}

// validUser refuses what the files could not hold: a comma separates names there.
func validUser(name, password string, roles []string) error {
	switch {
	case name == "":
		return fmt.Errorf("AMQ229072: User cannot be null")
	case strings.Contains(name, ","):
		return fmt.Errorf("user %q: a name cannot contain a comma", name)
	case password == "":
		return fmt.Errorf("user %s: the password is empty", name)
	}
	for _, role := range roles {
		if strings.TrimSpace(role) == "" {
			return fmt.Errorf("user %s: a role is empty", name)
		}
	}
	return nil
}

func (e userEdit) rolesOf(name string) []string {
	var roles []string
	for _, role := range e.roles.Keys() {
		if users, _ := e.roles.Get(role); slices.Contains(splitNames(users), name) {
			roles = append(roles, role)
		}
	}
	return roles
}

func (e userEdit) addRoles(name string, roles []string) {
	for _, role := range roles {
		role = strings.TrimSpace(role)
		users, _ := e.roles.Get(role)
		names := splitNames(users)
		if !slices.Contains(names, name) {
			e.roles.Set(role, strings.Join(append(names, name), ","))
		}
	}
}

// removeRoles takes the user out of all roles. A role without users goes.
func (e userEdit) removeRoles(name string) {
	for _, role := range e.roles.Keys() {
		users, _ := e.roles.Get(role)
		names := splitNames(users)
		if !slices.Contains(names, name) {
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		if len(names) == 0 {
			e.roles.Delete(role)
		} else {
			e.roles.Set(role, strings.Join(names, ","))
		}
	}
}

// splitNames cuts "user1, user2" into names.
func splitNames(users string) []string {
	var names []string
	for _, name := range strings.Split(users, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
