package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

// Transport is one acceptor or connector.
type Transport struct {
	Name string
	// LockCoordinator names the lock that must be held to start it; empty is none.
	LockCoordinator string
	URL             TransportURL
}

// TransportURL is a parsed acceptor or connector URI:
//
//	scheme://host:port?key=value;key=value
//	scheme://host1:port1,scheme://host2:port2?key=value
//	(scheme://host1:port1?key=value,scheme://host2:port2)?key=value
//	scheme://host1:port1?key=value#scheme://host2:port2
//
// Parameters are separated by ; or & and percent-encoded. Passwords among them
// are already decoded in a loaded Config.
type TransportURL struct {
	// Scheme is tcp, vm, …
	Scheme string
	// Host is without the brackets of an IPv6 address, empty if not written.
	Host string
	// Port is 0 if not written.
	Port   int
	Params map[string]string
	// Further are the URIs after the first, with the common parameters merged in.
	Further []TransportURL
}

// Names of the protocols an acceptor can be limited to.
var protocols = []string{"CORE", "AMQP", "STOMP", "HORNETQ", "MQTT", "OPENWIRE"}

// schemes of acceptors and connectors.
var schemes = []string{"tcp", "vm"}

// maskedParams are the parameters of a transport that may be masked.
var maskedParams = []string{"keyStorePassword", "trustStorePassword", "keyPassword"}

// maxTransports bounds the URIs in one acceptor or connector.
const maxTransports = 64

// ParseTransportURL reads an acceptor or connector URI.
func ParseTransportURL(text string) (TransportURL, error) {
	text = strings.TrimSpace(text)
	var list []string
	var query string
	if strings.HasPrefix(text, "(") {
		end := strings.LastIndexByte(text, ')')
		if end < 0 {
			return TransportURL{}, errors.New("a ( is not closed")
		}
		list = strings.Split(text[1:end], ",")
		rest := text[end+1:]
		if rest != "" && rest[0] != '?' {
			return TransportURL{}, fmt.Errorf("after the list comes %q, not ?parameters", short(rest))
		}
		query = strings.TrimPrefix(rest, "?")
	} else {
		first, others, hasOthers := strings.Cut(text, "#")
		var addresses string
		addresses, query, _ = strings.Cut(first, "?")
		list = strings.Split(addresses, ",")
		if hasOthers && strings.Contains(others, "://") {
			list = append(list, strings.Split(others, ",")...)
		}
	}
	if len(list) > maxTransports {
		return TransportURL{}, fmt.Errorf("more than %d addresses", maxTransports)
	}
	common, err := parseParams(query)
	if err != nil {
		return TransportURL{}, err
	}
	var all []TransportURL
	for _, one := range list {
		u, err := parseOneTransport(strings.TrimSpace(one))
		if err != nil {
			return TransportURL{}, err
		}
		for k, v := range common {
			if _, own := u.Params[k]; !own {
				u.Params[k] = v
			}
		}
		all = append(all, u)
	}
	u := all[0]
	u.Further = all[1:]
	if len(u.Further) == 0 {
		u.Further = nil
	}
	return u, nil
}

func parseOneTransport(text string) (TransportURL, error) {
	address, query, _ := strings.Cut(text, "?")
	scheme, authority, ok := strings.Cut(address, "://")
	if !ok {
		return TransportURL{}, fmt.Errorf("%q has no scheme://", short(text))
	}
	u := TransportURL{Scheme: scheme}
	var err error
	if u.Params, err = parseParams(query); err != nil {
		return u, err
	}
	authority, _, _ = strings.Cut(authority, "/")
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
	}
	if scheme == "vm" {
		u.Host = host
		return u, nil
	}
	u.Host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.Contains(u.Host, ":") && !strings.HasPrefix(host, "[") {
		return u, fmt.Errorf("%q: an IPv6 address needs brackets, as in [::1]:61616", short(authority))
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return u, fmt.Errorf("%q is not a port", port)
		}
		u.Port = int(n)
	}
	return u, nil
}

