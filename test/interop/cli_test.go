package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// cliRecording holds the commands of TestCommandLine and what Artemis' own command line prints for them on Artemis:
// "$ " and a command, below it its standard output, at the end "! " and a line of standard error, of all commands.
// $C stands for the connection options, $T for those of transfer.
const cliRecording = "testdata/cli-artemis-2.40.0.txt"

// cliLimit bounds a run of all commands.
const cliLimit = 4 * time.Minute

// TestCommandLine compares what commands print with the recording: Saranga's own commands on Saranga, Artemis' commands
// on Saranga, and Saranga's commands on Artemis.
//
// Artemis' commands are run in its shell, by one JVM; what the shell adds is left out.
func TestCommandLine(t *testing.T) {
	text, err := os.ReadFile(cliRecording)
	if err != nil {
		t.Fatal(err)
	}
	want := parseCLI(string(text))
	artemis := peers.RealArtemis(t)
	if *record {
		got := runShell(t, artemis, startCLI(t, artemis), want.commands())
		if err := os.WriteFile(cliRecording, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	saranga := peers.UnderTest(t)
	t.Run("saranga on saranga", func(t *testing.T) {
		want.compare(t, runEach(t, saranga, startCLI(t, saranga), want.commands()))
	})
	t.Run("artemis on saranga", func(t *testing.T) {
		want.compare(t, runShell(t, artemis, startCLI(t, saranga), want.commands()))
	})
	t.Run("saranga on artemis", func(t *testing.T) {
		want.compare(t, runEach(t, saranga, startCLI(t, artemis), want.commands()))
	})
}

// startCLI starts a broker that speaks Core only, so that no queues of other protocols are listed.
func startCLI(t *testing.T, b peers.Broker) peers.Instance {
	i := peers.NewInstance(t, b, peers.CreateOptions{})
	file := i.Etc("broker.xml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	narrowed := regexp.MustCompile(`protocols=[A-Z,]+`).ReplaceAll(text, []byte("protocols=CORE"))
	if bytes.Equal(narrowed, text) {
		t.Fatalf("%s has no protocols= to narrow", file)
	}
	if err := i.WriteEtc("broker.xml", string(narrowed)); err != nil {
		t.Fatal(err)
	}
	peers.Run(t, b, i)
	return i
}

// cliRun is what commands printed, normalised.
type cliRun struct {
	list   []cliCommand
	errors []string
}

type cliCommand struct {
	line   string
	output []string
}

func parseCLI(text string) (r cliRun) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "$ "):
			r.list = append(r.list, cliCommand{line: line[2:]})
		case strings.HasPrefix(line, "! "):
			r.errors = append(r.errors, line[2:])
		case len(r.list) > 0:
			last := &r.list[len(r.list)-1]
			last.output = append(last.output, line)
		}
	}
	return r
}

func (r cliRun) String() string {
	var b strings.Builder
	for _, c := range r.list {
		fmt.Fprintf(&b, "$ %s\n", c.line)
		for _, line := range c.output {
			fmt.Fprintln(&b, line)
		}
	}
	for _, line := range r.errors {
		fmt.Fprintf(&b, "! %s\n", line)
	}
	return b.String()
}

func (r cliRun) commands() (lines []string) {
	for _, c := range r.list {
		lines = append(lines, c.line)
	}
	return lines
}

func (r cliRun) compare(t *testing.T, got cliRun) {
	t.Helper()
	for i, c := range r.list {
		if i >= len(got.list) {
			t.Errorf("$ %s\nand what follows did not run", c.line)
			break
		}
		if diff := diff(c.output, got.list[i].output); diff != "" {
			t.Errorf("$ %s\ndiffers from the recording (-):\n%s", c.line, diff)
		}
	}
	if diff := diff(r.errors, got.errors); diff != "" {
		t.Errorf("standard error differs from the recording (-):\n%s", diff)
	}
}

// arguments takes a command apart: at blanks outside of single quotes.
func arguments(line string, i peers.Instance) (args []string) {
	line = expand(line, i)
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		end, quote := " ", 0
		if line[0] == '\'' {
			end, quote = "'", 1
		}
		arg, rest, _ := strings.Cut(line[quote:], end)
		args, line = append(args, arg), rest
	}
	return args
}

func expand(line string, i peers.Instance) string {
	line = strings.ReplaceAll(line, "$C", fmt.Sprintf("--url %s --user %s --password %s", i.URL(), i.User, i.Password))
	for _, side := range []string{"source", "target"} {
		line = strings.Replace(line, "$T", fmt.Sprintf("--%[1]s-url %[2]s --%[1]s-user %[3]s --%[1]s-password %[4]s $T", side, i.URL(), i.User, i.Password), 1)
	}
	return strings.ReplaceAll(line, "$T", "")
}

