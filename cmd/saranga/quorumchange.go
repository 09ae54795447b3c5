package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/raftfsm"
)

// changeTimeout is how long a change of the group may take, and then until it shows.
const changeTimeout = 15 * time.Second

func quorumTransferCommand() *cobra.Command {
	var f quorumFlags
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Have another member of the quorum lead.",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := f.load(cmd)
			if err != nil {
				return err
			}
			s, err := takeSurvey(cmd.Context(), *c.member)
			if err != nil {
				return err
			}
			now, err := handOver(cmd.Context(), *c.member, s)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s leads group %s; it was %s.\n", now.Leader, now.Cluster, s.Leader)
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

// errNoLeader is the state of a group in which nothing can be changed.
func errNoLeader(s survey) error {
	return errors.New(s.sentence() + " Nothing can be changed until it has one")
}

// handOver has the leader hand over and waits until another leads.
func handOver(ctx context.Context, c raftfsm.Config, s survey) (survey, error) {
	leader, ok := s.member(s.Leader)
	if !ok {
		return s, errNoLeader(s)
	}
	err := onMember(ctx, c, leader.Address, func(ctx context.Context, t *raftfsm.Tool) error { return t.Transfer(ctx) })
	if err != nil {
		return s, fmt.Errorf("%s does not hand over: %w", leader.ID, err)
	}
	return awaitSurvey(ctx, c, "another leader", func(now survey) bool { return now.Leader != "" && now.Leader != leader.ID })
}

// onMember does something with a member.
func onMember(ctx context.Context, c raftfsm.Config, address string, do func(context.Context, *raftfsm.Tool) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	t, err := raftfsm.Connect(ctx, c.Cluster, address, c.TLS)
	if err != nil {
		return err
	}
	defer t.Close()
	return do(ctx, t)
}

// awaitSurvey asks until the members say what is waited for.
func awaitSurvey(ctx context.Context, c raftfsm.Config, what string, done func(survey) bool) (survey, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	for {
		s, err := takeSurvey(ctx, c)
		if err == nil && done(s) {
			return s, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return s, fmt.Errorf("waited %v for %s: %s", changeTimeout, what, s.sentence())
		}
	}
}

func quorumLeaveCommand() *cobra.Command {
	var f quorumFlags
	var id string
	var force bool
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Take a member out of the quorum, this one if no other is named.",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := f.load(cmd)
			if err != nil {
				return err
			}
			if id == "" {
				id = c.member.Member
			}
			s, err := takeSurvey(cmd.Context(), *c.member)
			if err != nil {
				return err
			}
			left, err := leave(cmd.Context(), *c.member, s, id, force)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "%s is no member of group %s any more. It does not come back by itself: to join again it needs join: true and an empty state folder.\n%s\n", id, left.Cluster, left.sentence())
			if _, listed := listedIn(*c.member, id); listed && id != c.member.Member {
				fmt.Fprintf(out, "Take it out of quorum.members in the %s of the others, too.\n", c.file)
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&id, "member", "", "id of the member (default: this one)")
	cmd.Flags().BoolVar(&force, "force", false, "also if those that are left have no majority now")
	return cmd
}

func listedIn(c raftfsm.Config, id string) (raftfsm.Peer, bool) {
	for _, p := range c.Members {
		if p.ID == id {
			return p, true
		}
	}
	return raftfsm.Peer{}, false
}

// mayLeave refuses to take a member out if nothing would be decided any more.
func (s survey) mayLeave(id string, force bool) error {
	m, ok := s.member(id)
	if !ok {
		return fmt.Errorf("%q is no member of group %s; there are %s", id, s.Cluster, s.ids())
	}
	voters, present := s.Voters, s.Present
	if m.Voter {
		voters--
	}
	if m.votes() {
		present--
	}
	switch {
	case voters == 0:
		return fmt.Errorf("%s is the last voter of group %s; to give the group up, stop it and remove its state folder", id, s.Cluster)
	case present < majority(voters) && !force:
		return fmt.Errorf("without %s group %s has %d voters, and of these %d are present: it would have no majority, and no broker that has its lock there could serve. "+
			"Start the others first, or use --force", id, s.Cluster, voters, present)
	}
	return nil
}

// leave takes a member out and returns what is left.
func leave(ctx context.Context, c raftfsm.Config, s survey, id string, force bool) (survey, error) {
	if err := s.mayLeave(id, force); err != nil {
		return s, err
	}
	if s.Leader == "" {
		return s, errNoLeader(s)
	}
	if s.Leader == id && s.Present > 1 {
		var err error
		if s, err = handOver(ctx, c, s); err != nil {
			return s, err
		}
	}
	leader, _ := s.member(s.Leader)
	err := onMember(ctx, c, leader.Address, func(ctx context.Context, t *raftfsm.Tool) error { return t.Remove(ctx, id) })
	if err != nil {
		return s, fmt.Errorf("%s does not take %s out: %w", leader.ID, id, err)
	}
	// Whoever is out may still believe to be in.
	return awaitSurvey(ctx, without(c, id), id+" to be out", func(now survey) bool {
		_, there := now.member(id)
		return !there && now.Leader != ""
	})
}

// without is the configuration with which only the others are asked.
func without(c raftfsm.Config, id string) raftfsm.Config {
	var rest []raftfsm.Peer
	for _, p := range c.Members {
		if p.ID != id {
			rest = append(rest, p)
		}
	}
	if c.Member == id && len(rest) > 0 {
		c.Member, c.Advertise = rest[0].ID, rest[0].Address
	}
	c.Members = rest
	return c
}
