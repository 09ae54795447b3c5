//go:build linux

package partition

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/drill/netns"
	"github.com/saranga-mq/saranga/test/peers"
)

var (
	rounds   = flag.Int("rounds", 5, "how many rounds")
	seed     = flag.Uint64("seed", 0, "seed of the first round, the others count up from it; 0: one that nobody knows before")
	parallel = flag.Int("parallel", 3, "rounds at once")
	length   = flag.Duration("trouble", 20*time.Second, "how long faults happen in a round")
	logs     = flag.String("logs", "", "folder for what rounds leave; empty: only that of failed ones is kept, in a temporary folder")
	primary  = flag.String("primary", "saranga", "the primary, or artemis")
	backup   = flag.String("backup", "saranga", "the backup, or artemis")
	service  = flag.String("members", "saranga", "the members, or zookeeper")
	loopback = flag.Bool("loopback", false, "relays on loopback even where the machine allows namespaces")
)

// stageRole names the environment variable by which this binary is the process of a round.
const stageRole = "SARANGA_PARTITION_STAGE"

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(stageRole) != "":
		err = runStage(os.Getenv(stageRole))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A stage is what the process of a round is started with.
type stage struct {
	Seed     uint64
	Trouble  time.Duration
	Setup    Setup
	Dir      string
	Isolated bool
}

// resultFile has a round's result, in the round's folder.
const resultFile = "result.json"

func runStage(text string) error {
	var s stage
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	if err := os.Unsetenv(stageRole); err != nil { // the members are this binary, too
		return err
	}
	r, err := play(context.Background(), NewPlan(s.Seed, s.Trouble), s.Setup, s.Dir, s.Isolated)
	if err != nil {
		return err
	}
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, resultFile), out, 0o600)
}

// TestPartitions plays rounds.
func TestPartitions(t *testing.T) {
	setup := Setup{Binary: peers.UnderTest(t).Binary, Products: map[string]string{"p": *primary, "b": *backup}}
	if setup.anyReal() || *service == "zookeeper" {
		setup.Artemis = peers.RealArtemis(t).Home
	}
	if *service == "zookeeper" {
		setup.ZooKeeper = classPath(t, setup.Artemis)
	}
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano() / 1e6)
	}
	dir := *logs
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "partition"); err != nil {
			t.Fatal(err)
		}
	}
	next := make(chan uint64)
	var playing sync.WaitGroup
	for range min(*parallel, *rounds) {
		playing.Go(func() {
			for s := range next {
				playRound(t, stage{Seed: s, Trouble: *length, Setup: setup, Dir: filepath.Join(dir, fmt.Sprint(s)), Isolated: !*loopback})
			}
		})
	}
	for i := range *rounds {
		next <- first + uint64(i)
	}
	close(next)
	playing.Wait()
	if t.Failed() {
		t.Logf("what failed rounds left is in %s", dir)
	}
}

// classPath installs ZooKeeper and returns the class path of its server.
func classPath(t *testing.T, artemis string) string {
	t.Helper()
	out, err := exec.Command("../../ha/quorum/install-zookeeper.sh", artemis).Output()
	if err != nil {
		t.Fatalf("install ZooKeeper: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// roundLimit is how long a round may take.
const roundLimit = 8 * time.Minute

// playRound plays a round in a process of its own. What a round leaves goes if it is passed and nobody asked for it.
func playRound(t *testing.T, s stage) {
	err := os.RemoveAll(s.Dir) // of an earlier run with the same seed
	if err == nil {
		err = os.MkdirAll(s.Dir, 0o700)
	}
	if err != nil {
		t.Error(err)
		return
	}
	err = runRound(t.Context(), s)
	if s.Isolated && netns.Refused(err) {
		t.Logf("this machine allows no namespaces (%v): relays on loopback take their place", err)
		s.Isolated = false
		err = runRound(t.Context(), s)
	}
	var r Result
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(s.Dir, resultFile)); err == nil {
			err = json.Unmarshal(text, &r)
		}
	}
	switch {
	case err != nil:
		t.Errorf("seed %d: %v", s.Seed, err)
	case len(r.Problems) > 0:
		t.Error(r.String())
	default:
		t.Log(r.String())
		if *logs == "" {
			_ = os.RemoveAll(s.Dir)
		}
	}
}

func runRound(ctx context.Context, s stage) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), stageRole+"="+string(text))
	if s.Isolated {
		netns.Isolate(cmd) // everything in it ends with it
	} else {
		inGroup(cmd)
	}
	log, err := os.Create(filepath.Join(s.Dir, "stage.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	// It ends with this thread, so the thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dieWithParent(cmd)
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}
