package interop

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// limit bounds a run of the program, which takes about a minute on two idle cores.
const limit = 4 * time.Minute

const recording = "testdata/jms-artemis-2.40.0.txt"

var (
	record = flag.Bool("record", false, "record the transcript of real Artemis anew")
	broker = flag.String("broker", "saranga", "broker to test: saranga or artemis")
	cases  = flag.String("cases", "", "only cases whose name starts with this")
)

//go:embed testdata/broker.xml
var brokerXML string

// TestJMS runs the JMS program against the broker and compares each case with the recording.
func TestJMS(t *testing.T) {
	artemis := peers.RealArtemis(t)
	program := peers.CompileJava(t, artemis, "jms")
	if *record {
		recordTranscript(t, artemis, program)
		return
	}
	var tested peers.Broker = artemis
	if *broker != artemis.Name() {
		tested = peers.UnderTest(t)
	}
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, tested, program)
	compare(t, want, got)
}

// compare reports each case whose facts differ from the recording, and, against Saranga, each must that does not hold.
func compare(t *testing.T, want, got transcript) {
	for _, name := range want.cases {
		if _, ran := got.facts[name]; !ran && strings.HasPrefix(name, *cases) {
			t.Errorf("case %s is in the recording but did not run", name)
		}
	}
	for _, name := range got.cases {
		t.Run(name, func(t *testing.T) {
			if diff := diff(want.facts[name], got.facts[name]); diff != "" {
				t.Errorf("differs from the recording (-):\n%s", diff)
			}
			if *broker == "saranga" {
				for _, must := range got.broken(name) {
					t.Error(must)
				}
			}
		})
	}
}

// run starts the broker on a new instance with the program's configuration and returns what the program stated.
func run(t *testing.T, b peers.Broker, program peers.Program) transcript {
	i := peers.NewInstance(t, b, peers.CreateOptions{})
	for name, content := range map[string]string{
		"broker.xml":               strings.ReplaceAll(brokerXML, "@PORT@", strconv.Itoa(i.Port)),
		"artemis-users.properties": "admin = admin\nlimited = secret\n",
		"artemis-roles.properties": "amq = admin\nlimited = limited\n",
	} {
		if err := i.WriteEtc(name, content); err != nil {
			t.Fatal(err)
		}
	}
	peers.Run(t, b, i)

	began := time.Now()
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := program.Command(ctx, "interop.Main", "127.0.0.1", strconv.Itoa(i.Port), i.User, i.Password, *cases)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if stderr.Len() > 0 {
		t.Logf("the program's complaints:\n%s", stderr.String())
	}
	if err != nil {
		t.Fatalf("JMS program: %v", err)
	}
	t.Logf("the program ran for %v", time.Since(began).Round(time.Second))
	got, err := parse(stdout.String())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// recordTranscript writes what real Artemis shows, if it shows the same twice.
func recordTranscript(t *testing.T, artemis peers.Broker, program peers.Program) {
	first := run(t, artemis, program)
	second := run(t, artemis, program)
	for _, name := range first.cases {
		if diff := diff(first.facts[name], second.facts[name]); diff != "" {
			t.Errorf("case %s differs between two runs against Artemis:\n%s", name, diff)
		}
		for _, fact := range first.facts[name] {
			if strings.HasPrefix(fact, "FAILED") {
				t.Errorf("case %s: %s", name, fact)
			}
		}
	}
	if t.Failed() {
		return
	}
	if err := os.WriteFile(recording, []byte(first.recorded()), 0o644); err != nil {
		t.Fatal(err)
	}
}
