package peers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Broker is a broker program.
type Broker interface {
	// Name is "artemis" or "saranga".
	Name() string
	// Create lays out a new instance in dir with the program's own create command.
	Create(ctx context.Context, dir string, o CreateOptions) (Instance, error)
	// command is the process that serves the instance, not started.
	command(i Instance) *exec.Cmd
}

// Artemis is an installed distribution of real Artemis.
type Artemis struct {
	Home string // its folder
}

// InstallArtemis returns the cached distribution, fetching it first when it is not there yet.
func InstallArtemis(ctx context.Context) (Artemis, error) {
	root, err := moduleRoot()
	if err != nil {
		return Artemis{}, err
	}
	out, err := output(exec.CommandContext(ctx, filepath.Join(root, "test", "peers", "install-artemis.sh")))
	if err != nil {
		return Artemis{}, fmt.Errorf("install Artemis: %w", err)
	}
	lines := strings.Fields(out)
	return Artemis{Home: lines[len(lines)-1]}, nil
}

// Name implements Broker.
func (a Artemis) Name() string { return "artemis" }

// Create implements Broker.
func (a Artemis) Create(ctx context.Context, dir string, o CreateOptions) (Instance, error) {
	return create(ctx, filepath.Join(a.Home, "bin", "artemis"), dir, o)
}

// command starts the distribution on the instance. An instance that Artemis created is started by its own
// script with its own profile; one that Saranga created has a script that starts Saranga, so Java is called as
// Artemis' script would, with the memory of functional tests.
func (a Artemis) command(i Instance) *exec.Cmd {
	script := filepath.Join(i.Dir, "bin", "artemis")
	if text, err := os.ReadFile(script); err == nil && bytes.Contains(text, []byte("org.apache.activemq.artemis.boot.Artemis")) {
		return exec.Command(script, "run")
	}
	return exec.Command("java", "-Xms64M", "-Xmx512M", "-XX:+UseG1GC",
		"--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED",
		"-Djava.security.auth.login.config="+i.Etc("login.config"),
		"-Dartemis.home="+a.Home,
		"-Dartemis.instance="+i.Dir,
		"-Dartemis.instance.etc="+filepath.Join(i.Dir, "etc"),
		"-Ddata.dir="+filepath.Join(i.Dir, "data"),
		"-Djava.io.tmpdir="+filepath.Join(i.Dir, "tmp"),
		"-Dlog4j2.disableJmx=true",
		"-classpath", filepath.Join(a.Home, "lib", "artemis-boot.jar"),
		"org.apache.activemq.artemis.boot.Artemis", "run")
}

// Tool is a command of Artemis' own command line, not bound to an instance (perf client, queue stat, …).
func (a Artemis) Tool(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(a.Home, "bin", "artemis"), args...)
}

// Classpath holds all jars of the distribution, clients included.
func (a Artemis) Classpath() string { return filepath.Join(a.Home, "lib", "*") }

// Saranga is a saranga binary.
type Saranga struct {
	Binary string // its path
}

// building is held while the process builds its binary, which it does once.
var (
	building sync.Mutex
	built    Saranga
)

// BuildSaranga returns the binary named by SARANGA_BIN, or builds bin/saranga from this module, once in a process. Several
// goroutines may call it.
func BuildSaranga(ctx context.Context) (Saranga, error) {
	building.Lock()
	defer building.Unlock()
	if built.Binary != "" {
		return built, nil
	}
	s, err := buildSaranga(ctx)
	if err == nil {
		built = s
	}
	return s, err
}

func buildSaranga(ctx context.Context) (Saranga, error) {
	if binary := os.Getenv("SARANGA_BIN"); binary != "" {
		return Saranga{Binary: binary}, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return Saranga{}, err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return Saranga{}, fmt.Errorf("build saranga: %w", err)
	}
	// Suites of several packages run at once: each builds beside the target and renames, so none sees half a binary.
	part := filepath.Join(bin, fmt.Sprintf(".saranga-%d", os.Getpid()))
	build := exec.CommandContext(ctx, "go", "build", "-o", part, "./cmd/saranga")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := output(build); err != nil {
		return Saranga{}, fmt.Errorf("build saranga: %w", err)
	}
	binary := filepath.Join(bin, "saranga")
	if err := os.Rename(part, binary); err != nil {
		return Saranga{}, fmt.Errorf("build saranga: %w", err)
	}
	return Saranga{Binary: binary}, nil
}

// Name implements Broker.
func (s Saranga) Name() string { return "saranga" }

// Create implements Broker.
func (s Saranga) Create(ctx context.Context, dir string, o CreateOptions) (Instance, error) {
	return create(ctx, s.Binary, dir, o)
}

func (s Saranga) command(i Instance) *exec.Cmd {
	return exec.Command(s.Binary, "run", "--instance", i.Dir)
}

func create(ctx context.Context, program, dir string, o CreateOptions) (Instance, error) {
	args, port, err := o.flags(dir)
	if err != nil {
		return Instance{}, fmt.Errorf("create instance %s: %w", dir, err)
	}
	if _, err := output(exec.CommandContext(ctx, program, args...)); err != nil {
		return Instance{}, fmt.Errorf("create instance %s: %w", dir, err)
	}
	return Instance{Dir: dir, Port: port, User: adminUser, Password: adminPassword}, nil
}

// output runs a command and returns what it printed; the error carries what it complained about.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// moduleRoot is the folder of this module's go.mod.
func moduleRoot() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", fmt.Errorf("find the module's folder: no caller information in this build")
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return "", fmt.Errorf("find the module's folder: %w", err)
	}
	return root, nil
}
