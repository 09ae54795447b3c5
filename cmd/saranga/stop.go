package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// Files beside broker.xml that end a running broker.
const (
	stopFile = "STOP_ME" // in good order
	killFile = "KILL_ME" // at once
)

// stopFilePeriod is how often the broker looks for them.
const stopFilePeriod = 500 * time.Millisecond

func stopCommand() *cobra.Command {
	return fileCommand("stop [configuration]", "Stop the broker of the instance.", stopFile)
}

func killCommand() *cobra.Command {
	return fileCommand("kill [configuration]", "End the broker of the instance at once, if it runs with --allow-kill.", killFile)
}

// fileCommand makes one of the files. As in Artemis it is no error if no broker runs; the next one to start removes
// the file.
func fileCommand(use, short, file string) *cobra.Command {
	var f instanceFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := f.brokerDir(cmd, args)
			if err != nil {
				return err
			}
			made, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return fmt.Errorf("%s: %w", cmd.Name(), err)
			}
			if err := made.Close(); err != nil {
				return fmt.Errorf("%s: %w", cmd.Name(), err)
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return nil
		},
	}
	f.addBroker(cmd)
	return cmd
}

// A fileWatch waits for the files in a folder.
type fileWatch struct {
	dir       string
	allowKill bool
}

// clear removes files that were left from before the start.
func (w fileWatch) clear() error {
	for _, name := range []string{stopFile, killFile} {
		if _, err := w.take(name); err != nil {
			return fmt.Errorf("remove a file left from a stop: %w", err)
		}
	}
	return nil
}

// wait returns the name of the first file that appears, which it has removed by then, and "" when the context ends.
func (w fileWatch) wait(ctx context.Context, period time.Duration) string {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
		// A file that can't be removed, in a folder that is read-only say, counts all the same.
		if found, _ := w.take(stopFile); found {
			return stopFile
		}
		if !w.allowKill {
			continue
		}
		if found, _ := w.take(killFile); found {
			return killFile
		}
	}
}

// take removes a file and tells whether it was there.
func (w fileWatch) take(name string) (found bool, err error) {
	path := filepath.Join(w.dir, name)
	if _, err := os.Lstat(path); err != nil {
		return false, nil
	}
	if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return true, err
}
