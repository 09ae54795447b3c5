package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/export"
	"github.com/saranga-mq/saranga/journal/lock"
	"github.com/saranga-mq/saranga/journal/print"
)

func dataCommand() *cobra.Command {
	return group("data", "Print, export, import and compact the data of a stopped broker.",
		dataPrintCommand(), dataExportCommand(), dataImportCommand(), dataCompactCommand())
}

// dataFlags are the options of commands that work on data files.
type dataFlags struct {
	instanceFlags

	output string
	force  bool // do without the lock
}

func (d *dataFlags) add(cmd *cobra.Command) {
	d.addBroker(cmd)
	d.addFolders(cmd)
	if cmd.Name() == "compact" {
		return
	}
	cmd.Flags().StringVar(&d.output, "output", "", "file to write to (default: standard output)")
	cmd.Flags().BoolVar(&d.force, "f", false, "do it even if a broker is running")
}

// run has work done on the files of an instance that no broker works on.
func (d *dataFlags) run(cmd *cobra.Command, args []string, work func(out io.Writer, o journal.StoreOptions) error) error {
	in, _, err := d.load(cmd, args, config.Options{Tool: true})
	if err != nil {
		return err
	}
	if !d.force {
		l, err := lockInstance(in.Dir)
		if err != nil {
			return err
		}
		defer l.Close()
	}
	out := cmd.OutOrStdout()
	if d.output == "" {
		return work(out, dataOptions(in))
	}
	f, err := os.Create(d.output)
	if err != nil {
		return fmt.Errorf("%s: %w", cmd.Name(), err)
	}
	w := bufio.NewWriter(f)
	return errors.Join(work(w, dataOptions(in)), w.Flush(), f.Close())
}

// dataOptions are where an instance's data is, for tools.
func dataOptions(in *config.Instance) journal.StoreOptions { return storeOptions(in, nil) }

// dataPrint are the options of data print.
type dataPrint struct {
	dataFlags

	o print.Options
}

func dataPrintCommand() *cobra.Command {
	d := &dataPrint{}
	cmd := &cobra.Command{
		Use: "print [configuration]", Short: "Print the records of the journals and pages.", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd, args, func(out io.Writer, o journal.StoreOptions) error {
				fmt.Fprintf(out, "Saranga %s, compatible with Apache ActiveMQ Artemis %s\n\n", version, compatibleVersion)
				id, err := nodeID(o.Journal)
				if err != nil {
					return err
				}
				d.o.Store, d.o.NodeID = o, id
				return print.Data(out, d.o)
			})
		},
	}
	d.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&d.o.Safe, "safe", false, "leave out bodies and properties")
	f.BoolVar(&d.o.Reclaimed, "reclaimed", false, "print also what is left in files of their former use")
	f.IntVar(&d.o.MaxPages, "max-pages", -1, "pages to print of an address; -1: all")
	f.BoolVar(&d.o.SkipBindings, "skip-bindings", false, "leave out the bindings journal")
	f.BoolVar(&d.o.SkipJournal, "skip-journal", false, "leave out the message journal")
	return cmd
}

// nodeID reads the node's id from the lock file beside the journal, which keeps it behind three bytes of state.
func nodeID(journal string) (string, error) {
	b, err := os.ReadFile(filepath.Join(journal, "server.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the node's id: %w", err)
	}
	var id lock.UUID
	if len(b) < 3+len(id) {
		return "", nil
	}
	copy(id[:], b[3:])
	return id.String(), nil
}

func dataExportCommand() *cobra.Command {
	d := &dataFlags{}
	var prefix string
	cmd := &cobra.Command{
		Use: "exp [configuration]", Short: "Export all messages as XML.", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd, args, func(out io.Writer, o journal.StoreOptions) error {
				fmt.Fprintln(cmd.ErrOrStderr(), "Processing journal messages")
				result, err := export.Write(out, export.Options{Store: o, UndefinedPrefix: prefix})
				if result.Skipped > 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "%d messages were left out: they are not Core messages and can't be converted yet\n", result.Skipped)
				}
				return err
			})
		},
	}
	d.add(cmd)
	cmd.Flags().StringVar(&prefix, "undefined-prefix", "UndefinedQueue_", "what the name of a queue that is not known starts with")
	return cmd
}

func dataCompactCommand() *cobra.Command {
	d := &dataFlags{}
	cmd := &cobra.Command{
		Use: "compact [configuration]", Short: "Compact both journals.", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd, args, func(out io.Writer, o journal.StoreOptions) error {
				for _, j := range []journal.Options{o.MessagesOptions(), o.BindingsOptions()} {
					if err := journal.CompactFiles(j); err != nil {
						return fmt.Errorf("compact %s: %w", j.Dir, err)
					}
					fmt.Fprintf(out, "Compactation succeeded for %s\n", j.Dir)
				}
				return nil
			})
		},
	}
	d.add(cmd)
	return cmd
}
