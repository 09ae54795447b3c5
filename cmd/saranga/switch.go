package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/drill"
)

func activationCommand() *cobra.Command {
	return group("activation", "See which node of a pair is active, and have the other one take over.",
		activationStatusCommand(), activationFailoverCommand(), activationFailbackCommand())
}

// switchFlags are the options of a deliberate switch.
type switchFlags struct {
	connection connectionFlags
	force      bool
	timeout    int // seconds
}

func (f *switchFlags) add(cmd *cobra.Command) {
	f.connection.add(cmd)
	cmd.Flags().Lookup("url").Usage = "URLs of the nodes: tcp://host:port,tcp://host:port; of one node, the other is looked for"
}

// subcommand makes a command that switches.
func (f *switchFlags) subcommand(use, short, long string, run func(*switcher) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.open(cmd)
			if err != nil {
				return err
			}
			return run(s)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.timeout, "timeout", 120, "seconds until the other node must be active")
	cmd.Flags().BoolVar(&f.force, "force", false, long)
	return cmd
}

func activationStatusCommand() *cobra.Command {
	f := &switchFlags{}
	cmd := &cobra.Command{
		Use: "status", Short: "Show what each node of a pair is.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.open(cmd)
			if err != nil {
				return err
			}
			s.table().print(cmd.OutOrStdout())
			if s.active() < 0 {
				return drill.Why(s.nodes)
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

func activationFailoverCommand() *cobra.Command {
	f := &switchFlags{}
	return f.subcommand("failover", "Have the backup take over from the active node, which stops.",
		"stop the active node although no backup has everything", (*switcher).failover)
}

func activationFailbackCommand() *cobra.Command {
	f := &switchFlags{}
	return f.subcommand("failback", "Have the former primary take over from the backup that is active.",
		"do so although the active node is configured as a primary", (*switcher).failback)
}

// A switcher switches between nodes.
type switcher struct {
	f     *switchFlags
	ctx   context.Context
	out   io.Writer
	admin drill.Admin
	urls  []string
	nodes []drill.Status
}

// open asks the nodes how they are.
func (f *switchFlags) open(cmd *cobra.Command) (*switcher, error) {
	if err := f.connection.begin(cmd); err != nil {
		return nil, err
	}
	urls, err := drill.SplitURLs(f.connection.url)
	if err != nil {
		return nil, usageError(err.Error())
	}
	s := &switcher{f: f, ctx: cmd.Context(), out: cmd.OutOrStdout(), urls: urls, admin: drill.Admin{User: f.connection.user, Password: f.connection.password}}
	s.nodes = s.admin.AskAll(s.ctx, urls)
	if i := s.active(); len(urls) == 1 && i >= 0 {
		if backup := s.nodes[i].BackupAddress(); backup != "" {
			url := "tcp://" + backup
			if _, params, ok := strings.Cut(urls[0], "?"); ok {
				url += "?" + params
			}
			s.urls = append(s.urls, url)
			s.nodes = append(s.nodes, s.admin.Ask(s.ctx, url))
		}
	}
	return s, nil
}

// active is the number of the active node, -1 if there is none.
func (s *switcher) active() int {
	return slices.Index(drill.Roles(s.nodes), drill.Active)
}

// one is the active node.
func (s *switcher) one() (drill.Status, error) {
	var list []drill.Status
	for i, r := range drill.Roles(s.nodes) {
		if r == drill.Active {
			list = append(list, s.nodes[i])
		}
	}
	switch {
	case len(list) == 0:
		return drill.Status{}, drill.Why(s.nodes)
	case len(list) > 1 && list[0].NodeID == list[1].NodeID:
		return drill.Status{}, fmt.Errorf("%s and %s are both active with the node id %s: stop one of them before anything else", drill.NodeName(list[0].URL), drill.NodeName(list[1].URL), list[0].NodeID)
	case len(list) > 1:
		return drill.Status{}, fmt.Errorf("%s and %s are active and no pair: name the nodes of one pair", drill.NodeName(list[0].URL), drill.NodeName(list[1].URL))
	}
	return list[0], nil
}

func (s *switcher) table() *table {
	t := &table{}
	for _, title := range []string{"NODE", "STATE", "NAME", "NODE ID", "HA POLICY", "REPLICA IN SYNC", "ACTIVATION SEQUENCE", "UPTIME", "VERSION"} {
		t.columns = append(t.columns, column{title: []string{title}, left: true})
	}
	roles := drill.Roles(s.nodes)
	for i, n := range s.nodes {
		row := []string{drill.NodeName(n.URL), roles[i].String(), n.Name, n.NodeID, n.Policy, "", "", n.Uptime, n.Version}
		if n.Serves {
			switch {
			case !n.SharedStore:
				row[5] = strconv.FormatBool(n.ReplicaSync)
			case n.BackupAddress() != "":
				row[5] = "shared store, backup waits"
			default:
				row[5] = "shared store, no backup"
			}
			row[6] = "-"
			if n.Sequence > 0 {
				row[6] = strconv.FormatInt(n.Sequence, 10)
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// failover has the active node stop.
func (s *switcher) failover() error {
	n, err := s.one()
	if err != nil {
		return err
	}
	name := drill.NodeName(n.URL)
	if !n.CanFailOver() && !s.f.force {
		why := "no replica has everything"
		if n.SharedStore {
			why = "no backup waits for the shared store, as far as it tells"
		}
		return fmt.Errorf("%s is active and %s: it is not stopped (--force does it nevertheless)", name, why)
	}
	return s.forceFailover(n)
}

// forceFailover has a node stop, and waits until another is active.
func (s *switcher) forceFailover(n drill.Status) error {
	name := drill.NodeName(n.URL)
	began := time.Now()
	w := drill.Watch(s.ctx, s.admin, s.urls, began)
	defer w.Stop()
	if err := s.admin.ForceFailover(s.ctx, n.URL); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s was told to fail over.\n", name)
	if len(s.urls) == 1 {
		fmt.Fprintln(s.out, "No other node is known, so nobody is waited for: name both with --url.")
		return nil
	}
	to, err := s.await(w, n.URL)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s is active after %v. Start %s again to have a backup.\n", drill.NodeName(s.urls[to]), time.Since(began).Round(10*time.Millisecond), name)
	return nil
}

// await waits until another node than that at url is active, and no longer that one.
func (s *switcher) await(w *drill.Watcher, url string) (to int, err error) {
	limit := time.Duration(s.f.timeout) * time.Second
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("not within %v", limit))
	defer cancel()
	err = w.Await(ctx, func(list []drill.Status, roles []drill.Role) bool {
		to = -1
		for i, r := range roles {
			switch {
			case r == drill.Active && list[i].URL == url:
				return false
			case r == drill.Active:
				to = i
			}
		}
		return to >= 0
	})
	if err != nil {
		return 0, fmt.Errorf("wait for another node to be active: %w", err)
	}
	return to, nil
}

// failback has the former primary take over. If it is there as a backup that has everything, the active node is told to give way. If it is
// not there, only its start can bring it back: it asks to be active by itself then, and the active node grants it with allow-failback.
func (s *switcher) failback() error {
	n, err := s.one()
	if err != nil {
		return err
	}
	name := drill.NodeName(n.URL)
	if strings.Contains(n.Policy, "Primary") && !s.f.force {
		return fmt.Errorf("%s is active and is configured as %q: there is nothing to fail back (--force has its backup take over nevertheless)", name, n.Policy)
	}
	if n.CanFailOver() {
		return s.forceFailover(n)
	}
	fmt.Fprintf(s.out, "%s is active, and the former primary is not there or has not everything yet.\n", name)
	fmt.Fprintf(s.out, "Start the former primary now. It takes over by itself as soon as it has everything, if the ha-policy of %s has allow-failback true.\n", name)
	if len(s.urls) == 1 {
		return errors.New("the former primary is not known, so it is not waited for: name both nodes with --url")
	}
	began := time.Now()
	w := drill.Watch(s.ctx, s.admin, s.urls, began)
	defer w.Stop()
	to, err := s.await(w, n.URL)
	if err != nil {
		if s.ctx.Err() == nil && w.Status()[slices.Index(s.urls, n.URL)].CanFailOver() {
			return fmt.Errorf("the former primary is there and has everything, but does not take over (no allow-failback): run this command again, and %s is told to give way", name)
		}
		return err
	}
	fmt.Fprintf(s.out, "%s is active after %v.\n", drill.NodeName(s.urls[to]), time.Since(began).Round(10*time.Millisecond))
	return nil
}
