package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// A machine is where a run was made, and of what. What cannot be found out is empty.
type machine struct {
	Cores   int    `json:"cores"`
	CPU     string `json:"cpu"`
	Memory  int64  `json:"memory"` // bytes
	System  string `json:"system"`
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
	Java    string `json:"java"`
	Saranga string `json:"saranga"` // version and commit
	Artemis string `json:"artemis"`
	Load    string `json:"load"` // before the run
}

func describeMachine(ctx context.Context, b *bench) machine {
	m := machine{Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Load: loadAverage()}
	m.CPU = fieldOf("/proc/cpuinfo", "model name")
	kib, _ := strconv.ParseInt(strings.TrimSuffix(fieldOf("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	m.Memory = kib << 10
	m.Kernel = firstLine(os.ReadFile("/proc/sys/kernel/osrelease"))
	java, err := tool(ctx, "java", "-version")
	if _, quoted, ok := strings.Cut(firstLine(java, err), `"`); ok {
		m.Java, _, _ = strings.Cut(quoted, `"`)
	}
	if s, ok := b.sides[0].broker.(peers.Saranga); ok {
		m.Saranga = firstLine(tool(ctx, s.Binary, "version"))
	}
	if commit := firstLine(tool(ctx, "git", "rev-parse", "--short", "HEAD")); commit != "" {
		m.Saranga += ", commit " + commit
	}
	m.Artemis = strings.TrimPrefix(filepath.Base(b.artemis.Home), "apache-artemis-")
	return m
}

// tool is what a program prints, on either output.
func tool(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, name, args...).CombinedOutput()
}

// loadAverage is the machine's load over the last minute.
func loadAverage() string {
	one, _, _ := strings.Cut(firstLine(os.ReadFile("/proc/loadavg")), " ")
	return one
}

func firstLine(text []byte, err error) string {
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// fieldOf is the value of the first line "key: value" of a file.
func fieldOf(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
