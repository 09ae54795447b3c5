package peers

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestUsageOfOwnProcess(t *testing.T) {
	before, err := ReadUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	spun := time.Now()
	for n := 0; time.Since(spun) < 200*time.Millisecond; n++ {
		_ = n
	}
	after, err := ReadUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// Another process may have had the core for most of the time, hence the low bound.
	if used := after.CPU - before.CPU; used < 20*time.Millisecond || used > 5*time.Second {
		t.Errorf("200 ms of spinning used %v of CPU", used)
	}
	if after.Resident < 1<<20 || after.Peak < after.Resident {
		t.Errorf("resident %d, peak %d: want at least 1 MiB and a peak not below it", after.Resident, after.Peak)
	}
}

func TestStatCPU(t *testing.T) {
	// proc(5): the name may hold blanks and brackets; utime 250 and stime 50 ticks.
	stat := "4711 (odd (na me) S 1 4711 4711 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 30 0 12345 0 0"
	got, err := statCPU([]byte(stat))
	if err != nil || got != 3*time.Second {
		t.Errorf("got %v, %v; want 3s", got, err)
	}
	if _, err := statCPU([]byte("4711 (short) S 1")); err == nil {
		t.Error("a short line was accepted")
	}
}

func TestArtemisServesAnInstance(t *testing.T) {
	artemis := RealArtemis(t)
	p := Run(t, artemis, NewInstance(t, artemis, CreateOptions{}))
	u, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if u.Resident < 32<<20 || u.CPU < 100*time.Millisecond {
		t.Errorf("a started JVM uses %d bytes and %v of CPU", u.Resident, u.CPU)
	}
	p.Kill()
	if _, err := ReadUsage(p.Pid()); err == nil {
		t.Error("the process is still there after Kill")
	}
	again := Run(t, artemis, p.Instance)
	if again.StartTook <= 0 {
		t.Error("no start time was taken")
	}
}

func TestStartReportsWhyABrokerEnded(t *testing.T) {
	artemis := RealArtemis(t)
	i := NewInstance(t, artemis, CreateOptions{})
	if err := i.WriteEtc("broker.xml", "<configuration>"); err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), artemis, i, filepath.Join(t.TempDir(), "log"))
	if err == nil {
		p.Kill()
		t.Fatal("a broken broker.xml was served")
	}
	t.Log(err)
}
