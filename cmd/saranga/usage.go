package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is a mistake on the command line, or an answer to a prompt that did not come. The usage is printed after it.
type usageError string

func (e usageError) Error() string { return string(e) }

// group is a command that only has subcommands. Without one it prints its usage.
func group(name, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unmatched(cmd, args, 0)
			}
			printHelp(cmd, nil)
			return nil
		},
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// atMost is the check of a command that takes up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return unmatched(cmd, args, n)
		}
		return nil
	}
}

// exactly is the check of a command whose arguments, all needed, have these names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usageError(fmt.Sprintf("Missing required parameter: '<%s>'", names[len(args)]))
		}
		return atMost(len(names))(cmd, args)
	}
}

// unmatched complains about the argument that no command or parameter takes. Artemis counts it from the start of the
// command line, without options.
func unmatched(cmd *cobra.Command, args []string, i int) error {
	index := i
	for c := cmd; c.HasParent(); c = c.Parent() {
		index++
	}
	return usageError(fmt.Sprintf("Unmatched argument at index %d: '%s'", index, args[i]))
}

// flagError words the errors of options as Artemis' command line does.
func flagError(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return usageError(fmt.Sprintf("Unknown option: '%s%s'", dashes, unknown.GetSpecifiedName()))
	case errors.As(err, &missing):
		return usageError(fmt.Sprintf("Missing required parameter for option '--%s'", missing.GetSpecifiedName()))
	case errors.As(err, &invalid):
		return usageError(fmt.Sprintf("Invalid value for option '--%s': '%s' is not a valid %s", invalid.GetFlag().Name, invalid.GetValue(), invalid.GetFlag().Value.Type()))
	}
	return usageError(err.Error())
}

func printGenericUsage(root *cobra.Command) {
	fmt.Fprintf(root.OutOrStdout(), "\nUsage: %s help [<args>...]\nuse 'help <command>' for more information\n      [<args>...]\n", root.Name())
}

// usageWidth is how many characters a line of usage has at most.
const usageWidth = 80

// printHelp prints the usage of a command.
func printHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	if !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "Usage: %s\n", cmd.UseLine())
		wrap(out, "", cmd.Short)
		if options := cmd.LocalFlags(); options.HasAvailableFlags() {
			fmt.Fprintf(out, "Options:\n%s", options.FlagUsagesWrapped(usageWidth))
		}
		return
	}
	path := cmd.CommandPath()
	fmt.Fprintf(out, "Usage: %s [COMMAND]\n", path)
	if cmd.HasParent() {
		_, below, _ := strings.Cut(path, " ")
		fmt.Fprintf(out, "use 'help %s' for sub commands list\n", below)
	} else {
		fmt.Fprintln(out, "use 'help <command>' for more information")
	}
	fmt.Fprintln(out, "Commands:")
	width := 0
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			width = max(width, len(sub.Name()))
		}
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			wrap(out, fmt.Sprintf("  %-*s  ", width, sub.Name()), sub.Short)
		}
	}
}

// wrap prints a text behind a head, its further lines indented below it.
func wrap(out io.Writer, head, text string) {
	indent := ""
	if head != "" {
		indent = strings.Repeat(" ", len(head)+2)
	}
	line, empty := head, true
	for word := range strings.FieldsSeq(text) {
		if !empty && len(line)+1+len(word) > usageWidth {
			fmt.Fprintln(out, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	fmt.Fprintln(out, strings.TrimRight(line, " "))
}
