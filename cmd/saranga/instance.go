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

// load reads the configuration. args may hold the configuration argument of Artemis, "xml:" and the path of a
// bootstrap.xml, whose folder then is the etc folder.
func (f *instanceFlags) load(cmd *cobra.Command, args []string, o config.Options) (*config.Instance, []config.Warning, error) {
	dir := instanceDir(cmd)
	if etc := os.Getenv("ARTEMIS_INSTANCE_ETC"); etc != "" && dir == os.Getenv("ARTEMIS_INSTANCE") {
		o.Etc = etc
	}
	if len(args) > 0 {
		path, ok := strings.CutPrefix(args[0], "xml:")
		if !ok || filepath.Base(path) != "bootstrap.xml" {
			return nil, nil, fmt.Errorf("configuration %q is not of the form xml:FOLDER/bootstrap.xml", args[0])
		}
		o.Etc = filepath.Dir(strings.TrimPrefix(path, "file://"))
		if dir == "" {
			dir = filepath.Dir(o.Etc)
		}
	}
	if dir == "" {
		return nil, nil, errNoInstance
	}
	o.Broker, o.Bindings, o.Journal, o.LargeMessages, o.Paging = f.broker, f.bindings, f.journal, f.largeMessages, f.paging
	return config.Load(dir, o)
}
