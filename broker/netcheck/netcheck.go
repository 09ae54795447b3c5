// Package netcheck finds out whether this machine is cut off from its network, so that a broker that nobody reaches stops
// serving: the network-check elements of broker.xml.
//
// A check asks each target, addresses first and then URLs, until one answers: one is enough for the network to be healthy.
// An address is asked by an ICMP echo, then by a connection to its echo port (to be refused is an answer, too), then by
// the ping command; when the configuration has a ping command of its own, only by that. A URL is asked by GET and must
// answer with a status below 400.
//
// As in Artemis, addresses are looked up once, those that cannot be found and loopback addresses are left out with a
// warning, and without any target the network counts as healthy.
package netcheck

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// The ping commands of a configuration that does not have its own.
const (
	DefaultPing  = "ping -c 1 -w %d %s"
	olderPing    = "ping -c 1 -t %d %s" // the default of older versions
	DefaultPing6 = "ping6 -c 1 %2$s"
)

// Options configure New. The zero value of a field but Addresses and URLs is its default.
type Options struct {
	Addresses    string        // network-check-list: hosts or IP addresses, separated by commas
	URLs         string        // network-check-URL-list
	Timeout      time.Duration // of each question; default 1 s
	NIC          string        // network-check-NIC: ask from an address of this interface
	PingCommand  string        // with %d for the timeout in seconds and %s for the host
	Ping6Command string
	Log          hclog.Logger // nil: none

	// allowLoopback is for tests.
	allowLoopback bool
}

// A Checker asks targets.
type Checker struct {
	o       Options
	log     hclog.Logger
	client  *http.Client
	custom  bool
	targets []target
}

// A target is an address or a URL.
type target struct {
	name string
	addr netip.Addr // the zero Addr: name is a URL
}

// New reads the lists. ctx bounds the lookups of names.
func New(ctx context.Context, o Options) *Checker {
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	if o.PingCommand == "" {
		o.PingCommand = DefaultPing
	}
	if o.Ping6Command == "" {
		o.Ping6Command = DefaultPing6
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	c := &Checker{o: o, log: o.Log}
	c.custom = o.PingCommand != DefaultPing && o.PingCommand != olderPing || o.Ping6Command != DefaultPing6
	c.client = &http.Client{Timeout: o.Timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	if o.NIC != "" {
		if _, err := net.InterfaceByName(o.NIC); err != nil {
			c.log.Warn("AMQ202010: the interface of network-check-NIC cannot be used: any is used instead", "NIC", o.NIC, "error", err)
			c.o.NIC = ""
		}
	}
	for name := range strings.SplitSeq(o.Addresses, ",") {
		if name = strings.TrimSpace(name); name != "" {
			c.addAddress(ctx, name)
		}
	}
	for text := range strings.SplitSeq(o.URLs, ",") {
		if text = strings.TrimSpace(text); text != "" {
			c.addURL(text)
		}
	}
	return c
}

func (c *Checker) addAddress(ctx context.Context, name string) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", strings.Trim(name, "[]"))
	if err != nil {
		c.log.Warn("AMQ202008: an address of network-check-list cannot be found and is left out", "address", name, "error", err)
		return
	}
	addr := found[0].Unmap()
	if addr.IsLoopback() && !c.o.allowLoopback {
		c.log.Warn("AMQ202001: a loopback address says nothing about the network and is left out of network-check-list", "address", name)
		return
	}
	c.targets = append(c.targets, target{name, addr})
}

func (c *Checker) addURL(text string) {
	u, err := url.Parse(text)
	if err == nil && u.Scheme != "http" && u.Scheme != "https" {
		err = fmt.Errorf("its scheme is not http or https")
	}
	if err != nil {
		c.log.Warn("AMQ202009: a URL of network-check-URL-list is left out", "url", text, "error", err)
		return
	}
	c.targets = append(c.targets, target{name: text})
}

// Empty tells whether there is nothing to ask.
func (c *Checker) Empty() bool { return len(c.targets) == 0 }

// Healthy asks the targets until one answers. Those that do not are warned of.
func (c *Checker) Healthy(ctx context.Context) bool {
	for _, t := range c.targets {
		if err := c.ask(ctx, t); err == nil {
			return true
		} else if ctx.Err() != nil {
			return true // nobody wants to know any more
		} else if t.addr.IsValid() {
			c.log.Warn("AMQ202002: an address of network-check-list was not reachable", "address", t.name, "error", err)
		} else {
			c.log.Warn("AMQ202003: a URL of network-check-URL-list was not reachable", "url", t.name, "error", err)
		}
	}
	return len(c.targets) == 0
}

func (c *Checker) ask(ctx context.Context, t target) error {
	switch {
	case !t.addr.IsValid():
		return c.get(ctx, t.name)
	case c.custom:
		return c.command(ctx, t.addr)
	}
	if err := c.echo(t.addr); err == nil {
		return nil
	}
	if err := c.connect(ctx, t.addr, 7); err == nil {
		return nil
	}
	return c.command(ctx, t.addr)
}

func (c *Checker) get(ctx context.Context, text string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, text, nil)
	if err != nil {
		return err
	}
	a, err := c.client.Do(r)
	if err != nil {
		return err
	}
	a.Body.Close()
	if a.StatusCode >= 400 {
		return fmt.Errorf("it answers %s", a.Status)
	}
	return nil
}

// errNoAnswer is a host that is silent.
var errNoAnswer = errors.New("no answer in time")
