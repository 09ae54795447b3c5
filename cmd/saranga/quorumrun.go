package main

import (
	"context"
	"net/url"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/logging"
)

func quorumRunCommand() *cobra.Command {
	var f quorumFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a member of the quorum without a broker.",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, instance, err := f.load(cmd)
			if err != nil {
				return err
			}
			logs, err := openWitnessLog(cmd, filepath.Dir(c.file), instance)
			if err != nil {
				return err
			}
			defer logs.Close()
			return runWitness(cmd.Context(), c, logs.Logger(quorumLogger))
		},
	}
	f.add(cmd)
	return cmd
}

// openWitnessLog obeys the log4j2.properties beside the configuration; without one it logs to the console.
func openWitnessLog(cmd *cobra.Command, etc, instance string) (*logging.Logging, error) {
	folder := func(path string) string { return "file:" + (&url.URL{Path: path + "/"}).EscapedPath() }
	properties := map[string]string{
		"artemis.instance": instance, "artemis.instance.etc": etc, "artemis.instance.uri": folder(instance), "artemis.instance.etc.uri": folder(etc),
	}
	lookup := func(name string) (string, bool) {
		if v, ok := properties[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}
	return logging.Open(logging.Options{File: filepath.Join(etc, "log4j2.properties"), Lookup: lookup, Stdout: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr()})
}

// runWitness runs the member until the context ends, the stop command is given, or the member fails.
func runWitness(ctx context.Context, c quorumConfig, log hclog.Logger) error {
	q, err := startMember(c, log)
	if err != nil {
		return err
	}
	defer q.stop()
	files := fileWatch{dir: filepath.Dir(c.file)} // the member's folder is locked: no broker runs on this instance
	if err := files.clear(); err != nil {
		return err
	}
	watching, unwatch := context.WithCancel(ctx)
	asked := make(chan string, 1)
	go func() { asked <- files.wait(watching, stopFilePeriod) }()
	defer func() { unwatch(); <-asked }()
	select {
	case file := <-asked:
		asked <- file
		return nil
	case <-q.failed():
		return q.err()
	}
}
