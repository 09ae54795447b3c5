package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config/create"
	"github.com/saranga-mq/saranga/raftfsm"
)

// joining is a run of the join command: it describes a new member in a file. The member joins when it is started; so there is nothing
// that could be half done.
type joining struct {
	flags quorumFlags
	q     create.Quorum
	peers []string
}

func quorumJoinCommand() *cobra.Command {
	j := &joining{}
	cmd := &cobra.Command{
		Use:   "join",
		Short: "Make an instance, or a folder, a new member of a quorum that runs: writes its " + create.QuorumFile + ". The member joins when it is started.",
		Args:  exactly(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return j.run(cmd) },
	}
	j.flags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&j.q.Member, "member", "", "id of the new member")
	f.StringVar(&j.q.Listen, "listen", "", "HOST:PORT on which it listens, and others reach it")
	f.StringArrayVar(&j.peers, "peer", nil, "HOST:PORT of a member of the group; one that answers is enough")
	f.StringVar(&j.q.Cluster, "cluster", create.DefaultQuorumCluster, "name of the group")
	f.StringVar(&j.q.Certificate, "tls-certificate", "", "PEM file with the new member's certificate")
	f.StringVar(&j.q.Key, "tls-key", "", "PEM file with its key")
	f.StringVar(&j.q.CA, "tls-ca", "", "PEM file with the authority of the group")
	f.StringVar(&j.q.ZooKeeper, "zookeeper", "", "HOST:PORT on which it serves ZooKeeper clients")
	f.StringArrayVar(&j.q.ZooKeeperAllow, "zookeeper-allow", nil, "network that these may come from besides this machine")
	return cmd
}

func (j *joining) run(cmd *cobra.Command) error {
	q := &j.q
	switch {
	case q.Member == "":
		return usageError("Missing required option: '--member'")
	case q.Listen == "":
		return usageError("Missing required option: '--listen'")
	case len(j.peers) == 0:
		return usageError("Missing required option: '--peer'")
	}
	file, instance, err := j.flags.place(cmd)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; a member that joins is told apart from a founder by join: true in it", file)
	}
	for _, path := range []*string{&q.Certificate, &q.Key, &q.CA} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := j.ask(cmd.Context()); err != nil {
		return err
	}
	if _, err := readQuorum(file, instance, q.YAML()); err != nil {
		return err
	}
	if err := writeNew(file, q.YAML()); err != nil {
		return err
	}
	j.sayNext(cmd.OutOrStdout(), file)
	return nil
}

// ask finds the members of the group, and that there is room for the new one among them.
func (j *joining) ask(ctx context.Context) error {
	q := &j.q
	c := raftfsm.Config{Cluster: q.Cluster, Listen: j.peers[0], TLS: raftfsm.TLS{Certificate: q.Certificate, Key: q.Key, CA: q.CA}}
	for _, p := range j.peers {
		c.Members = append(c.Members, raftfsm.Peer{ID: p, Address: p})
	}
	s, err := takeSurvey(ctx, c)
	if err != nil {
		return err
	}
	if s.Leader == "" {
		return errNoLeader(s)
	}
	for _, m := range s.Members {
		switch {
		case m.ID == q.Member:
			return fmt.Errorf("group %s has a member %q, at %s. If that is gone for good, take it out first: saranga quorum leave --member %s", s.Cluster, m.ID, m.Address, m.ID)
		case m.Address == q.Listen:
			return fmt.Errorf("member %q of group %s is at %s", m.ID, s.Cluster, m.Address)
		}
		q.Members = append(q.Members, create.QuorumMember{ID: m.ID, Address: m.Address})
	}
	q.Join = true
	return nil
}

// writeNew writes a file that is not there. It is whole or not there.
func writeNew(file string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), file) // never over another
}

func (j *joining) sayNext(out io.Writer, file string) {
	q := j.q
	fmt.Fprintf(out, "Wrote %s. Member %s joins group %s when it is started:\n\n", file, q.Member, q.Cluster)
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "broker.xml")); err == nil {
		fmt.Fprint(out, "   saranga run            with the broker\n")
	}
	fmt.Fprint(out, "   saranga quorum run     without a broker\n\n")
	fmt.Fprintf(out, "It has a vote when saranga quorum members says so. Then add {id: %s, address: %s} to quorum.members in the %s of the others.\n", q.Member, q.Listen, create.QuorumFile)
	if voters := slices.Clone(q.Members); (len(voters)+1)%2 == 0 {
		fmt.Fprintf(out, "The group then has %d members. An even number survives no more losses than one less.\n", len(voters)+1)
	}
}

// sayQuorum tells what a created member needs besides.
func (c *creation) sayQuorum(out io.Writer) {
	if len(c.o.QuorumMembers) == 0 {
		return
	}
	var own create.QuorumMember
	for _, text := range c.o.QuorumMembers {
		if m, err := create.ParseQuorumMember(text); err == nil && m.ID == c.o.QuorumID {
			own = m
		}
	}
	if (create.Quorum{Listen: own.Address}).Exposed() {
		fmt.Fprintf(out, "\nThe members of the quorum prove by TLS who they are. Put this member's certificate, its key and their authority where %s of the instance names them;\n"+
			"the certificate must name the host of %s and be usable for both ends.\n", create.QuorumFile, own.Address)
	}
	if n := len(c.o.QuorumMembers); n < 3 {
		fmt.Fprintf(out, "\nA quorum of %d survives the loss of none. With a third member, which needs no broker (saranga quorum run), it survives that of one.\n", n)
	}
}