func parseParams(query string) (map[string]string, error) {
	params := map[string]string{}
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		k, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
		key, err1 := url.QueryUnescape(k)
		value, err2 := url.QueryUnescape(v)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("parameter %q is not percent-encoded correctly", short(pair))
		}
		if key != "" {
			params[key] = value
		}
	}
	return params, nil
}

// Addr is host:port for a dial or listen; an empty host stays empty.
func (u TransportURL) Addr() string { return net.JoinHostPort(u.Host, strconv.Itoa(u.Port)) }

// String writes the first URI with its parameters in the order of their names
// and passwords masked as ****.
func (u TransportURL) String() string {
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.Scheme == "vm" {
		b.WriteString(u.Host)
	} else {
		b.WriteString(u.Addr())
	}
	keys := make([]string, 0, len(u.Params))
	for k := range u.Params {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for i, k := range keys {
		value := url.QueryEscape(u.Params[k])
		if contains(maskedParams, k) {
			value = "****"
		}
		b.WriteString(map[bool]string{true: "?", false: ";"}[i == 0] + url.QueryEscape(k) + "=" + value)
	}
	return b.String()
}

// Bool returns a parameter as Java's Boolean.parseBoolean reads it, or def when
// it is missing.
func (u TransportURL) Bool(name string, def bool) bool {
	v, ok := u.Params[name]
	if !ok {
		return def
	}
	return strings.EqualFold(strings.TrimSpace(v), "true")
}

// Int returns an integer parameter, or def when it is missing or no integer.
func (u TransportURL) Int(name string, def int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(u.Params[name]), 10, 64)
	if err != nil {
		return def
	}
	return n
}

// Text returns a parameter, or def when it is missing.
func (u TransportURL) Text(name, def string) string {
	if v, ok := u.Params[name]; ok {
		return v
	}
	return def
}

// List returns a comma list, trimmed, without empty entries.
func (u TransportURL) List(name string) []string {
	var out []string
	for item := range strings.SplitSeq(u.Params[name], ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// transportXML is an acceptor or connector as the file has it.
type transportXML struct {
	Name            string `cfg:"@name"`
	LockCoordinator string `cfg:"@lock-coordinator"`
	URI             string `cfg:"."`
}

func (t *Transport) form() any { return &transportXML{} }

func (t *Transport) take(form any, d *decoder, n *node) {
	x := form.(*transportXML)
	t.Name, t.LockCoordinator = x.Name, x.LockCoordinator
	at := n.name
	if x.Name != "" {
		at += " " + x.Name
	}
	u, err := ParseTransportURL(x.URI)
	if err == nil {
		err = u.checkScheme()
	}
	if err == nil {
		err = u.unmask(d.unmask)
	}
	if err != nil {
		d.fail(n.at, at, err.Error(), "write it as tcp://host:port?name=value;name=value")
		return
	}
	t.URL = u
	if n.name == "acceptor" {
		for _, p := range u.List("protocols") {
			if !contains(protocols, p) {
				d.warn(Odd, n.at, at, "AMQ222203: there is no protocol "+p+", it is ignored", "known are "+strings.Join(protocols, ", "))
			}
		}
	}
}

func (u *TransportURL) checkScheme() error {
	for _, one := range append([]TransportURL{*u}, u.Further...) {
		if !contains(schemes, one.Scheme) {
			return fmt.Errorf("scheme %q is not known (only %s)", one.Scheme, strings.Join(schemes, " and "))
		}
	}
	return nil
}

// unmask decodes the passwords among the parameters.
func (u *TransportURL) unmask(decode func(string) (string, error)) error {
	for _, name := range maskedParams {
		if v, ok := u.Params[name]; ok {
			plain, err := decode(v)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			u.Params[name] = plain
		}
	}
	for i := range u.Further {
		if err := u.Further[i].unmask(decode); err != nil {
			return err
		}
	}
	return nil
}
