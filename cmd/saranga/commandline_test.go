package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// asProgram in the environment lets the test binary be the program.
const asProgram = "SARANGA_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process runs a command line in a process of its own, with the environment of this one.
func process(t testing.TB, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdout, cmd.Stderr = &out, &err
	var exit *exec.ExitError
	if failed := cmd.Run(); failed != nil && !errors.As(failed, &exit) {
		t.Fatal(failed)
	}
	return result{out.String(), err.String(), cmd.ProcessState.ExitCode()}
}

// result is what a command printed, and its exit code.
type result struct {
	out, err string
	code     int
}

// cli runs a command line in this process.
func cli(t testing.TB, stdin string, args ...string) result {
	t.Helper()
	return cliUntil(t.Context(), stdin, args...)
}

func cliUntil(ctx context.Context, stdin string, args ...string) result {
	var out, err bytes.Buffer
	root := rootCommand()
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&err)
	code := execute(ctx, root, args)
	return result{out.String(), err.String(), code}
}

// noInstance takes away what the environment says of an instance.
func noInstance(t testing.TB) {
	t.Setenv("ARTEMIS_INSTANCE", "")
	t.Setenv("ARTEMIS_INSTANCE_ETC", "")
	t.Setenv("ARTEMIS_HOME", "")
}

// instance is a created instance.
type instance struct {
	dir  string
	port int
}

func (i instance) url() string { return fmt.Sprintf("tcp://127.0.0.1:%d", i.port) }

// connection are the options to connect with.
func (i instance) connection() []string {
	return []string{"--url", i.url(), "--user", "admin", "--password", "admin"}
}

// createInstance creates an instance with one acceptor.
func createInstance(t testing.TB) instance {
	t.Helper()
	noInstance(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i := instance{filepath.Join(t.TempDir(), "instance"), l.Addr().(*net.TCPAddr).Port}
	l.Close()
	r := cli(t, "", "create", i.dir, "--silent", "--user", "admin", "--password", "admin", "--require-login", "--host", "127.0.0.1", "--default-port", fmt.Sprint(i.port),
		"--no-autotune", "--no-web", "--no-amqp-acceptor", "--no-stomp-acceptor", "--no-mqtt-acceptor", "--no-hornetq-acceptor", "--java-memory", "256M")
	if r.code != 0 {
		t.Fatalf("create: %+v", r)
	}
	return i
}

// serve runs the broker of the instance in this process until stop is called, or the test ends.
func (i instance) serve(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan result, 1)
	go func() { done <- cliUntil(ctx, "", "run", "--instance", i.dir) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if r := <-done; r.code != 0 {
			t.Errorf("run: %+v", r)
		}
	})
	t.Cleanup(stop)
	deadline := time.After(20 * time.Second)
	for {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", i.port))
		if err == nil {
			conn.Close()
			return stop
		}
		select {
		case r := <-done:
			t.Fatalf("run ended: %+v", r)
		case <-deadline:
			t.Fatalf("the acceptor did not open: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestUsage(t *testing.T) {
	noInstance(t)
	const usage = "\nUsage: saranga help [<args>...]\nuse 'help <command>' for more information\n      [<args>...]\n"
	for _, c := range []struct {
		args     string
		code     int
		out, err string // out is the start
	}{
		{"", 0, "Usage: saranga [COMMAND]\nuse 'help <command>' for more information\nCommands:\n  activation  ", ""},
		{"queue", 0, "Usage: saranga queue [COMMAND]\nuse 'help queue' for sub commands list\nCommands:\n  create  ", ""},
		{"help queue stat", 0, "Usage: saranga queue stat [flags]\n", ""},
		{"frob", 1, usage, "Unmatched argument at index 0: 'frob'\n"},
		{"queue frob", 1, usage, "Unmatched argument at index 1: 'frob'\n"},
		{"queue stat more", 1, usage, "Unmatched argument at index 2: 'more'\n"},
		{"queue stat --nope", 1, usage, "Unknown option: '--nope'\n"},
		{"queue stat -x", 1, usage, "Unknown option: '-x'\n"},
		{"queue stat --url", 1, usage, "Missing required parameter for option '--url'\n"},
		{"queue stat --maxRows many", 1, usage, "Invalid value for option '--maxRows': 'many' is not a valid int\n"},
		{"queue stat --protocol AMQP", 1, usage, "Invalid value for option '--protocol': 'AMQP' is not CORE\n"},
		{"producer --destination queue://", 1, usage, "Invalid value for option '--destination': 'queue://' names nothing\n"},
		{"producer --properties x", 1, usage, "Invalid value for option '--properties': invalid character 'x' looking for beginning of value\n"},
		{"create", 1, usage, "Missing required parameter: '<directory>'\n"},
		{"mask", 1, usage, "Missing required parameter: '<password>'\n"},
		{"consumer --durable", 1, usage, "--durable needs a --clientID\n"},
		{"run", 1, "", "no instance: run the command by its bin/artemis, or name its folder with --instance\n"},
		{"stop", 1, "", "no instance: run the command by its bin/artemis, or name its folder with --instance\n"},
		{"run file:x", 1, "", "configuration \"file:x\" is not of the form xml:FOLDER/bootstrap.xml\n"},
		{"version", 0, "Saranga " + version + ", compatible with Apache ActiveMQ Artemis 2.57.0\nSaranga home: null\nSaranga instance: null\n", ""},
		{"version --instance /i", 0, "Saranga " + version + ", compatible with Apache ActiveMQ Artemis 2.57.0\nSaranga home: null\nSaranga instance: /i\n", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := cli(t, "", strings.Fields(c.args)...)
			if r.code != c.code || r.err != c.err || !strings.HasPrefix(r.out, c.out) {
				t.Errorf("exit %d\nstdout %q\nstderr %q\nwant %d\n%q…\n%q", r.code, r.out, r.err, c.code, c.out, c.err)
			}
		})
	}
}

// The scripts that a shell evaluates to complete commands.
func TestCompletion(t *testing.T) {
	for shell, want := range map[string]string{"bash": "__start_saranga", "zsh": "#compdef saranga", "fish": "complete -c saranga"} {
		if r := cli(t, "", "completion", shell); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("%s: %d %s", shell, r.code, r.err)
		}
	}
	r := cli(t, "", "__complete", "queue", "st")
	if !strings.HasPrefix(r.out, "stat\t") {
		t.Errorf("%+v", r)
	}
}
