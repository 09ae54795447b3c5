package zk

import (
	"fmt"
	"net/netip"

	"github.com/saranga-mq/saranga/broker/config/yamlfile"
)

// section is that of etc/saranga.yaml. Only listen has to be there:
//
//	zookeeper:
//	  listen: 10.0.0.1:2181
//	  allow: [10.0.0.0/24, 192.0.2.7]     # besides loopback; needed where listen is not loopback
//	  root: /clients                      # node of the tree that clients see as "/"
//	  admins: ["root:qUFSHxJjItUW/93UHFXFVGlvryY="]   # user:base64(SHA-1(user:password))
//	  tickTime: 2s
//	  words: [ruok, srvr, mntr, isro]     # four-letter words that are answered; ["*"] is all
//	  limits:
//	    clients: 2000
//	    clientsPerAddress: 60
//	    frame: 1MiB
//	    watches: 10000
//	    outstanding: 100
//	    output: 8MiB
//	    memory: 256MiB
//	    loginTimeout: 10s
//	    writeTimeout: 10s
//	    requestTimeout: 15s
const section = "zookeeper"

// ReadConfig reads and validates the section of etc/saranga.yaml. ok is false if there is none. Errors name file, line and key.
func ReadConfig(f *yamlfile.File) (c Config, ok bool, err error) {
	l := &c.Limits
	var frame, output int64
	s, err := f.Section(section, yamlfile.Fields{
		"listen":   yamlfile.Text(&c.Listen),
		"allow":    yamlfile.List(func(int) yamlfile.Value { return network(&c.Allow) }),
		"root":     yamlfile.Text(&c.Root),
		"admins":   yamlfile.Texts(&c.Admins),
		"tickTime": yamlfile.Duration(&c.TickTime),
		"words":    yamlfile.Texts(&c.Words),
		"limits": yamlfile.Mapping(yamlfile.Fields{
			"clients": yamlfile.Count(&l.Clients), "clientsPerAddress": yamlfile.Count(&l.ClientsPerAddress), "frame": yamlfile.Bytes(&frame),
			"watches": yamlfile.Count(&l.Watches), "outstanding": yamlfile.Count(&l.Outstanding), "output": yamlfile.Bytes(&output),
			"memory": yamlfile.Bytes(&l.Memory), "loginTimeout": yamlfile.Duration(&l.LoginTimeout), "writeTimeout": yamlfile.Duration(&l.WriteTimeout),
			"requestTimeout": yamlfile.Duration(&l.RequestTimeout),
		}),
	})
	if err != nil || s == nil {
		return Config{}, false, err
	}
	l.Frame, l.Output = int(frame), int(output)
	return c, true, s.Locate(c.Validate())
}

// network reads a network, or an address, which is the network of that address.
func network(to *[]netip.Prefix) yamlfile.Value {
	return yamlfile.Parsed(func(text string) error {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); err != nil && aerr == nil {
			p, err = a.Unmap().WithZone("").Prefix(a.Unmap().BitLen())
		}
		if err != nil {
			return fmt.Errorf("%q is neither a network such as 10.0.0.0/24 nor an address", text)
		}
		*to = append(*to, p.Masked())
		return nil
	})
}
