package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
)

func quorumStatusCommand() *cobra.Command {
	return surveyCommand("status", "Show how the quorum and its members are. The exit code is 1 if it has no leader.", func(s survey) *table {
		t := &table{columns: titles("MEMBER", "ADDRESS", "ROLE", "STATE", "TERM", "COMMITTED", "LAST", "SESSIONS", "IN TOUCH")}
		for _, m := range s.Members {
			row := []string{m.ID, m.Address, "-", "does not answer", "-", "-", "-", "-", "-"}
			if st := m.Status; st != nil {
				number := func(n uint64) string { return strconv.FormatUint(n, 10) }
				row = []string{m.ID, m.Address, st.Role, m.state(), number(st.Term), number(st.CommitIndex), number(st.LastIndex), strconv.Itoa(st.Sessions), yesNo(st.Fresh)}
			}
			t.rows = append(t.rows, row)
		}
		return t
	})
}

func quorumMembersCommand() *cobra.Command {
	return surveyCommand("members", "List the members of the quorum.", func(s survey) *table {
		t := &table{columns: titles("MEMBER", "ADDRESS", "VOTE", "STATE")}
		for _, m := range s.Members {
			t.rows = append(t.rows, []string{m.ID, m.Address, yesNo(m.Voter), m.state()})
		}
		return t
	})
}

// state is how far the member takes part, in words.
func (s surveyed) state() string {
	switch {
	case s.Status == nil:
		return "does not answer"
	case s.Status.Phase == "founding":
		return "waits for the others"
	case s.Status.Phase == "refilling":
		return "is filled again, no vote"
	case !s.Voter:
		return "joins, no vote yet"
	}
	return "present"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func titles(names ...string) (out []column) {
	for _, n := range names {
		out = append(out, column{title: []string{n}, left: true})
	}
	return out
}

// surveyCommand is a command that asks all members and shows what they said.
func surveyCommand(use, short string, show func(survey) *table) *cobra.Command {
	var f quorumFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := f.load(cmd)
			if err != nil {
				return err
			}
			s, err := takeSurvey(cmd.Context(), *c.member)
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), s); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
			if !asJSON {
				printSurvey(cmd.OutOrStdout(), s, show(s))
			}
			if s.Leader == "" {
				return exitCode(1)
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printSurvey prints the sentence, the table, and why members do not answer.
func printSurvey(out io.Writer, s survey, t *table) {
	fmt.Fprintln(out, s.sentence())
	t.print(out)
	for _, m := range s.Members {
		if m.Error != "" {
			fmt.Fprintf(out, "%s: %s\n", m.ID, m.Error)
		}
	}
}
