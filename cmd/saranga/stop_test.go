package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestStopFiles(t *testing.T) {
	i := createInstance(t)
	etc := filepath.Join(i.dir, "etc")
	t.Setenv("ARTEMIS_INSTANCE", i.dir)
	w := fileWatch{dir: etc, allowKill: true}
	exists := func(name string) bool { _, err := os.Stat(filepath.Join(etc, name)); return err == nil }
	for command, file := range map[string]string{"stop": stopFile, "kill": killFile} {
		// goldens stop-not-running and kill-not-running: an empty line, exit 0, and the file stays
		if r := cli(t, "", command); r != (result{out: "\n"}) || !exists(file) {
			t.Errorf("%s: %+v", command, r)
		}
		if got := w.wait(t.Context(), time.Millisecond); got != file || exists(file) {
			t.Errorf("%s: %q, still there: %t", command, got, exists(file))
		}
	}
	cli(t, "", "kill")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got := (fileWatch{dir: etc}).wait(ctx, time.Millisecond); got != "" || !exists(killFile) {
		t.Errorf("%q ended a broker that does not allow it", got)
	}
	if err := w.clear(); err != nil || exists(killFile) {
		t.Errorf("clear: %v", err)
	}
}

// stop finds the folder of a configuration that does not load, too.
func TestStopOfBrokenConfiguration(t *testing.T) {
	i := createInstance(t)
	if err := os.WriteFile(filepath.Join(i.dir, "etc", "broker.xml"), []byte("<oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := cli(t, "", "stop", "--instance", i.dir); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(i.dir, "etc", stopFile)); err != nil {
		t.Error(err)
	}
}

func TestRunStopsByFile(t *testing.T) {
	i := createInstance(t)
	// A file from before the start does not count.
	if err := os.WriteFile(filepath.Join(i.dir, "etc", stopFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop := i.serve(t)
	if r := cli(t, "", "stop", "--instance", i.dir); r.code != 0 {
		t.Errorf("%+v", r)
	}
	deadline := time.Now().Add(10 * time.Second)
	for cli(t, "", "check", "node", "--silent", "--url", i.url(), "--user", "admin", "--password", "admin").code == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the broker goes on")
		}
	}
	stop()
	if _, err := os.Stat(filepath.Join(i.dir, "etc", stopFile)); err == nil {
		t.Error("the file is still there")
	}
}

func TestDefaultURL(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	want := "Connection brokerURL = tcp://127.0.0.1:" + itoa(i.port)
	if r := cli(t, "", "queue", "stat", "--instance", i.dir, "--user", "admin", "--password", "admin"); r.code != 0 || firstLine(r.out) != want {
		t.Errorf("%+v", r)
	}
	if r := cli(t, "", "queue", "stat", "--instance", i.dir, "--acceptor", "none", "--silent"); firstLine(r.out) != "Connection brokerURL = "+defaultURL {
		t.Errorf("%+v", r)
	}
}

// The login is asked for when it was refused, once.
func TestConnectAsks(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	r := cli(t, "admin\nadmin\n", "queue", "stat", "--url", i.url())
	if r.code != 0 || firstLine(r.err) == "" {
		t.Errorf("%+v", r)
	}
	if r := cli(t, "", "queue", "stat", "--url", i.url(), "--silent"); r.code != 1 {
		t.Errorf("%+v", r)
	}
}
