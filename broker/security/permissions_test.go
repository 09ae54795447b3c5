package security

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestPermissions runs the scripts in testdata/permissions.
//
//	settings [delimiter=… any-words=… single-word=…]   replaces all settings: "match" or "match: type=role,role …"
//	put, remove                                        one setting, one match
//	match                                              which match applies to each address
//	check                                              "roles PERMISSION address [queue]" for user u
func TestPermissions(t *testing.T) {
	datadriven.Walk(t, "testdata/permissions", func(t *testing.T, path string) {
		var p *Permissions
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			lines := strings.Split(d.Input, "\n")
			switch d.Cmd {
			case "settings":
				var w Wildcards
				d.MaybeScanArgs(t, "delimiter", &w.Delimiter)
				d.MaybeScanArgs(t, "any-words", &w.AnyWords)
				d.MaybeScanArgs(t, "single-word", &w.SingleWord)
				var list []Setting
				for _, line := range lines {
					list = append(list, parseSetting(t, line))
				}
				made, err := NewPermissions(PermissionsOptions{Wildcards: w, CacheSize: 100}, list)
				if err != nil {
					if !errors.Is(err, ErrMatch) {
						t.Errorf("%v is not ErrMatch", err)
					}
					return err.Error() + "\n"
				}
				p = made
			case "put":
				if err := p.Put(parseSetting(t, d.Input)); err != nil {
					return err.Error()
				}
			case "remove":
				if err := p.Remove(d.Input); err != nil {
					return err.Error()
				}
			case "match":
				for range 3 { // from the search, from the pending cache, from the published one
					out.Reset()
					for _, address := range lines {
						match := p.For(address).Match
						if strings.Contains(address, "::") {
							match = p.settings.Load().find(address, "").Match // as the repository sees it
						}
						if match == "" {
							match = "none"
						}
						fmt.Fprintf(&out, "%s -> %s\n", address, match)
					}
				}
			case "check":
				for _, line := range lines {
					fields := strings.Fields(line)
					queue := ""
					if len(fields) > 3 {
						queue = fields[3]
					}
					who := Principal{User: "u", Roles: strings.Split(fields[0], ",")}
					permission := permissionNamed(t, fields[1])
					err := p.Check(who, permission, fields[2], queue)
					if (err == nil) != p.Allowed(who, permission, fields[2], queue) {
						t.Errorf("%s: Check and Allowed differ", line)
					}
					if err == nil {
						out.WriteString("allowed\n")
					} else {
						fmt.Fprintln(&out, err)
					}
				}
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return out.String()
		})
	})
}

func parseSetting(t *testing.T, line string) Setting {
	match, grants, _ := strings.Cut(line, ": ")
	s := Setting{Match: match, Roles: map[Permission][]string{}}
	for _, grant := range strings.Fields(grants) {
		name, roles, _ := strings.Cut(grant, "=")
		permission, ok := ParsePermission(name)
		if !ok {
			t.Fatalf("unknown permission %q", name)
		}
		s.Roles[permission] = strings.Split(roles, ",")
	}
	return s
}

func permissionNamed(t *testing.T, name string) Permission {
	for p := range Permission(permissionCount) {
		if p.String() == name {
			return p
		}
	}
	t.Fatalf("unknown permission %q", name)
	return 0
}

func TestPermissionNames(t *testing.T) {
	for p := range Permission(permissionCount) {
		got, ok := ParsePermission(p.Type())
		if !ok || got != p || p.String() == "" {
			t.Errorf("permission %d: %q, %q", p, p.Type(), p)
		}
	}
	if _, ok := ParsePermission("SEND"); ok {
		t.Error("SEND is no type of broker.xml")
	}
}

func TestSecurityDisabled(t *testing.T) {
	p, err := NewPermissions(PermissionsOptions{Disabled: true}, nil)
	if err != nil || p.Enabled() || !p.Allowed(Principal{}, Send, "a", "") {
		t.Errorf("with security-enabled=false something is refused: %v", err)
	}
}

