package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// version is Saranga's own; a release build sets it. compatibleVersion is that of Artemis whose behaviour it has.
var version = "0.1.0"

const compatibleVersion = "2.57.0"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the version of Artemis it is compatible with.",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "Saranga %s, compatible with Apache ActiveMQ Artemis %s\n", version, compatibleVersion)
			fmt.Fprintf(out, "Saranga home: %s\n", orNull(os.Getenv("ARTEMIS_HOME")))
			fmt.Fprintf(out, "Saranga instance: %s\n", orNull(instanceDir(cmd)))
			return nil
		},
	}
}

// orNull is how Artemis' command line prints what there is none of.
func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// ruler is the line that Artemis' command line prints around blocks of text.
var ruler = strings.Repeat("*", 127)

func pwdCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pwd",
		Short: "Print the folders of the instance.",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			here, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("find the current folder: %w", err)
			}
			dir, etc := instanceDir(cmd), "null"
			if dir != "" {
				etc = instanceEtc(cmd, dir)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n* Saranga instance:: %s\n* Home:: %s\n* etc:: %s\n* Current dir:%s\n%s\n\n",
				ruler, orNull(dir), orNull(os.Getenv("ARTEMIS_HOME")), etc, here, ruler)
			return nil
		},
	}
}
