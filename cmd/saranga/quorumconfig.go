package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config/create"
	"github.com/saranga-mq/saranga/broker/config/yamlfile"
	"github.com/saranga-mq/saranga/raftfsm"
	"github.com/saranga-mq/saranga/raftfsm/zk"
)

// quorumConfig is what etc/saranga.yaml says of the quorum member of an instance. It need not be there, nor have any section.
type quorumConfig struct {
	file     string // its path
	member   *raftfsm.Config
	endpoint *zk.Config // only with a member
}

// loadQuorum reads the file of an instance.
func loadQuorum(etc, instance string) (quorumConfig, error) {
	file := filepath.Join(etc, create.QuorumFile)
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return quorumConfig{file: file}, nil
	case err != nil:
		return quorumConfig{}, err
	}
	return readQuorum(file, instance, data)
}

func readQuorum(file, instance string, data []byte) (quorumConfig, error) {
	out := quorumConfig{file: file}
	f, err := yamlfile.Parse(file, instance, data)
	if err != nil {
		return out, err
	}
	if err := f.Only("quorum", "zookeeper"); err != nil {
		return out, err
	}
	member, ok, err := raftfsm.ReadConfig(f)
	if err != nil {
		return out, err
	}
	if ok {
		out.member = &member
	}
	endpoint, ok, err := zk.ReadConfig(f)
	switch {
	case err != nil || !ok:
	case out.member == nil:
		err = fmt.Errorf("%s: zookeeper: the endpoint serves what a quorum member has, and there is no section quorum", file)
	default:
		out.endpoint = &endpoint
	}
	return out, err
}

// quorumFlags are the options of commands that are about the member of an instance.
type quorumFlags struct{ config string }

func (f *quorumFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "the "+create.QuorumFile+" of the member, instead of that of an instance")
}

// place is the file and the folder that its relative paths are relative to: the instance, or, for a file that is not in a folder
// named etc, that folder.
func (f *quorumFlags) place(cmd *cobra.Command) (file, instance string, err error) {
	if f.config != "" {
		if file, err = filepath.Abs(f.config); err != nil {
			return "", "", err
		}
		instance = filepath.Dir(file)
		if filepath.Base(instance) == "etc" {
			instance = filepath.Dir(instance)
		}
		return file, instance, nil
	}
	dir := instanceDir(cmd)
	if dir == "" {
		return "", "", errors.New("no member: run the command by bin/artemis of an instance, or name its folder with --instance or the file with --config")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	return filepath.Join(instanceEtc(cmd, dir), create.QuorumFile), dir, nil
}

// load reads the file; there is a member.
func (f *quorumFlags) load(cmd *cobra.Command) (c quorumConfig, instance string, err error) {
	file, instance, err := f.place(cmd)
	if err != nil {
		return c, "", err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return c, "", fmt.Errorf("read the quorum member: %w; saranga create --quorum-member or saranga quorum join writes that file", err)
	}
	if c, err = readQuorum(file, instance, data); err == nil && c.member == nil {
		err = fmt.Errorf("%s: there is no section quorum", file)
	}
	return c, instance, err
}
