package config

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Memory returns the smaller of the machine's memory and the limits of the
// process's cgroups, 0 if neither is known (as on systems without /proc).
func Memory() Bytes { return memory(os.DirFS("/")) }

func memory(root fs.FS) Bytes {
	least := meminfo(root)
	if n := limit(root); n > 0 && (least == 0 || n < least) {
		least = n
	}
	return least
}

func meminfo(root fs.FS) Bytes {
	f, err := root.Open("proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err == nil {
				return Bytes(kib) << 10
			}
		}
	}
	return 0
}

// limitFiles lists where a memory limit may stand: of the own cgroup and of all
// above it, for both versions of cgroups.
func limitFiles(root fs.FS) []string {
	files := []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, name := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			if !contains(strings.Split(parts[1], ","), "memory") {
				continue
			}
			base, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + parts[2]); dir != "/"; dir = path.Dir(dir) {
			files = append(files, path.Join(base, dir, name))
		}
	}
	return files
}

// MemoryLimit returns the least limit of the process's cgroups, 0 without one.
func MemoryLimit() Bytes { return limit(os.DirFS("/")) }

func limit(root fs.FS) Bytes {
	least := Bytes(0)
	for _, file := range limitFiles(root) {
		data, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err == nil && n > 0 && n < unlimited && (least == 0 || Bytes(n) < least) {
			least = Bytes(n)
		}
	}
	return least
}

// unlimited is what version 1 of cgroups says without a limit, or a little less.
const unlimited = 1 << 62
