package raftfsm

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// The quorum section of etc/saranga.yaml. Every key that is not here is an error with its line:
//
//	quorum:
//	  cluster: orders                 # name of the group, the same on all members
//	  member: a                       # id of this member
//	  listen: 10.0.0.1:61690
//	  advertise: a.example.com:61690  # default: this member's address in members, or listen
//	  data: data/quorum               # relative to the instance
//	  join: false
//	  members:
//	    - {id: a, address: a.example.com:61690}
//	    - {id: b, address: b.example.com:61690}
//	    - {id: c, address: c.example.com:61690}
//	  tls: {certificate: etc/a.pem, key: etc/a.key, ca: etc/ca.pem}
//	  timeouts: {heartbeat: 400ms, election: 400ms, lease: 200ms, freshness: 1300ms}
const section = "quorum"

const maxConfigFile = 1 << 20

// ParseConfig reads the quorum section of a file like etc/saranga.yaml; other sections are not looked at. Relative paths are relative to instance.
// ok is false if there is no such section. Errors name file and line. The result is not validated: see Config.Validate.
func ParseConfig(file string, data []byte, instance string) (c Config, ok bool, err error) {
	if len(data) > maxConfigFile {
		return c, false, fmt.Errorf("%s: %d bytes, more than %d", file, len(data), maxConfigFile)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return c, false, fmt.Errorf("%s: %w", file, err)
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return c, false, nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return c, false, fmt.Errorf("%s:%d: not a mapping", file, root.Line)
	}
	p := yamlReader{file: file, instance: instance}
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value != section {
			continue
		}
		if ok {
			return c, false, p.fault(root.Content[i], section, "is there twice")
		}
		ok = true
		if err := p.config(root.Content[i+1], &c); err != nil {
			return Config{}, false, err
		}
	}
	return c, ok, nil
}

// yamlReader reads nodes strictly: unknown and repeated keys, aliases and values of another kind are errors.
type yamlReader struct {
	file     string
	instance string
}

// field reads the value of a key; path is the key's with all above it.
type field func(n *yaml.Node, path string) error

func (p yamlReader) fault(n *yaml.Node, path, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %s", p.file, n.Line, path, fmt.Sprintf(format, args...))
}

func (p yamlReader) config(n *yaml.Node, c *Config) error {
	return p.mapping(map[string]field{
		"cluster":   p.text(&c.Cluster),
		"member":    p.text(&c.Member),
		"listen":    p.text(&c.Listen),
		"advertise": p.text(&c.Advertise),
		"data":      p.path(&c.Folder),
		"join":      p.bool(&c.Join),
		"members":   p.members(&c.Members),
		"tls": p.inner(map[string]field{
			"certificate": p.path(&c.TLS.Certificate), "key": p.path(&c.TLS.Key), "ca": p.path(&c.TLS.CA),
		}),
		"timeouts": p.inner(map[string]field{
			"heartbeat": p.duration(&c.Timing.Heartbeat), "election": p.duration(&c.Timing.Election),
			"lease": p.duration(&c.Timing.Lease), "freshness": p.duration(&c.Timing.Freshness),
		}),
	}, n, section)
}

func (p yamlReader) mapping(fields map[string]field, n *yaml.Node, path string) error {
	if n.Kind != yaml.MappingNode {
		return p.fault(n, path, "not a mapping")
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := path + "." + key.Value
		read := fields[key.Value]
		switch {
		case read == nil:
			known := make([]string, 0, len(fields))
			for k := range fields {
				known = append(known, k)
			}
			slices.Sort(known)
			return p.fault(key, name, "unknown key; there are %s", strings.Join(known, ", "))
		case seen[key.Value]:
			return p.fault(key, name, "is there twice")
		}
		seen[key.Value] = true
		if err := read(value, name); err != nil {
			return err
		}
	}
	return nil
}

func (p yamlReader) inner(fields map[string]field) field {
	return func(n *yaml.Node, path string) error { return p.mapping(fields, n, path) }
}

func (p yamlReader) text(to *string) field {
	return func(n *yaml.Node, path string) error {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return p.fault(n, path, "not a text")
		}
		*to = n.Value
		return nil
	}
}

func (p yamlReader) path(to *string) field {
	return func(n *yaml.Node, path string) error {
		if err := p.text(to)(n, path); err != nil {
			return err
		}
		if *to != "" && !filepath.IsAbs(*to) {
			*to = filepath.Join(p.instance, *to)
		}
		return nil
	}
}

func (p yamlReader) bool(to *bool) field {
	return func(n *yaml.Node, path string) error {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(to) != nil {
			return p.fault(n, path, "%q is neither true nor false", n.Value)
		}
		return nil
	}
}

func (p yamlReader) duration(to *time.Duration) field {
	return func(n *yaml.Node, path string) error {
		d, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d <= 0 {
			return p.fault(n, path, "%q is not a time such as 400ms", n.Value)
		}
		*to = d
		return nil
	}
}

func (p yamlReader) members(to *[]Peer) field {
	return func(n *yaml.Node, path string) error {
		if n.Kind != yaml.SequenceNode {
			return p.fault(n, path, "not a list")
		}
		for i, item := range n.Content {
			var one Peer
			err := p.mapping(map[string]field{"id": p.text(&one.ID), "address": p.text(&one.Address)}, item, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return err
			}
			*to = append(*to, one)
		}
		return nil
	}
}
