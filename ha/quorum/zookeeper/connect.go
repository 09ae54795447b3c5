package zookeeper

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

var errConnect = errors.New("malformed connect string")

// ParseConnect takes a connect string apart: "host:port,host:port/root". The port is 2181 if there is none; an IPv6 address with a
// port is in brackets; root is a path under which everything is kept, "" if there is none.
func ParseConnect(s string) (servers []string, root string, err error) {
	if at := strings.IndexByte(s, '/'); at >= 0 {
		s, root = s[:at], strings.TrimSuffix(s[at:], "/")
		if strings.Contains(root, "//") {
			return nil, "", fmt.Errorf("%w: root %q", errConnect, root)
		}
	}
	for server := range strings.SplitSeq(s, ",") {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			host, port = strings.Trim(server, "[]"), "2181"
			if strings.Contains(host, ":") && net.ParseIP(host) == nil {
				return nil, "", fmt.Errorf("%w: server %q", errConnect, server)
			}
		}
		if n, err := strconv.ParseUint(port, 10, 16); host == "" || err != nil || n == 0 {
			return nil, "", fmt.Errorf("%w: server %q", errConnect, server)
		}
		servers = append(servers, net.JoinHostPort(host, port))
	}
	return servers, root, nil
}