// runEach runs the commands by the saranga binary, a process each.
func runEach(t *testing.T, s peers.Saranga, i peers.Instance, commands []string) (r cliRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cliLimit)
	defer cancel()
	var complaints bytes.Buffer
	for _, line := range commands {
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, s.Binary, arguments(line, i)...)
		cmd.Stdout, cmd.Stderr = &out, &complaints
		if err := cmd.Run(); err != nil && !strings.HasPrefix(line, "check ") {
			t.Errorf("$ %s\n%v\n%s", line, err, complaints.String())
		}
		r.list = append(r.list, cliCommand{line, normalise(out.String())})
	}
	r.errors = normalise(complaints.String())
	return r
}

// shellOf is Artemis' shell for an instance. The script of the instance may start Saranga, so Java is called as Artemis'
// own script would.
func shellOf(ctx context.Context, a peers.Artemis, i peers.Instance) *exec.Cmd {
	return exec.CommandContext(ctx, "java", "-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dartemis.home="+a.Home, "-Dartemis.instance="+i.Dir, "-Dartemis.instance.etc="+filepath.Dir(i.Etc("x")), "-Dlog4j2.level=OFF",
		"-classpath", filepath.Join(a.Home, "lib", "artemis-boot.jar"), "org.apache.activemq.artemis.boot.Artemis", "shell")
}

// prompt is what Artemis' shell prints before it reads a command.
var prompt = regexp.MustCompile(`(?m)^(Apache ActiveMQ Artemis [\d.]+|\w+@tcp://\S+) > `)

// runShell runs the commands in Artemis' shell.
func runShell(t *testing.T, a peers.Artemis, i peers.Instance, commands []string) (r cliRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cliLimit)
	defer cancel()
	var in strings.Builder
	for _, line := range commands {
		fmt.Fprintln(&in, expand(line, i))
	}
	fmt.Fprintln(&in, "exit")
	var out, complaints bytes.Buffer
	cmd := shellOf(ctx, a, i)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in.String()), &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Errorf("artemis shell: %v\n%s", err, complaints.String())
	}
	parts := prompt.Split(out.String(), -1)
	for n, part := range parts[1:] {
		if n < len(commands) {
			r.list = append(r.list, cliCommand{commands[n], normalise(part)})
		}
	}
	r.errors = normalise(complaints.String())
	return r
}

// dropped are lines that one side only prints: log lines, what the shell and verbose commands say of themselves, stack traces.
var dropped = regexp.MustCompile(`^\s*$|^\d{4}-\d\d-\d\d .* (WARN|INFO|ERROR) |^CLI connected to broker|^Executing |^Home::|^\s+at |^\s+\.\.\. \d+ more|^Caused by: |^WARNING: Unable to create a system terminal|org\.jline\.|^activemq\.(management|notifications)|^\$sys\.`)

// varying are what differs from run to run.
var varying = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`tcp://127\.0\.0\.1:\d+`), "tcp://127.0.0.1:PORT"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`Elapsed time in second : \d+`), "Elapsed time in second : N"},
	{regexp.MustCompile(`Elapsed time in milli second : \d+`), "Elapsed time in milli second : N"},
	{regexp.MustCompile(`Time elapsed: \d+\.\d{3} sec`), "Time elapsed: N sec"},
	{regexp.MustCompile(`, postOffice=PostOfficeImpl \[[^\]]*\]`), ""}, // of Java's queues
	{regexp.MustCompile(`temp=false\]@[0-9a-f]+`), "temp=false]"},
	{regexp.MustCompile(`^org\.apache\.activemq\.artemis\.cli\.CLIException: `), ""},
	{regexp.MustCompile(` +[\d.]+ us`), " N us"},
	{regexp.MustCompile(`: +\d+ msg/sec`), ": N msg/sec"},
	{regexp.MustCompile(`--- total (sent|blocked|completed|received): +\d+`), "--- total $1: N"},
	{regexp.MustCompile(`\|P1 .*`), "|P1 (as many messages as perf client sent)"},
	{regexp.MustCompile(` +$`), ""},
}

// normalise takes away what may differ between two runs, and the lines of a second that are like those of the one before.
func normalise(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if dropped.MatchString(line) {
			continue
		}
		for _, v := range varying {
			line = v.what.ReplaceAllString(line, v.by)
		}
		lines = append(lines, line)
	}
	return foldSeconds(lines)
}

// foldSeconds keeps one of successive equal blocks that start with "--- warmup".
func foldSeconds(lines []string) (out []string) {
	var last, block []string
	end := func() {
		if len(block) > 0 && !slices.Equal(block, last) {
			out = append(out, block...)
		}
		last, block = block, nil
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "--- warmup") || strings.HasPrefix(line, "--- SUMMARY") {
			end()
		}
		block = append(block, line)
	}
	end()
	return out
}
