package security

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func userFiles(t *testing.T, users, roles string) *UserFiles {
	dir := t.TempDir()
	f := &UserFiles{UsersPath: filepath.Join(dir, "artemis-users.properties"), RolesPath: filepath.Join(dir, "artemis-roles.properties")}
	writeFile(t, f.UsersPath, users)
	writeFile(t, f.RolesPath, roles)
	return f
}

func (f *UserFiles) expect(t *testing.T, step, users, roles string) {
	t.Helper()
	for path, want := range map[string]string{f.UsersPath: users, f.RolesPath: roles} {
		data, err := os.ReadFile(path)
		if err != nil || string(data) != want {
			t.Errorf("%s: %s is %q, %v, want %q", step, filepath.Base(path), data, err, want)
		}
	}
}

func TestUserFiles(t *testing.T) {
	f := userFiles(t, "# users\n\nadmin = ENC(1:2:3)", "# roles\n\namq = admin")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.AddUser("bob", "pw", []string{"amq", " view "}))
	f.expect(t, "add", "# users\n\nadmin = ENC(1:2:3)\nbob = pw\n", "# roles\n\namq = admin,bob\nview = bob\n")
	if info, err := os.Stat(f.UsersPath); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	list, err := f.ListUsers("")
	if got := fmt.Sprint(list); got != "[{admin [amq]} {bob [amq view]}]" || err != nil {
		t.Errorf("list: %s, %v", got, err)
	}
	list, err = f.ListUsers("nobody")
	if got := fmt.Sprint(list); got != "[{nobody []}]" || err != nil {
		t.Errorf("list of an unknown user: %s, %v", got, err)
	}
	must(f.ResetUser("bob", "new", nil))
	f.expect(t, "new password", "# users\n\nadmin = ENC(1:2:3)\nbob = new\n", "# roles\n\namq = admin,bob\nview = bob\n")
	must(f.ResetUser("bob", "", []string{"edit"}))
	f.expect(t, "new roles", "# users\n\nadmin = ENC(1:2:3)\nbob = new\n", "# roles\n\namq = admin\nedit = bob\n")
	must(f.RemoveUser("bob"))
	f.expect(t, "remove", "# users\n\nadmin = ENC(1:2:3)\n", "# roles\n\namq = admin\n")
	for _, c := range []struct {
		err  error
		want string
	}{
		{f.AddUser("admin", "x", nil), "AMQ229223: User admin already exists"},
		{f.RemoveUser("u1"), "AMQ229224: User u1 does not exist"},
		{f.ResetUser("u1", "x", nil), "AMQ229224: User u1 does not exist"},
	} {
		if !errors.As(c.err, new(*UserError)) || c.err.Error() != c.want {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
	for _, err := range []error{f.AddUser("", "x", nil), f.AddUser("a,b", "x", nil), f.AddUser("a", "", nil), f.AddUser("a", "x", []string{" "})} {
		if err == nil {
			t.Error("a bad user is accepted")
		}
	}
	must(os.Remove(f.RolesPath))
	if _, err := f.ListUsers(""); err == nil || !strings.HasPrefix(err.Error(), "AMQ229221: Failed to load role file: artemis-roles.properties") {
		t.Errorf("without roles: %v", err)
	}
	must(os.Remove(f.UsersPath))
	if err := f.RemoveUser("x"); err == nil || !strings.HasPrefix(err.Error(), "AMQ229220: Failed to load user file: artemis-users.properties") {
		t.Errorf("without users: %v", err)
	}
}

// A realm sees what its user management writes.
func TestUserFilesOfRealm(t *testing.T) {
	r, err := NewJAAS("activemq", []ModuleConfig{guest(Optional), properties(Required)}, etc(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.UserFiles()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := HashPassword("geheim")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddUser("über uns", hash, []string{"amq"}); err != nil {
		t.Fatal(err)
	}
	p, err := r.Login(context.Background(), Credentials{User: "über uns", Password: "geheim"})
	if err != nil || !p.HasRole("amq") {
		t.Errorf("%v, %v", p, err)
	}
	only, err := NewJAAS("activemq", []ModuleConfig{guest(Optional)}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := only.UserFiles(); err == nil || err.Error() != "AMQ229222: Failed to find login module entry activemq from JAAS configuration" {
		t.Error(err)
	}
}

// memoryRecords are records that can fail.
type memoryRecords struct {
	users map[string]string
	roles map[string]string
	err   error
}

func (m *memoryRecords) StoreUser(name, password string) error {
	if m.err == nil {
		m.users[name] = password
	}
	return m.err
}

func (m *memoryRecords) DeleteUser(name string) error {
	if m.err == nil {
		delete(m.users, name)
	}
	return m.err
}

func (m *memoryRecords) StoreRoles(user string, roles []string) error {
	if m.err == nil {
		m.roles[user] = strings.Join(roles, ",")
	}
	return m.err
}

func (m *memoryRecords) DeleteRoles(user string) error {
	if m.err == nil {
		delete(m.roles, user)
	}
	return m.err
}

func TestBasic(t *testing.T) {
	records := &memoryRecords{users: map[string]string{}, roles: map[string]string{}}
	b := NewBasic(nil)
	login := func(user, password string) string {
		p, err := b.Login(context.Background(), Credentials{User: user, Password: password})
		if err != nil {
			return err.Error()
		}
		return p.String()
	}
	if got := login("admin", "admin"); got != ErrNotActive.Error() {
		t.Errorf("closed: %s", got)
	}
	if err := b.AddUser("x", "y", nil); !errors.Is(err, ErrNotActive) {
		t.Errorf("closed: %v", err)
	}
	if _, err := b.ListUsers(""); !errors.Is(err, ErrNotActive) {
		t.Errorf("closed: %v", err)
	}
	existing := map[string]StoredUser{"old": {"pw", []string{"view"}}, "admin": {"changed", []string{"amq"}}}
	hash := goldenRows(t, "hashes.tsv", 3)[0][2] // of "admin"
	if err := b.Open(records, existing, Bootstrap{User: "admin", Password: hash, Role: "amq"}); err != nil {
		t.Fatal(err)
	}
	for credentials, want := range map[[2]string]string{
		{"admin", "admin"}:   "admin(amq)", // bootstrap takes back a changed password
		{"admin", "changed"}: "Password does not match for user: admin",
		{"old", "pw"}:        "old(view)",
		{"eve", "pw"}:        "User does not exist: eve",
		{"", ""}:             "User does not exist: ",
	} {
		if got := login(credentials[0], credentials[1]); got != want {
			t.Errorf("%v: %s, want %s", credentials, got, want)
		}
	}
	if err := b.AddUser("bob", "pw", []string{"x ", "a"}); err != nil {
		t.Fatal(err)
	}
	if got := login("bob", "pw"); got != "bob(a,x)" {
		t.Error(got)
	}
	if err := b.ResetUser("bob", "new", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.ResetUser("old", "", []string{"edit"}); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveUser("admin"); err != nil {
		t.Fatal(err)
	}
	if got := login("bob", "new") + login("old", "pw"); got != "bob(a,x)old(edit)" {
		t.Error(got)
	}
	if !maps.Equal(records.users, map[string]string{"bob": "new"}) || !maps.Equal(records.roles, map[string]string{"bob": "x,a", "old": "edit"}) {
		t.Errorf("records %v, %v", records.users, records.roles)
	}
	list, err := b.ListUsers("")
	if got := fmt.Sprint(list); got != "[{bob [x a]} {old [edit]}]" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, err := range []error{b.AddUser("bob", "x", nil), b.RemoveUser("admin"), b.ResetUser("admin", "x", nil)} {
		if !errors.As(err, new(*UserError)) {
			t.Errorf("%v is no UserError", err)
		}
	}
	if _, err := b.ListUsers("admin"); err == nil || err.Error() != "AMQ229224: User admin does not exist" {
		t.Error(err)
	}
	records.err = errors.New("disk full")
	if err := b.ResetUser("bob", "lost", nil); err == nil || login("bob", "new") != "bob(a,x)" {
		t.Errorf("a change that was not stored counts: %v", err)
	}
	if err := b.RemoveUser("bob"); err == nil || login("bob", "new") != "bob(a,x)" {
		t.Errorf("a removal that was not stored counts: %v", err)
	}
	b.Close()
	if got := login("bob", "new"); got != ErrNotActive.Error() {
		t.Errorf("closed again: %s", got)
	}
}

func TestBootstrapFiles(t *testing.T) {
	dir := etc(t)
	records := &memoryRecords{users: map[string]string{}, roles: map[string]string{}}
	b := NewBasic(nil)
	bootstrap := Bootstrap{UserFile: filepath.Join(dir, "users"), RoleFile: filepath.Join(dir, "roles")}
	if err := b.Open(records, nil, bootstrap); err != nil {
		t.Fatal(err)
	}
	p, err := b.Login(context.Background(), Credentials{User: "admin", Password: "secret"})
	if err != nil || p.String() != "admin(amq)" || records.roles["admin"] != "amq" {
		t.Errorf("%v, %v, %v", p, err, records.roles)
	}
	bootstrap.RoleFile += ".missing"
	if err := b.Open(records, nil, bootstrap); err == nil {
		t.Error("a missing role file is accepted")
	}
}
