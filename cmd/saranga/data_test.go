package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fill sends one message of each kind, and one to a topic with two subscriptions.
func fill(t *testing.T, i instance) {
	t.Helper()
	for _, args := range []string{
		"producer --destination queue://orders --message-count 2",
		"producer --destination queue://orders --message-count 1 --message-size 10",
		"producer --destination queue://large --message-count 1 --text-size 250000",
		"consumer --destination topic://news --durable --clientID c1 --break-on-null --receive-timeout 1 --message-count 1",
		"consumer --destination topic://news --durable --clientID c2 --break-on-null --receive-timeout 1 --message-count 1",
		"producer --destination topic://news --message-count 3",
	} {
		if r := cli(t, "", append(strings.Fields(args), i.connection()...)...); r.code != 0 {
			t.Fatalf("%s: %+v", args, r)
		}
	}
}

// queues is what queue stat shows of names and messages.
func queues(t *testing.T, i instance) (list []string) {
	t.Helper()
	r := cli(t, "", append([]string{"queue", "stat", "--single-line-header", "--maxColumnSize", "-1", "--field", "MESSAGE_COUNT", "--operation", "GREATER_THAN", "--value", "0"}, i.connection()...)...)
	for _, line := range strings.Split(r.out, "\n")[2:] {
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			list = append(list, strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[4]))
		}
	}
	return list
}

func TestDataTools(t *testing.T) {
	i := createInstance(t)
	stop := i.serve(t)
	fill(t, i)
	before := strings.Join(queues(t, i), "\n")
	if want := "c1.Consumer ActiveMQTopic[news], thread=0 3\nc2.Consumer ActiveMQTopic[news], thread=0 3\nlarge 1\norders 3"; before != want {
		t.Fatalf("queues\n%s\nwant\n%s", before, want)
	}
	t.Setenv("ARTEMIS_INSTANCE", i.dir)

	// golden data-print-locked; the lock is the process's, so another one must try
	for _, command := range [][]string{{"data", "print"}, {"run"}} {
		if r := process(t, command...); r.code != 1 || r.err != "Error: There is another process using the server at "+i.dir+"/lock. Cannot start the process!\n" {
			t.Errorf("%v: %+v", command, r)
		}
	}
	if r := process(t, "data", "print", "--f"); r.code != 0 || !strings.Contains(r.out, "B I N D I N G S  J O U R N A L") {
		t.Errorf("%+v", r)
	}
	stop()

	r := cli(t, "", "data", "print")
	for _, want := range []string{"Server's ID=", "B I N D I N G S  J O U R N A L", "M E S S A G E S   J O U R N A L", "name=orders"} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("data print has no %q:\n%s%s", want, r.out, r.err)
		}
	}
	file := filepath.Join(t.TempDir(), "out.txt")
	if r := cli(t, "", "data", "print", "--output", file, "--skip-bindings", "--safe"); r.code != 0 || r.out != "" || strings.Contains(read(t, file), "name=orders") {
		t.Errorf("%+v", r)
	}

	// golden data-compact
	if r := cli(t, "", "data", "compact"); r != (result{out: "Compactation succeeded for " + i.dir + "/data/journal\nCompactation succeeded for " + i.dir + "/data/bindings\n"}) {
		t.Errorf("%+v", r)
	}

	exported := filepath.Join(t.TempDir(), "exp.xml")
	if r := cli(t, "", "data", "exp", "--output", exported); r != (result{err: "Processing journal messages\n"}) {
		t.Errorf("%+v", r)
	}
	if text := read(t, exported); strings.Count(text, "<message ") != 7 || strings.Count(text, `isLarge="true"`) != 1 {
		t.Errorf("export\n%.2000s", text)
	}

	for _, flags := range []string{"", "--sort --commit-interval 2"} {
		into := createInstance(t)
		stop := into.serve(t)
		args := append([]string{"data", "imp", "--input", exported}, strings.Fields(flags)...)
		if r := cli(t, "", append(args, into.connection()...)...); r.code != 0 {
			t.Errorf("%+v", r)
		}
		if after := strings.Join(queues(t, into), "\n"); after != before {
			t.Errorf("import %s: queues\n%s\nwant\n%s", flags, after, before)
		}
		if r := cli(t, "", append([]string{"consumer", "--destination", "orders", "--message-count", "3", "--verbose"}, into.connection()...)...); !strings.Contains(r.out, "Received test message: 1\n") {
			t.Errorf("%+v", r)
		}
		stop()
	}
	// The broker that was compacted still has everything.
	i.serve(t)
	if after := strings.Join(queues(t, i), "\n"); after != before {
		t.Errorf("after data compact: queues\n%s", after)
	}
}

func TestImportRefuses(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	bad := filepath.Join(t.TempDir(), "bad.xml")
	if err := os.WriteFile(bad, []byte("<activemq-journal><messages><message id=\"1\" priority=\"x\">"), 0o600); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{bad: "line 1", filepath.Join(t.TempDir(), "none"): "no such file"} {
		if r := cli(t, "", append([]string{"data", "imp", "--input", input}, i.connection()...)...); r.code != 1 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", input, r)
		}
	}
}
