package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/brokertest"
)

// Each step is a scan: the space of journal and large messages as usable/total, "-" for one that cannot be asked; then
// whether producers are blocked, and which code is logged by it.
func TestDiskMonitor(t *testing.T) {
	for name, c := range map[string]struct {
		maxUsage float64
		minFree  int64
		steps    string
	}{
		"usage":                    {0.9, 0, "50/100,50/100=free 10/100,50/100=free 9/100,50/100=full:AMQ222210 5/100,50/100=full 10/100,50/100=free:AMQ222211 50/100,50/100=free"},
		"any folder counts":        {0.9, 0, "50/100,5/100=full:AMQ222210 5/100,50/100=full 50/100,50/100=free:AMQ222211"},
		"free space":               {0.9, 20, "5/100,50/100=full:AMQ224128 20/100,50/100=free:AMQ224129 20/1000,20/1000=free 19/1000,20/1000=full:AMQ224128"},
		"off":                      {-0.01, 0, "0/100,0/100=free"},
		"0 blocks always":          {0, 0, "99/100,100/100=full:AMQ222210"},
		"a folder that is gone":    {0.9, 0, "-,50/100=free:warn -,5/100=full:AMQ222210 -,-=full:warn 50/100,-=free:AMQ222211"},
		"file system without size": {0.9, 0, "0/0,0/0=free"},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			now := map[string]string{}
			full := "free"
			m := &diskMonitor{maxUsage: c.maxUsage, minFree: c.minFree, dirs: []string{"journal", "large"}, failed: map[string]bool{}, log: hclog.New(&hclog.LoggerOptions{Output: &log}),
				space: func(dir string) (s diskSpace, err error) {
					if now[dir] == "-" {
						return s, errors.New("no such folder")
					}
					_, err = fmt.Sscanf(now[dir], "%d/%d", &s.usable, &s.total)
					return s, err
				},
				full: func(on bool) { full = map[bool]string{true: "full", false: "free"}[on] }}
			for _, step := range strings.Fields(c.steps) {
				spaces, want, _ := strings.Cut(step, "=")
				want, code, _ := strings.Cut(want, ":")
				now["journal"], now["large"], _ = strings.Cut(spaces, ",")
				log.Reset()
				m.scan()
				if full != want {
					t.Errorf("%s: %s", step, full)
				}
				if code == "warn" {
					code = "cannot be watched"
				}
				if lines := strings.Count(log.String(), "\n"); code == "" && lines != 0 || code != "" && (lines != 1 || !strings.Contains(log.String(), code)) {
					t.Errorf("%s: logged %q", step, log.String())
				}
			}
		})
	}
}

func TestDiskUsage(t *testing.T) {
	s, err := spaceOf(t.TempDir())
	if err != nil || s.total <= 0 || s.usable < 0 || s.usable > s.total || s.usage() < 0 || s.usage() > 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := spaceOf(t.TempDir() + "/nothing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536 << 20: "1.5 GiB"} {
		if got := readable(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A disk that is too full at the start blocks producers before the first of them can come.
func TestFullDiskAtStart(t *testing.T) {
	n := runNode(t, newInstance(t, strings.Replace(baseXML, "<max-disk-usage>-1", "<max-disk-usage>0", 1)+`<addresses>`+address("a", `<queue name="q"/>`)+`</addresses>`))
	if n.logged("AMQ222210") != 1 || n.house.disk.usage() <= 0 {
		t.Error("not told")
	}
	c := n.broker.Connect("c", "127.0.0.1:1", "CORE", func(string) {})
	w := n.broker.NewWork()
	defer c.End(w, false)
	s, err := c.NewSession(brokertest.AutoCommit)
	if err != nil {
		t.Fatal(err)
	}
	granted := make(chan bool, 1)
	if now, _ := s.RequestCredits("a", 1, func(int32) { granted <- true }); now {
		t.Error("credits were granted")
	}
	if n.logged("AMQ222212") != 1 {
		t.Error("not told for the address")
	}
	n.house.disk.maxUsage = 1
	n.house.disk.scan()
	<-granted
}