func TestInternalMayEverything(t *testing.T) {
	p, err := NewPermissions(PermissionsOptions{}, nil)
	if err != nil || !p.Allowed(Internal("x"), Manage, "a", "q") || p.Allowed(Principal{User: "x"}, Manage, "a", "q") {
		t.Errorf("Internal is refused, or anybody is not: %v", err)
	}
}

func TestAllowedDoesNotAllocate(t *testing.T) {
	p, err := NewPermissions(PermissionsOptions{CacheSize: 10}, []Setting{
		{Match: "orders.#", Roles: map[Permission][]string{Send: {"x", "amq"}}},
		{Match: "a::b", Roles: map[Permission][]string{Send: {"x", "amq"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	who := Principal{User: "u", Roles: []string{"other", "amq"}}
	for range 3 {
		p.Allowed(who, Send, "orders.eu", "q")
	}
	if n := testing.AllocsPerRun(100, func() {
		if !p.Allowed(who, Send, "orders.eu", "orders.eu::q") || !p.Allowed(who, Send, "a", "b") || p.Allowed(who, Send, "a", "") {
			t.Error("wrong answer")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The cache never answers wrong, however full it is and whoever changes settings meanwhile.
func TestCacheUnderChange(t *testing.T) {
	for _, size := range []int{0, 1, 7, 1000} {
		p, err := NewPermissions(PermissionsOptions{CacheSize: size}, []Setting{
			{Match: "even.#", Roles: map[Permission][]string{Send: {"r"}}},
			{Match: "#", Roles: map[Permission][]string{Consume: {"r"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		who := Principal{Roles: []string{"r"}}
		var readers sync.WaitGroup
		for reader := range 4 {
			readers.Go(func() {
				for i := range 2000 {
					address := fmt.Sprintf("%s.%d", [...]string{"even", "odd"}[i%2], (i*7+reader)%50)
					if got := p.Allowed(who, Send, address, ""); got != (i%2 == 0) {
						t.Errorf("size %d: Allowed(%s) = %v", size, address, got)
						return
					}
				}
			})
		}
		for i := range 50 {
			if err := p.Put(Setting{Match: fmt.Sprintf("x%d.#", i)}); err != nil {
				t.Error(err)
			}
			p.Clear()
		}
		readers.Wait()
		if got := len(p.Settings()); got != 52 {
			t.Errorf("%d settings, want 52", got)
		}
		if c := &p.settings.Load().cache; size > 0 && len(c.pending) > size {
			t.Errorf("cache of %d holds %d", size, len(c.pending))
		}
	}
}

// The addresses are those of a broker that was asked with management-message-rbac=true.
func TestRBAC(t *testing.T) {
	r, err := NewRBAC("", "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPermissions(PermissionsOptions{}, []Setting{
		{Match: "mops.#", Roles: map[Permission][]string{View: {"view"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	viewer := Principal{User: "view1", Roles: []string{"view"}}
	if err := r.Check(p, viewer, "queue.orders", "getMessageCount"); err != nil {
		t.Error(err)
	}
	for resource, want := range map[string]string{
		"queue.orders": "AMQ229032: User: view1 does not have permission='EDIT' on address mops.queue.orders.pause",
		"broker":       "AMQ229032: User: view1 does not have permission='EDIT' on address mops.broker.pause",
	} {
		if err := r.Check(p, viewer, resource, "pause"); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for method, want := range map[string]Permission{"isPaused": View, "listConsumers": View, "countMessages": View,
		"browse": View, "queryX": View, "get": View, "forget": Edit, "removeMessages": Edit} {
		if got := r.Permission(method); got != want {
			t.Errorf("%s needs %s, want %s", method, got, want)
		}
	}
	if got := r.Address("queue.orders", ""); got != "mops.queue.orders" {
		t.Error(got)
	}
	if _, err := NewRBAC("", "("); err == nil {
		t.Error("a bad pattern is accepted")
	}
}
