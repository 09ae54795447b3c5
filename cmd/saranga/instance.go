package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config"
)

const instanceFlag = "instance"

// errNoInstance is a command for an instance without one.
var errNoInstance = errors.New("no instance: run the command by its bin/artemis, or name its folder with --instance")

// instanceDir is the folder of the instance that a command is for, empty when there is none: --instance, else what
// bin/artemis says.
func instanceDir(cmd *cobra.Command) string {
	if f := cmd.Flag(instanceFlag); f != nil && f.Changed {
		return f.Value.String()
	}
	return os.Getenv("ARTEMIS_INSTANCE")
}

// instanceFlags are options of commands that work on the files of an instance: where they are.
type instanceFlags struct {
	broker                                   string
	bindings, journal, largeMessages, paging string
}

func (f *instanceFlags) addBroker(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.broker, "broker", "", "another broker.xml than the one that bootstrap.xml names")
}

func (f *instanceFlags) addFolders(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.bindings, "bindings", "", "folder of the bindings journal")
	cmd.Flags().StringVar(&f.journal, "journal", "", "folder of the message journal")
	cmd.Flags().StringVar(&f.largeMessages, "large-messages", "", "folder of large messages")
	cmd.Flags().StringVar(&f.paging, "paging", "", "folder of pages")
}

// folders returns the folder of the instance, and its etc folder if that is told apart. args may hold the configuration
// argument of Artemis, "xml:" and the path of a bootstrap.xml, whose folder then is the etc folder.
func folders(cmd *cobra.Command, args []string) (dir, etc string, err error) {
	dir = instanceDir(cmd)
	if dir == os.Getenv("ARTEMIS_INSTANCE") {
		etc = os.Getenv("ARTEMIS_INSTANCE_ETC")
	}
	if len(args) > 0 {
		path, ok := strings.CutPrefix(args[0], "xml:")
		if !ok || filepath.Base(path) != "bootstrap.xml" {
			return "", "", fmt.Errorf("configuration %q is not of the form xml:FOLDER/bootstrap.xml", args[0])
		}
		etc = filepath.Dir(strings.TrimPrefix(path, "file:"))
		if dir == "" {
			dir = filepath.Dir(etc)
		}
	}
	if dir == "" {
		return "", "", errNoInstance
	}
	return dir, etc, nil
}

// load reads the configuration.
func (f *instanceFlags) load(cmd *cobra.Command, args []string, o config.Options) (in *config.Instance, warnings []config.Warning, err error) {
	var dir string
	if dir, o.Etc, err = folders(cmd, args); err != nil {
		return nil, nil, err
	}
	o.Broker, o.Bindings, o.Journal, o.LargeMessages, o.Paging = f.broker, f.bindings, f.journal, f.largeMessages, f.paging
	return config.Load(dir, o)
}

// brokerDir is the folder of broker.xml. An instance whose configuration does not load has one, too.
func (f *instanceFlags) brokerDir(cmd *cobra.Command, args []string) (string, error) {
	in, _, loadErr := f.load(cmd, args, config.Options{Tool: true})
	if loadErr == nil {
		return filepath.Dir(in.BrokerFile), nil
	}
	if f.broker != "" {
		return filepath.Dir(f.broker), nil
	}
	dir, etc, err := folders(cmd, args)
	if err != nil {
		return "", err
	}
	if etc == "" {
		etc = filepath.Join(dir, "etc")
	}
	if _, err := os.Stat(etc); err != nil {
		return "", loadErr
	}
	return etc, nil
}

// instanceEtc is the etc folder as far as it can be told without reading it.
func instanceEtc(cmd *cobra.Command, dir string) string {
	if _, etc, err := folders(cmd, nil); err == nil && etc != "" {
		return etc
	}
	return filepath.Join(dir, "etc")
}
