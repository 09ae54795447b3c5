package interop

import (
	"fmt"
	"slices"
	"strings"
)

// transcript is what the program stated, by case in the order of the program.
type transcript struct {
	cases []string
	facts map[string][]string
	// musts are facts that real Artemis does not keep in every run, so that they are not recorded; the program
	// knows what is wanted and says so in those that do not hold.
	musts map[string][]string
}

// parse takes the lines "case NAME: KEY=VALUE" apart; other lines are errors.
func parse(text string) (transcript, error) {
	t := transcript{facts: map[string][]string{}, musts: map[string][]string{}}
	for number, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		name, fact, ok := strings.Cut(strings.TrimPrefix(line, "case "), ": ")
		if !ok || !strings.HasPrefix(line, "case ") {
			return transcript{}, fmt.Errorf("transcript line %d: want \"case NAME: KEY=VALUE\", have %q", number+1, line)
		}
		if _, known := t.facts[name]; !known {
			t.cases = append(t.cases, name)
			t.facts[name] = nil
		}
		if strings.HasPrefix(fact, "must ") {
			t.musts[name] = append(t.musts[name], fact)
		} else {
			t.facts[name] = append(t.facts[name], fact)
		}
	}
	return t, nil
}

// recorded is the text of a transcript without its musts.
func (t transcript) recorded() string {
	var out strings.Builder
	for _, name := range t.cases {
		for _, fact := range t.facts[name] {
			fmt.Fprintf(&out, "case %s: %s\n", name, fact)
		}
	}
	return out.String()
}

// broken are the musts of a case that do not hold.
func (t transcript) broken(name string) []string {
	return slices.DeleteFunc(slices.Clone(t.musts[name]), func(must string) bool { return !strings.Contains(must, " (want ") })
}

// diff shows how got differs from want: equal lines indented, missing ones after "-", additional ones after "+".
// It is empty when they are equal.
func diff(want, got []string) string {
	common := make([][]int, len(want)+1) // longest common subsequence of want[i:] and got[j:]
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	if len(want) == len(got) && common[0][0] == len(want) {
		return ""
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			fmt.Fprintf(&out, "  %s\n", want[i])
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&out, "- %s\n", want[i])
			i++
		default:
			fmt.Fprintf(&out, "+ %s\n", got[j])
			j++
		}
	}
	return out.String()
}
