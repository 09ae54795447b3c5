//go:build linux

package partition

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// owner finds which of the processes has the socket that is bound to a loopback address and connected: "" if none has. It looks at
// /proc/net/tcp and at what the processes have open, see proc(5).
func owner(at netip.AddrPort, pids map[string]int) string {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	inode := inodeOf(table, at)
	if inode == "" {
		return ""
	}
	want := "socket:[" + inode + "]"
	for name, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		list, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range list {
			if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && target == want {
				return name
			}
		}
	}
	return ""
}

// inodeOf finds the socket with a local address in the text of /proc/net/tcp. Addresses there are hexadecimal, as the machine has them in
// memory; the inode is the tenth field.
func inodeOf(table []byte, local netip.AddrPort) string {
	ip := local.Addr().As4()
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], binary.BigEndian.Uint32(ip[:]))
	want := fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(b[:])), local.Port())
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && fields[1] == want && fields[9] != "0" {
			return fields[9]
		}
	}
	return ""
}
