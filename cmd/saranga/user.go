package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/core/client"
)

func userCommand() *cobra.Command {
	return group("user", "Add, remove, list and change users.",
		userSubcommand("add", "Add a user.", userAdd),
		userSubcommand("rm", "Remove a user.", userRemove),
		userSubcommand("list", "List users.", userList),
		userSubcommand("reset", "Change the password or the roles of a user.", userReset))
}

// userFlags are the options of all user commands.
type userFlags struct {
	connection connectionFlags

	user, password, role string
	plaintext, files     bool
}

// users is where users are kept: a running broker, or the files of an instance.
type users interface {
	add(name, password, roles string, plaintext bool) error
	remove(name string) error
	list(name string) ([]listedUser, error)
	// reset changes what is not empty.
	reset(name, password, roles string, plaintext bool) error
}

type listedUser struct {
	Name  string   `json:"username"`
	Roles []string `json:"roles"`
}

func userSubcommand(use, short string, work func(cmd *cobra.Command, u *userFlags, at users) error) *cobra.Command {
	u := &userFlags{}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.files {
				at, err := openUserFiles(cmd)
				if err != nil {
					return err
				}
				return work(cmd, u, at)
			}
			return u.connection.manage(cmd, func(ctx context.Context, m *client.Management) error {
				return work(cmd, u, managedUsers{ctx, m})
			})
		},
	}
	u.connection.add(cmd)
	f := cmd.Flags()
	f.StringVar(&u.user, "user-command-user", "", "name of the user")
	f.StringVar(&u.role, "role", "", "roles (comma list)")
	f.BoolVar(&u.files, "files", false, "change the files of the instance, without asking a broker")
	if use == "add" || use == "reset" {
		f.StringVar(&u.password, "user-command-password", "", "password of the user")
		f.BoolVar(&u.plaintext, "plaintext", false, "keep the password as it is, not hashed")
	}
	return cmd
}

func (u *userFlags) askUser(ask *prompter) (err error) {
	if u.user == "" {
		u.user, err = ask.text("--user-command-user", "What is the name of the user?", "")
	}
	return err
}

func userAdd(cmd *cobra.Command, u *userFlags, at users) (err error) {
	ask := newPrompter(cmd, u.connection.silent)
	if err := u.askUser(ask); err != nil {
		return err
	}
	if u.password == "" {
		if u.password, err = ask.secret("--user-command-password", "What is the password of the user?", ""); err != nil {
			return err
		}
	}
	if u.role == "" {
		if u.role, err = ask.text("--role", "What are the roles of the user? (comma list)", ""); err != nil {
			return err
		}
	}
	return u.tell(cmd, at.add(u.user, u.password, u.role, u.plaintext), "add", "added")
}

func userRemove(cmd *cobra.Command, u *userFlags, at users) error {
	if err := u.askUser(newPrompter(cmd, u.connection.silent)); err != nil {
		return err
	}
	return u.tell(cmd, at.remove(u.user), "remove", "removed")
}

func userReset(cmd *cobra.Command, u *userFlags, at users) (err error) {
	ask := newPrompter(cmd, u.connection.silent)
	if err := u.askUser(ask); err != nil {
		return err
	}
	if u.password == "" && !u.connection.silent {
		if u.password, err = ask.secret("--user-command-password", "What is the new password? (empty: as before)", ""); err != nil {
			return err
		}
	}
	if u.role == "" && !u.connection.silent {
		if u.role, err = ask.text("--role", "What are the new roles? (comma list; empty: as before)", ""); err != nil {
			return err
		}
	}
	return u.tell(cmd, at.reset(u.user, u.password, u.role, u.plaintext), "reset", "reset")
}

