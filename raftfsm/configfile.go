package raftfsm

import (
	"github.com/saranga-mq/saranga/broker/config/yamlfile"
)

// section is that of etc/saranga.yaml:
//
//	quorum:
//	  cluster: orders                 # name of the group, the same on all members
//	  member: a                       # id of this member
//	  listen: 10.0.0.1:61690
//	  advertise: a.example.com:61690  # default: this member's address in members, or listen
//	  data: data/quorum               # the default; relative to the instance
//	  join: false
//	  members:
//	    - {id: a, address: a.example.com:61690}
//	    - {id: b, address: b.example.com:61690}
//	    - {id: c, address: c.example.com:61690}
//	  tls: {certificate: etc/a.pem, key: etc/a.key, ca: etc/ca.pem}
//	  timeouts: {heartbeat: 400ms, election: 400ms, lease: 200ms, freshness: 1300ms}
const section = "quorum"

// defaultFolder is the state folder, in the instance.
const defaultFolder = "data/quorum"

// ReadConfig reads and validates the section of etc/saranga.yaml. ok is false if there is none. Errors name file, line and key.
func ReadConfig(f *yamlfile.File) (c Config, ok bool, err error) {
	s, err := f.Section(section, yamlfile.Fields{
		"cluster":   yamlfile.Text(&c.Cluster),
		"member":    yamlfile.Text(&c.Member),
		"listen":    yamlfile.Text(&c.Listen),
		"advertise": yamlfile.Text(&c.Advertise),
		"data":      yamlfile.Path(&c.Folder),
		"join":      yamlfile.Bool(&c.Join),
		"members": yamlfile.List(func(int) yamlfile.Value {
			c.Members = append(c.Members, Peer{})
			p := &c.Members[len(c.Members)-1]
			return yamlfile.Mapping(yamlfile.Fields{"id": yamlfile.Text(&p.ID), "address": yamlfile.Text(&p.Address)})
		}),
		"tls": yamlfile.Mapping(yamlfile.Fields{
			"certificate": yamlfile.Path(&c.TLS.Certificate), "key": yamlfile.Path(&c.TLS.Key), "ca": yamlfile.Path(&c.TLS.CA),
		}),
		"timeouts": yamlfile.Mapping(yamlfile.Fields{
			"heartbeat": yamlfile.Duration(&c.Timing.Heartbeat), "election": yamlfile.Duration(&c.Timing.Election),
			"lease": yamlfile.Duration(&c.Timing.Lease), "freshness": yamlfile.Duration(&c.Timing.Freshness),
		}),
	})
	if err != nil || s == nil {
		return Config{}, false, err
	}
	setDefault(&c.Folder, f.Resolve(defaultFolder))
	return c, true, s.Locate(c.Validate())
}
