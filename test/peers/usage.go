package peers

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used of the machine, read from Linux' /proc.
type Usage struct {
	CPU      time.Duration // run time of all its threads since it started
	Resident int64         // bytes in memory now (VmRSS)
	Peak     int64         // most bytes in memory since it started (VmHWM)
}

// Usage reads what the broker has used up to now.
func (p *Process) Usage() (Usage, error) { return ReadUsage(p.Pid()) }

// ReadUsage reads the usage of any process of this machine.
func ReadUsage(pid int) (Usage, error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	cpu, err := readCPU(dir)
	if err != nil {
		return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	u := Usage{CPU: cpu}
	if u.Resident, err = statusBytes(status, "VmRSS:"); err == nil {
		u.Peak, err = statusBytes(status, "VmHWM:")
	}
	if err != nil {
		return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	return u, nil
}

// ResetPeak makes the peak start again from what is resident now.
func (p *Process) ResetPeak() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Pid()), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak memory of %s: %w", p.Broker.Name(), err)
	}
	return nil
}

// readCPU adds up the scheduler's nanoseconds of all live threads. Threads that ended are missing in that sum;
// stat counts them, in ticks of 10 ms, so the larger of the two is the better.
func readCPU(dir string) (time.Duration, error) {
	files, err := filepath.Glob(filepath.Join(dir, "task", "*", "schedstat"))
	if err != nil {
		return 0, err
	}
	var live time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has just ended
		}
		field, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		live += time.Duration(ns)
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, err
	}
	all, err := statCPU(stat)
	if err != nil {
		return 0, fmt.Errorf("%s/stat: %w", dir, err)
	}
	return max(live, all), nil
}

// statCPU takes user and system time out of the line of /proc/<pid>/stat (fields 14 and 15 of proc(5)).
// The second field is the program's name in brackets and may hold blanks, so fields are counted after the last bracket.
func statCPU(stat []byte) (time.Duration, error) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux this runs on
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("%d fields after the name, want at least 13", len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Duration(user+system) * tick, nil
}

// statusBytes reads a line such as "VmRSS:     1234 kB" of /proc/<pid>/status.
func statusBytes(status []byte, key string) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		value, ok := strings.CutPrefix(lines.Text(), key)
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("line %s of status: %w", key, err)
		}
		return kib << 10, nil
	}
	return 0, fmt.Errorf("no line %s in status", key)
}
