package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envHome is the folder that bin/artemis calls home.
func envHome() string { return os.Getenv("ARTEMIS_HOME") }

// secretOptions are not repeated in what is printed.
var secretOptions = map[string]bool{"password": true, "user-command-password": true, "source-password": true, "target-password": true}

// commandLine is the options and arguments a command was given.
func commandLine(cmd *cobra.Command) []string {
	var line []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if secretOptions[f.Name] {
			value = "****"
		}
		if f.Value.Type() == "bool" && value == "true" {
			line = append(line, "--"+f.Name)
			return
		}
		line = append(line, "--"+f.Name, value)
	})
	return append(line, cmd.Flags().Args()...)
}
