package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config"
)

func runCommand() *cobra.Command {
	var instance string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the broker of an instance",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return run(instance) },
	}
	cmd.Flags().StringVar(&instance, "instance", os.Getenv("ARTEMIS_INSTANCE"), "folder of the instance")
	return cmd
}

func run(dir string) error {
	begin := time.Now()
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: os.Stdout})
	in, warnings, err := config.Load(dir, config.Options{})
	for _, w := range warnings {
		log.Warn(w.String())
	}
	if err != nil {
		return err
	}
	n, err := openNode(in, log)
	if err != nil {
		return err
	}
	if err := n.start("00000000-0000-0000-0000-000000000000"); err != nil {
		n.stop()
		return err
	}
	log.Info(fmt.Sprintf("AMQ221007: Server is now active (%d ms)", time.Since(begin).Milliseconds()))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-stop:
		return n.stop()
	case err := <-n.failed:
		return err
	}
}
