//go:build linux

package partition

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

// TestInode reads a table in the form of proc(5).
func TestInode(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 42 1 0 20 4 30 10 -1
   2: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00001766 00000000     0        0 0 3 0
`
	for address, want := range map[string]string{"127.0.0.1:8080": "41", "127.0.0.1:50000": "42", "127.0.0.1:50001": "", "127.0.0.2:8080": ""} {
		if got := inodeOf([]byte(table), netip.MustParseAddrPort(address)); got != want {
			t.Errorf("%s has inode %q, want %q", address, got, want)
		}
	}
}

// TestOwner finds the process of a real connection: this one.
func TestOwner(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	at := netip.MustParseAddrPort(c.LocalAddr().String())
	if got := owner(at, map[string]int{"init": 1, "this": os.Getpid()}); got != "this" {
		t.Errorf("the owner is %q", got)
	}
	if got := owner(at, map[string]int{"init": 1}); got != "" {
		t.Errorf("the owner is %q, want nobody", got)
	}
}
