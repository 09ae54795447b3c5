package netcheck

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Each step is a check: h healthy, u unhealthy; then r the service runs, s it is stopped; then what is to be done and
// whether it works. Only the guard's own stop is undone.
func TestGuard(t *testing.T) {
	for name, script := range map[string]string{
		"healthy":                  "hr:0 hr:0",
		"gone and back":            "hr:0 ur:stop us:0 us:0 hs:start hr:0 ur:stop",
		"stopped by the operator":  "hr:0 us:0 hs:0 hs:0",
		"start fails once":         "ur:stop hs:start! hs:start hr:0",
		"started by the operator":  "ur:stop ur:stop us:0 hr:0 hs:0",
		"stop fails, network back": "ur:stop! hr:0 hs:0",
	} {
		t.Run(name, func(t *testing.T) {
			var g Guard
			for i, step := range strings.Fields(script) {
				in, want, _ := strings.Cut(step, ":")
				want, fails := strings.CutSuffix(want, "!")
				got := g.Step(in[0] == 'h', in[1] == 'r')
				if text := []string{"0", "stop", "start"}[got]; text != want {
					t.Fatalf("step %d %s: %s", i, step, text)
				}
				switch {
				case got == Stop && !fails:
					g.Stopped()
				case got == Start && !fails:
					g.Started()
				}
			}
		})
	}
}

func TestFormatCommand(t *testing.T) {
	for format, want := range map[string]string{
		DefaultPing:             "ping -c 1 -w 3 10.0.0.1",
		olderPing:               "ping -c 1 -t 3 10.0.0.1",
		DefaultPing6:            "ping6 -c 1 10.0.0.1",
		"fping %2$s -t %1$d000": "fping 10.0.0.1 -t 3000",
		"p %d %s %s":            "p 3 10.0.0.1 ",
		"p 100%% %7$s %":        "p 100%  ",
		"":                      "",
	} {
		if got := formatCommand(format, 3, "10.0.0.1"); got != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	var log bytes.Buffer
	c := New(t.Context(), Options{Addresses: " 192.0.2.1, ,127.0.0.1,::1,[2001:db8::1],no such host.invalid", URLs: "http://192.0.2.1/x, ftp://192.0.2.1,:",
		NIC: "nosuchnic0", Log: hclog.New(&hclog.LoggerOptions{Output: &log})})
	var names []string
	for _, x := range c.targets {
		names = append(names, x.name)
	}
	if got, want := strings.Join(names, " "), "192.0.2.1 [2001:db8::1] http://192.0.2.1/x"; got != want {
		t.Errorf("targets %q, want %q", got, want)
	}
	for code, times := range map[string]int{"AMQ202001": 2, "AMQ202008": 1, "AMQ202009": 2, "AMQ202010": 1} {
		if n := strings.Count(log.String(), code); n != times {
			t.Errorf("%s %d times, want %d:\n%s", code, n, times, log.String())
		}
	}
	if c.Empty() || !New(t.Context(), Options{Addresses: "localhost"}).Empty() {
		t.Error("Empty")
	}
}

func TestHealthy(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	web := httptest.NewServer(mux)
	defer web.Close()
	// 192.0.2.0/24 is for documentation: nobody has these addresses. A closed port stands for a web server that is gone.
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		o    Options
		want bool
	}{
		"nothing to ask":          {Options{}, true},
		"url":                     {Options{URLs: web.URL + "/ok"}, true},
		"url that moved":          {Options{URLs: web.URL + "/moved"}, true},
		"url with an error":       {Options{URLs: web.URL + "/broken"}, false},
		"url without a server":    {Options{URLs: gone.URL}, false},
		"one of two is enough":    {Options{URLs: gone.URL + "," + web.URL + "/ok"}, true},
		"own host":                {Options{Addresses: "127.0.0.1"}, true},
		"command that succeeds":   {Options{Addresses: "192.0.2.1", PingCommand: "test %2$s = 192.0.2.1"}, true},
		"command gets the time":   {Options{Addresses: "192.0.2.1", Timeout: 2500 * time.Millisecond, PingCommand: "test %1$d = 2"}, true},
		"command that fails":      {Options{Addresses: "192.0.2.1", PingCommand: "test %2$s = other"}, false},
		"command that is missing": {Options{Addresses: "192.0.2.1", PingCommand: "no-such-command-here %s"}, false},
		"address and url":         {Options{Addresses: "192.0.2.1", PingCommand: "false", URLs: web.URL + "/ok"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c.o.Log, c.o.allowLoopback = hclog.New(&hclog.LoggerOptions{Output: &log}), true
			if got := New(t.Context(), c.o).Healthy(t.Context()); got != c.want {
				t.Errorf("healthy %v\n%s", got, log.String())
			}
			if !c.want && !strings.Contains(log.String(), "AMQ202002") && !strings.Contains(log.String(), "AMQ202003") {
				t.Errorf("not told:\n%s", log.String())
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if !New(t.Context(), Options{URLs: gone.URL}).Healthy(ended) {
		t.Error("a check that was ended says that the network is gone")
	}
}

func TestOwnHostAnswers(t *testing.T) {
	c := New(t.Context(), Options{})
	if err := c.connect(t.Context(), netip.MustParseAddr("127.0.0.1"), 7); err != nil {
		t.Errorf("connection to this host: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.connect(ended, netip.MustParseAddr("192.0.2.1"), 7); err == nil {
		t.Error("a connection was made after the end")
	}
}

// A request and its reply as RFC 792 draws them, with the checksum of RFC 1071.
func TestEchoPackets(t *testing.T) {
	p := echoPacket(echoRequest, 0x1234, true)
	if checksum(p) != 0 {
		t.Errorf("checksum over the packet with its checksum: %#x", checksum(p))
	}
	if p[0] != 8 || p[1] != 0 || p[4] != 0x12 || p[5] != 0x34 {
		t.Errorf("% x", p)
	}
	reply := append([]byte(nil), p...)
	reply[0] = 0
	ip := append(append([]byte{0x46}, make([]byte, 23)...), reply...) // a header of 24 bytes
	for name, c := range map[string]struct {
		p       []byte
		id      uint16
		raw, v6 bool
		want    bool
	}{
		"datagram":         {reply, 1, false, false, true},
		"request":          {p, 0x1234, false, false, false},
		"raw":              {ip, 0x1234, true, false, true},
		"raw of another":   {ip, 0x4321, true, false, false},
		"raw version 6":    {reply, 0x1234, true, true, true},
		"short":            {reply[:7], 0x1234, false, false, false},
		"short header":     {ip[:19], 0x1234, true, false, false},
		"header that lies": {append([]byte{0x4f}, make([]byte, 19)...), 0, true, false, false},
	} {
		if got := isReply(c.p, echoReply, c.id, c.raw, c.v6); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
