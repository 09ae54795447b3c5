package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/ha"
)

func runCommand() *cobra.Command {
	var f instanceFlags
	var o config.Options
	var allowKill bool
	cmd := &cobra.Command{
		Use:   "run [configuration]",
		Short: "Run the broker of the instance.",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			begin := time.Now()
			in, warnings, err := f.load(cmd, args, o)
			if err != nil {
				return err
			}
			logs, err := logging.Open(logging.Options{File: filepath.Join(in.Etc, "log4j2.properties"), Lookup: in.Property, Stdout: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr()})
			if err != nil {
				return err
			}
			defer logs.Close()
			warn(logs.Logger(logging.Bootstrap), warnings)
			return run(cmd.Context(), in, logs, allowKill, begin)
		},
	}
	f.addBroker(cmd)
	f.addFolders(cmd)
	cmd.Flags().StringVar(&o.Properties, "properties", "", "files or folders with broker properties (comma list)")
	cmd.Flags().BoolVar(&allowKill, "allow-kill", false, "let the kill command end the broker")
	return cmd
}

// warn logs what the configuration has to say: what has no effect in one line, for the rest a line each.
func warn(log hclog.Logger, warnings []config.Warning) {
	var without []string
	for _, w := range warnings {
		if w.Kind == config.NoEffect {
			without = append(without, fmt.Sprintf("%s (line %d)", w.Element, w.Line))
			continue
		}
		log.Warn(w.String())
	}
	if len(without) > 0 {
		log.Info("settings without effect, see docs/COMPAT.md: " + strings.Join(without, ", "))
	}
}

// run serves an instance until the context ends, the stop or kill command is given, or its store fails.
func run(ctx context.Context, in *config.Instance, logs *logging.Logging, allowKill bool, begin time.Time) error {
	l, err := lockInstance(in.Dir)
	if err != nil {
		return err
	}
	defer l.Close()
	files := fileWatch{dir: filepath.Dir(in.BrokerFile), allowKill: allowKill}
	if err := files.clear(); err != nil {
		return err
	}
	policy, err := ha.FromConfig(in)
	if err != nil {
		return err
	}
	config, err := loadQuorum(in.Etc, in.Dir)
	if err != nil {
		return err
	}
	if err := checkManager(in, policy, config); err != nil {
		return err
	}
	member, err := startMember(config, logs.Logger(quorumLogger))
	if err != nil {
		return err
	}
	p, err := newPairNode(in, logs, policy, begin)
	if err != nil {
		member.stop()
		return err
	}
	if member != nil {
		p.hands = memberNode{p, member}
	}
	ended := make(chan error, 1)
	go func() { ended <- p.serve() }()

	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	asked := make(chan string, 1)
	go func() { asked <- files.wait(watching, stopFilePeriod) }()
	select {
	case file := <-asked: // "" when the context ended
		if file == killFile {
			return exitCode(0)
		}
		p.post(ha.StopAsked{})
		err = <-ended
	case <-member.failed():
		// What the member held is void by itself. A supervisor starts the process again.
		p.log.Error("the quorum member of this node has ended: the node stops", "error", member.err())
		p.post(ha.StopAsked{})
		err = errors.Join(member.err(), <-ended)
		unwatch()
		<-asked
	case err = <-ended:
		unwatch()
		<-asked
	}
	member.stop()
	return err
}
