package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/wire/core/client"
)

func addressCommand() *cobra.Command {
	return group("address", "Create, delete, update and show addresses.",
		addressSubcommand("create", "Create an address.", addressCreate),
		addressSubcommand("delete", "Delete an address.", addressDelete),
		addressSubcommand("update", "Change the routing types of an address.", addressUpdate),
		addressSubcommand("show", "Show the names of all addresses, or one of them.", addressShow))
}

// addressFlags are the options of all address commands.
type addressFlags struct {
	connection connectionFlags

	name                   string
	anycast, noAnycast     bool
	multicast, noMulticast bool
	force, bindings        bool
}

func addressSubcommand(use, short string, work func(ctx context.Context, cmd *cobra.Command, m *client.Management, a *addressFlags) error) *cobra.Command {
	a := &addressFlags{}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.connection.manage(cmd, func(ctx context.Context, m *client.Management) error { return work(ctx, cmd, m, a) })
		},
	}
	a.connection.add(cmd)
	f := cmd.Flags()
	f.StringVar(&a.name, "name", "", "name of the address")
	f.BoolVar(&a.anycast, "anycast", false, "it has anycast queues")
	f.BoolVar(&a.noAnycast, "no-anycast", false, "it has none")
	f.BoolVar(&a.multicast, "multicast", false, "it has multicast queues")
	f.BoolVar(&a.noMulticast, "no-multicast", false, "it has none")
	switch use {
	case "delete":
		f.BoolVar(&a.force, "force", false, "delete its queues too")
	case "show":
		f.BoolVar(&a.bindings, "bindings", false, "show what is bound to it")
	}
	cmd.MarkFlagsMutuallyExclusive("anycast", "no-anycast")
	cmd.MarkFlagsMutuallyExclusive("multicast", "no-multicast")
	return cmd
}

func (a *addressFlags) askName(ask *prompter) (err error) {
	if a.name == "" {
		a.name, err = ask.text("--name", "What is the name of the address?", "")
	}
	return err
}

// askTypes asks for routing types that are not given and returns them as management takes them.
func (a *addressFlags) askTypes(cmd *cobra.Command, ask *prompter) (string, error) {
	var types []string
	for _, t := range []struct {
		name, option string
		yes          *bool
		silently     bool
	}{{"ANYCAST", "anycast", &a.anycast, false}, {"MULTICAST", "multicast", &a.multicast, true}} {
		if !cmd.Flag(t.option).Changed && !cmd.Flag("no-"+t.option).Changed {
			var err error
			if *t.yes, err = ask.yes("--"+t.option, "Does the address have "+t.option+" queues?", t.silently); err != nil {
				return "", err
			}
		}
		if *t.yes {
			types = append(types, t.name)
		}
	}
	return strings.Join(types, ","), nil
}

func addressCreate(ctx context.Context, cmd *cobra.Command, m *client.Management, a *addressFlags) error {
	return a.change(ctx, cmd, m, "createAddress", "create")
}

func addressUpdate(ctx context.Context, cmd *cobra.Command, m *client.Management, a *addressFlags) error {
	return a.change(ctx, cmd, m, "updateAddress", "update")
}

func (a *addressFlags) change(ctx context.Context, cmd *cobra.Command, m *client.Management, operation, verb string) error {
	ask := newPrompter(cmd, a.connection.silent)
	if err := a.askName(ask); err != nil {
		return err
	}
	types, err := a.askTypes(cmd, ask)
	if err != nil {
		return err
	}
	answer, err := m.Invoke(ctx, client.BrokerResource, operation, a.name, types)
	if err != nil {
		return refused(cmd, err, "Failed to %s address %s", verb, a.name)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %sd successfully.\n", answer.Text(), verb)
	return nil
}

func addressDelete(ctx context.Context, cmd *cobra.Command, m *client.Management, a *addressFlags) error {
	if err := a.askName(newPrompter(cmd, a.connection.silent)); err != nil {
		return err
	}
	if _, err := m.Invoke(ctx, client.BrokerResource, "deleteAddress", a.name, a.force); err != nil {
		return refused(cmd, err, "Failed to delete address %s", a.name)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Address %s deleted successfully.\n", a.name)
	return nil
}

func addressShow(ctx context.Context, cmd *cobra.Command, m *client.Management, a *addressFlags) error {
	operation, argument := "getAddressInfo", a.name
	switch {
	case a.name == "":
		operation, argument = "listAddresses", "\n"
	case a.bindings:
		operation = "listBindingsForAddress"
	}
	answer, err := m.Invoke(ctx, client.BrokerResource, operation, argument)
	if err != nil {
		return refused(cmd, err, "Failed to show address %s", orNull(a.name))
	}
	fmt.Fprintln(cmd.OutOrStdout(), answer.Text())
	return nil
}
