package main

import (
	"strings"
	"testing"
)

func TestUserFiles(t *testing.T) {
	i := createInstance(t)
	t.Setenv("ARTEMIS_INSTANCE", i.dir)
	user := func(args ...string) result {
		return cli(t, "", append([]string{"user"}, append(args, "--files", "--silent")...)...)
	}
	for _, c := range []struct {
		args string
		want result
	}{
		{"add --user-command-user u1 --user-command-password p1 --role r1,r2", result{out: "u1 added successfully.\n"}},
		{"add --user-command-user u1 --user-command-password p1 --role r1", result{err: "Failed to add user u1. Reason: AMQ229223: User u1 already exists\n"}},
		{"list", result{out: "--- \"user\"(roles) ---\n\"admin\"(amq)\n\"u1\"(r1,r2)\n\n Total: 2\n"}},
		{"reset --user-command-user u1 --role r3", result{out: "u1 reset successfully.\n"}},
		{"list --user-command-user u1", result{out: "--- \"user\"(roles) ---\n\"u1\"(r3)\n\n Total: 1\n"}},
		{"reset --user-command-user u1 --user-command-password p2 --plaintext", result{out: "u1 reset successfully.\n"}},
		{"rm --user-command-user u1", result{out: "u1 removed successfully.\n"}},
		{"rm --user-command-user u1", result{err: "Failed to remove user u1. Reason: AMQ229224: User u1 does not exist\n"}},
		{"rm", result{code: 1, err: "--user-command-user is needed (What is the name of the user?)\n", out: "\nUsage: saranga help [<args>...]\nuse 'help <command>' for more information\n      [<args>...]\n"}},
	} {
		if got := user(strings.Fields(c.args)...); got != c.want {
			t.Errorf("user %s: %+v, want %+v", c.args, got, c.want)
		}
		users := read(t, i.dir, "etc", "artemis-users.properties")
		if hashed := strings.Contains(users, "u1 = ENC(1024:") || strings.Contains(users, "u1=ENC(1024:"); strings.HasPrefix(c.args, "add") && !hashed || strings.Contains(c.args, "--plaintext") && hashed {
			t.Errorf("after user %s:\n%s", c.args, users)
		}
	}
}
