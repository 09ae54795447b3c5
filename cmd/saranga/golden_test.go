package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goldenRun is a run of Artemis' command line.
type goldenRun struct {
	Args   []string `json:"args"`
	Exit   int      `json:"exit"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
}

func readGolden(t *testing.T, name string) goldenRun {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "golden", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var g goldenRun
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return g
}

// differing are what differs from run to run, and the name of the program.
var differing = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d .* (WARN|INFO) .*\n`), ""}, // log lines among the output
	{regexp.MustCompile(`127\.0\.0\.1:\d{2,}`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`Usage: artemis`), "Usage: saranga"},
	{regexp.MustCompile(`Time elapsed: [\d.]+`), "Time elapsed: N"},
	{regexp.MustCompile(`milli second : \d+`), "milli second : N"},
	{regexp.MustCompile(`"u1"\(r\d,r\d\)`), `"u1"(r1,r2)`}, // in no order
}

func alike(text string) string {
	for _, d := range differing {
		text = d.what.ReplaceAllString(text, d.by)
	}
	return strings.TrimSpace(text)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// compareGolden runs the command of a golden and compares exit code, output and the first line of errors.
func compareGolden(t *testing.T, name string, at instance) {
	t.Run(name, func(t *testing.T) {
		g := readGolden(t, name)
		args := make([]string, len(g.Args))
		for i, a := range g.Args {
			args[i] = strings.Replace(a, "tcp://127.0.0.1:63316", at.url(), 1)
		}
		r := cli(t, "", args...)
		if r.code != g.Exit {
			t.Errorf("exit %d, want %d", r.code, g.Exit)
		}
		if got, want := alike(r.out), alike(g.Stdout); got != want {
			t.Errorf("stdout\n%s\nwant\n%s", got, want)
		}
		// An error of the network is told in more words than Artemis has.
		if got, want := alike(firstLine(r.err)), alike(firstLine(g.Stderr)); got != want && !(name == "connect-refused" && strings.HasPrefix(got, want)) {
			t.Errorf("stderr\n%s\nwant\n%s", got, want)
		}
	})
}

func TestGoldensWithoutBroker(t *testing.T) {
	noInstance(t)
	for _, name := range []string{"unknown-command", "unknown-option", "perf-consumer", "mask", "mask-key", "connect-refused"} {
		compareGolden(t, name, instance{port: 1})
	}
}

// In the order of their effects.
func TestGoldens(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	for _, name := range []string{
		"address-create", "address-create-dup", "address-update", "address-show-missing",
		"queue-create", "queue-create-dup", "queue-update", "missing-required", "queue-purge",
		"queue-stat-bad-field", "queue-stat-field-no-value",
		"check-node", "check-queue-missing",
		"queue-delete", "queue-delete-missing", "address-delete", "producer",
		"user-list", "user-add", "user-list-one", "user-reset", "user-rm", "user-rm-missing",
		"bad-password",
	} {
		compareGolden(t, name, i)
	}
}
