// Command saranga is the broker and all its tools. The commands, their options, what they print and their exit codes
// are those of Artemis' command line, so that scripts go on working; each group of commands has a file.
//
// Exit codes: 0 is success, and also an operation that the broker refuses, which is told on standard error; 1 is a
// command line that is wrong, an answer that is missing, a connection that fails, a check that fails, and a broker
// that does not start.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, rootCommand(), os.Args[1:]))
}

// execute runs a command line and returns the exit code. The context ends when the process is told to stop.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintln(root.ErrOrStderr(), err)
	var usage usageError
	if errors.As(err, &usage) {
		printGenericUsage(root)
	}
	return 1
}

// exitCode is an error of which everything has been said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func rootCommand() *cobra.Command {
	root := group("saranga", "Saranga, a message broker that takes the place of Apache Artemis.",
		createCommand(), runCommand(), stopCommand(), killCommand(), versionCommand(), pwdCommand(),
		queueCommand(), addressCommand(), checkCommand(), userCommand(),
		producerCommand(), consumerCommand(), browserCommand(), transferCommand(), perfCommand(),
		dataCommand(), maskCommand(), drillCommand(), activationCommand(), quorumCommand(),
	)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.PersistentFlags().String(instanceFlag, "", "folder of the instance that the command is for (default: $ARTEMIS_INSTANCE)")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(printHelp)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}
