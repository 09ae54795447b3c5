package main

import (
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/saranga-mq/saranga/broker/config"
)

// diskSpace is the space of a file system, in bytes. Usable is what is left for users that are not root.
type diskSpace struct{ usable, total int64 }

func (s diskSpace) usage() float64 {
	if s.total <= 0 {
		return 0
	}
	return 1 - float64(s.usable)/float64(s.total)
}

// spaceOf asks the system about the file system that a folder is on.
func spaceOf(dir string) (diskSpace, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return diskSpace{}, fmt.Errorf("space of %s: %w", dir, err)
	}
	return diskSpace{int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize)}, nil
}

// A diskMonitor blocks producers while the disk of a data folder is too full (max-disk-usage, min-disk-free).
type diskMonitor struct {
	maxUsage float64 // 0…1, negative: no limit; not used with minFree
	minFree  int64   // bytes; 0: maxUsage counts
	dirs     []string
	space    func(dir string) (diskSpace, error)
	full     func(bool)
	log      hclog.Logger

	mu     sync.Mutex
	over   bool
	last   float64         // highest usage seen by the last scan
	failed map[string]bool // folders that could not be asked
}

// newDiskMonitor makes the monitor of an instance's data folders. Without a limit it only tells the usage.
func newDiskMonitor(in *config.Instance, log hclog.Logger, full func(bool)) *diskMonitor {
	c := in.Broker
	m := &diskMonitor{maxUsage: float64(c.MaxDiskUsage) / 100, minFree: max(int64(c.MinDiskFree), 0), space: spaceOf, full: full, log: log, failed: map[string]bool{}}
	seen := map[string]bool{}
	for _, dir := range []string{c.Journal.BindingsDirectory, c.Journal.Directory, c.Journal.LargeMessagesDirectory, c.Paging.Directory} {
		if dir = in.Path(dir); !seen[dir] {
			seen[dir] = true
			m.dirs = append(m.dirs, dir)
		}
	}
	return m
}

// scan looks at all folders and tells when one is over the limit for the first time, or none any more.
func (m *diskMonitor) scan() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = 0
	over := false
	var worst diskSpace
	var where string
	for _, dir := range m.dirs {
		s, err := m.space(dir)
		if err != nil {
			if !m.failed[dir] {
				m.log.Warn("the disk cannot be watched", "error", err)
			}
			m.failed[dir] = true
			continue
		}
		m.failed[dir] = false
		m.last = max(m.last, s.usage())
		if isOver := m.isOver(s); where == "" || isOver && !over || isOver == over && s.usable < worst.usable {
			over, worst, where = isOver, s, dir
		}
	}
	if over == m.over || where == "" {
		return
	}
	m.over = over
	m.tell(over, worst, where)
	m.full(over)
}

func (m *diskMonitor) isOver(s diskSpace) bool {
	if m.minFree > 0 {
		return s.usable < m.minFree
	}
	return m.maxUsage >= 0 && s.usage() > m.maxUsage
}

func (m *diskMonitor) tell(over bool, s diskSpace, dir string) {
	args := []any{"folder", dir, "free", readable(s.usable), "total", readable(s.total), "usage", fmt.Sprintf("%.1f%%", 100*s.usage())}
	switch {
	case over && m.minFree > 0:
		m.log.Warn("AMQ224128: less space is free than min-disk-free asks for: producers are blocked until there is more", append(args, "min-disk-free", readable(m.minFree))...)
	case over:
		m.log.Warn("AMQ222210: the disk is used beyond max-disk-usage: producers are blocked until there is more space", append(args, "max-disk-usage", fmt.Sprintf("%.0f%%", 100*m.maxUsage))...)
	case m.minFree > 0:
		m.log.Warn("AMQ224129: enough space is free again: producers are not blocked any more", args...)
	default:
		m.log.Info("AMQ222211: the disk is used below max-disk-usage again: producers are not blocked any more", args...)
	}
}

// usage is the highest share of a disk that is used, 0…1, as of the last scan.
func (m *diskMonitor) usage() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// readable prints bytes with a unit.
func readable(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, u := float64(n), 0
	for ; v >= 1024; u++ {
		v /= 1024
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}