// tell says what became of a change.
func (u *userFlags) tell(cmd *cobra.Command, err error, verb, done string) error {
	var local *security.UserError
	if errors.As(err, &local) {
		err = &client.ManagementError{Message: local.Error()}
	}
	if err != nil {
		return refused(cmd, err, "Failed to %s user %s", verb, u.user)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s successfully.\n", u.user, done)
	return nil
}

func userList(cmd *cobra.Command, u *userFlags, at users) error {
	list, err := at.list(u.user)
	if err != nil {
		return refused(cmd, err, "Failed to list user %s", orNull(u.user))
	}
	printUsers(cmd.OutOrStdout(), list)
	return nil
}

func printUsers(out io.Writer, list []listedUser) {
	fmt.Fprintln(out, `--- "user"(roles) ---`)
	for _, user := range list {
		fmt.Fprintf(out, "\"%s\"(%s)\n", user.Name, strings.Join(user.Roles, ","))
	}
	fmt.Fprintf(out, "\n Total: %d\n", len(list))
}

// managedUsers are the users of a running broker.
type managedUsers struct {
	ctx context.Context
	m   *client.Management
}

func (u managedUsers) add(name, password, roles string, plaintext bool) error {
	_, err := u.m.Invoke(u.ctx, client.BrokerResource, "addUser", name, password, roles, plaintext)
	return err
}

func (u managedUsers) remove(name string) error {
	_, err := u.m.Invoke(u.ctx, client.BrokerResource, "removeUser", name)
	return err
}

func (u managedUsers) list(name string) ([]listedUser, error) {
	answer, err := u.m.Invoke(u.ctx, client.BrokerResource, "listUser", name)
	if err != nil {
		return nil, err
	}
	var list []listedUser
	if err := json.Unmarshal([]byte(answer.Text()), &list); err != nil {
		return nil, fmt.Errorf("read the list of users: %w", err)
	}
	return list, nil
}

func (u managedUsers) reset(name, password, roles string, plaintext bool) error {
	_, err := u.m.Invoke(u.ctx, client.BrokerResource, "resetUser", name, orNil(password), orNil(roles), plaintext)
	return err
}

// orNil is null for an empty text: leave as it is.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// userFiles are the users in the files of an instance.
type userFiles struct{ files *security.UserFiles }

func openUserFiles(cmd *cobra.Command) (users, error) {
	var f instanceFlags
	in, _, err := f.load(cmd, nil, config.Options{Tool: true})
	if err != nil {
		return nil, err
	}
	if in.Bootstrap.JAAS == nil {
		return nil, errors.New("the users of this instance are not in files")
	}
	realm, err := newRealm(in, in.Bootstrap.JAAS.Domain, nil)
	if err != nil {
		return nil, err
	}
	files, err := realm.UserFiles()
	if err != nil {
		return nil, err
	}
	return userFiles{files}, nil
}

// stored is the password as it is kept.
func stored(password string, plaintext bool) (string, error) {
	if plaintext || password == "" {
		return password, nil
	}
	return security.HashPassword(password)
}

func (u userFiles) add(name, password, roles string, plaintext bool) error {
	kept, err := stored(password, plaintext)
	if err != nil {
		return err
	}
	return u.files.AddUser(name, kept, splitRoles(roles))
}

func (u userFiles) remove(name string) error { return u.files.RemoveUser(name) }

func (u userFiles) reset(name, password, roles string, plaintext bool) error {
	kept, err := stored(password, plaintext)
	if err != nil {
		return err
	}
	return u.files.ResetUser(name, kept, splitRoles(roles))
}

func (u userFiles) list(name string) ([]listedUser, error) {
	list, err := u.files.ListUsers(name)
	if err != nil {
		return nil, err
	}
	var out []listedUser
	for _, user := range list {
		out = append(out, listedUser{user.Name, user.Roles})
	}
	return out, nil
}

func splitRoles(text string) []string {
	var roles []string
	for role := range strings.SplitSeq(text, ",") {
		if role = strings.TrimSpace(role); role != "" {
			roles = append(roles, role)
		}
	}
	return roles
}
