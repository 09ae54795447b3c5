// Package yamlfile reads etc/saranga.yaml, the file of what only Saranga has. It is YAML with one mapping at the top; each of its
// keys is a section that the part of the broker reads which it is about:
//
//	quorum: {…}      package raftfsm
//	zookeeper: {…}   package raftfsm/zk
//
// Everything is read strictly: unknown and repeated keys, aliases and values of another kind are errors. Every error names file,
// line and key, those that a section's owner finds afterwards too (Section.Locate).
//
//	f, err := yamlfile.Parse("etc/saranga.yaml", "/srv/a", data)
//	err = f.Only("quorum", "zookeeper")
//	s, err := f.Section("quorum", yamlfile.Fields{"listen": yamlfile.Text(&c.Listen)})
package yamlfile
