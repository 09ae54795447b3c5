//go:build linux

package netns

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"
)

// isolated runs the test itself in an isolated process, and returns true there.
func isolated(t *testing.T) bool {
	t.Helper()
	const inside = "SARANGA_NETNS"
	if os.Getenv(inside) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	Isolate(cmd)
	out, err := cmd.CombinedOutput()
	switch {
	case Refused(err):
		t.Logf("this machine allows no namespaces (%v): nothing to be tested", err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// How long something that gets through may take on a busy machine, and how long is waited for something that must not.
const (
	patience = 10 * time.Second
	wait     = 300 * time.Millisecond
)

func limit(passes bool) time.Duration {
	if passes {
		return patience
	}
	return wait
}

// pass checks whether a byte that is written to one end arrives at the other.
func pass(t *testing.T, what string, from, to net.Conn, want bool) {
	t.Helper()
	if _, err := from.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	_ = to.SetReadDeadline(time.Now().Add(limit(want)))
	if _, err := to.Read(make([]byte, 1)); (err == nil) != want {
		t.Errorf("%s passes: %v, want %v", what, err, want)
	}
}

// TestCuts: a cut holds in its direction only, for connections that are there as well as for new ones, and heals.
func TestCuts(t *testing.T) {
	if !isolated(t) {
		return
	}
	for _, kind := range []Kind{Silent, Blackhole} {
		t.Run(kind.String(), func(t *testing.T) { testCuts(t, kind) })
	}
}

func testCuts(t *testing.T, kind Kind) {
	n := theNet(t)
	a, b := host(t, n), host(t, n)
	l, err := b.Listen(b.Addr.String() + ":4000")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := func(passes bool) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit(passes))
		defer cancel()
		return a.Dial(ctx, l.Addr().String())
	}
	pair := func() (at, bt net.Conn) {
		at, err := connect(true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { at.Close() })
		if bt, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { bt.Close() })
		return at, bt
	}
	for _, c := range []struct {
		name     string
		from, to netip.Addr
		ab, ba   bool
	}{{"a to b", a.Addr, b.Addr, false, true}, {"b to a", b.Addr, a.Addr, true, false}} {
		at, bt := pair()
		if host, _, _ := net.SplitHostPort(bt.RemoteAddr().String()); host != a.Addr.String() {
			t.Errorf("the connection comes from %s, want %s", host, a.Addr)
		}
		if err := n.Cut(c.from, c.to, kind); err != nil {
			t.Fatal(err)
		}
		// What cannot be acknowledged still passes.
		pass(t, "cut "+c.name+": a to b", at, bt, c.ab)
		pass(t, "cut "+c.name+": b to a", bt, at, c.ba)
		switch conn, err := connect(false); {
		case err == nil:
			conn.Close()
			t.Errorf("cut %s: a new connection is made", c.name)
		case kind == Silent && !isTimeout(err):
			t.Errorf("cut %s: a new connection fails with %v, want silence", c.name, err)
		}
		if err := n.Heal(c.from, c.to); err != nil {
			t.Fatal(err)
		}
		// What was sent meanwhile comes by itself.
		late := bt
		if c.ab {
			late = at
		}
		_ = late.SetReadDeadline(time.Now().Add(patience))
		if _, err := late.Read(make([]byte, 1)); err != nil {
			t.Errorf("healed %s: what was sent does not arrive: %v", c.name, err)
		}
		pair()
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// made is set in an isolated process, once.
var made *Net

// theNet is the one of this process.
func theNet(t *testing.T) *Net {
	t.Helper()
	if made != nil {
		return made
	}
	n, err := New()
	if err != nil {
		t.Fatal(err)
	}
	made = n
	return n
}

func host(t *testing.T, n *Net) *Host {
	t.Helper()
	h, err := n.AddHost()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestAddresses: one of several addresses of the bridge is cut, the others are not; and a process runs on a host.
func TestAddresses(t *testing.T) {
	if !isolated(t) {
		return
	}
	n := theNet(t)
	h := host(t, n)
	l, err := h.Listen(h.Addr.String() + ":4000")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var list []netip.Addr
	for i := range 2 {
		a, err := n.AddAddress(100 + i)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	reaches := func(from netip.Addr, want bool) bool {
		d := net.Dialer{Timeout: limit(want), LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		c, err := d.Dial("tcp4", l.Addr().String())
		if err != nil {
			return false
		}
		return c.Close() == nil
	}
	for _, cut := range []struct{ from, to netip.Addr }{{list[0], h.Addr}, {h.Addr, list[0]}} {
		if err := n.Cut(cut.from, cut.to, Blackhole); err != nil {
			t.Fatal(err)
		}
		if reaches(list[0], false) {
			t.Errorf("cut from %s to %s: %s reaches the host", cut.from, cut.to, list[0])
		}
		if !reaches(list[1], true) {
			t.Errorf("cut from %s to %s: %s does not reach the host", cut.from, cut.to, list[1])
		}
		if err := n.Heal(cut.from, cut.to); err != nil {
			t.Fatal(err)
		}
		if !reaches(list[0], true) {
			t.Errorf("healed from %s to %s: it does not reach the host", cut.from, cut.to)
		}
	}
}
