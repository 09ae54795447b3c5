package config

import (
	"path/filepath"
	"reflect"
	"sort"
)

// Change is one thing that differs.
type Change[T any] struct{ Old, New T }

// Diff is what was added, removed and changed in a list of named things, each in
// the order of the file.
type Diff[T any] struct {
	Added, Removed []T
	Changed        []Change[T]
}

// Empty tells whether nothing differs.
func (d Diff[T]) Empty() bool { return len(d.Added)+len(d.Removed)+len(d.Changed) == 0 }

// Changes are the differences between two configurations, as far as a running
// broker takes them over (spec/config.md §8), in the order it should: security
// settings, address settings, diverts, addresses, queues, then the rest.
type Changes struct {
	SecuritySettings Diff[SecuritySetting]
	AddressSettings  Diff[AddressSetting]
	Diverts          Diff[Divert]
	// Addresses have their routing types changed; their queues are in Queues.
	Addresses         Diff[Address]
	Queues            Diff[Queue]
	Bridges           Diff[Bridge]
	Acceptors         Diff[Transport]
	ConnectionRouters Diff[ConnectionRouter]
	AMQPConnections   Diff[AMQPConnection]
	JAASConfigs       Diff[Realm]
	// PurgeFolders is set when purge-page-folders changed.
	PurgeFolders bool
	// Restart names the other elements that changed: they wait for a restart.
	Restart []string
}

// Reload compares the configuration in force with a newly read one.
func Reload(old, new *Config) Changes {
	return Changes{
		SecuritySettings:  diff(old.SecuritySettings, new.SecuritySettings, func(s SecuritySetting) string { return s.Match }),
		AddressSettings:   diff(old.AddressSettings, new.AddressSettings, func(s AddressSetting) string { return s.Match }),
		Diverts:           diff(old.Diverts, new.Diverts, func(d Divert) string { return d.Name }),
		Addresses:         diff(withoutQueues(old.Addresses), withoutQueues(new.Addresses), func(a Address) string { return a.Name }),
		Queues:            diff(queues(old.Addresses), queues(new.Addresses), func(q Queue) string { return q.Address + "\x00" + q.Name }),
		Bridges:           diff(old.Bridges, new.Bridges, func(b Bridge) string { return b.Name }),
		Acceptors:         diff(old.Acceptors, new.Acceptors, func(t Transport) string { return t.Name }),
		ConnectionRouters: diff(old.ConnectionRouters, new.ConnectionRouters, func(r ConnectionRouter) string { return r.Name }),
		AMQPConnections:   diff(old.AMQPConnections, new.AMQPConnections, func(c AMQPConnection) string { return c.Name }),
		JAASConfigs:       diff(old.JAASConfigs, new.JAASConfigs, func(r Realm) string { return r.Name }),
		PurgeFolders:      old.Paging.PurgeFolders != new.Paging.PurgeFolders,
		Restart:           restartElements(old, new),
	}
}

func diff[T any](old, new []T, key func(T) string) Diff[T] {
	var d Diff[T]
	before := map[string]T{}
	for _, x := range old {
		before[key(x)] = x
	}
	after := map[string]bool{}
	for _, x := range new {
		after[key(x)] = true
		was, ok := before[key(x)]
		switch {
		case !ok:
			d.Added = append(d.Added, x)
		case !reflect.DeepEqual(was, x):
			d.Changed = append(d.Changed, Change[T]{was, x})
		}
	}
	for _, x := range old {
		if !after[key(x)] {
			d.Removed = append(d.Removed, x)
		}
	}
	return d
}

func withoutQueues(list []Address) []Address {
	out := make([]Address, len(list))
	for i, a := range list {
		a.Queues = nil
		out[i] = a
	}
	return out
}

func queues(list []Address) []Queue {
	var out []Queue
	for _, a := range list {
		out = append(out, a.Queues...)
	}
	return out
}

// reloaded are the elements that Changes has.
var reloaded = map[string]bool{
	"security-settings/security-setting": true, "security-settings/role-mapping": true,
	"address-settings/address-setting": true, "diverts/divert": true, "addresses/address": true,
	"bridges/bridge": true, "acceptors/acceptor": true, "connection-routers/connection-router": true,
	"broker-connections/amqp-connection": true, "purge-page-folders": true,
}

// restartElements lists the elements below core whose values differ and that
// Changes doesn't have.
func restartElements(old, new *Config) []string {
	set := map[string]bool{}
	var walk func(a, b reflect.Value)
	walk = func(a, b reflect.Value) {
		for i := range a.NumField() {
			sf := a.Type().Field(i)
			tag := sf.Tag.Get("cfg")
			if tag == "" {
				if sf.Type.Kind() == reflect.Struct {
					walk(a.Field(i), b.Field(i))
				}
				continue
			}
			if path := elementPath(tag); !reloaded[path] && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				set[path] = true
			}
		}
	}
	walk(reflect.ValueOf(old).Elem(), reflect.ValueOf(new).Elem())
	var out []string
	for path := range set {
		out = append(out, path)
	}
	sort.Strings(out)
	return out
}

// Reread reads broker.xml, its properties and login.config again with the options
// of the load. As in Artemis, elements that don't belong are only warned of, and
// anything else that is wrong keeps the present configuration.
func (in *Instance) Reread() (*Instance, []Warning, error) {
	l := &loader{o: in.options, parser: parser{report: &report{}, tool: in.options.Tool, workDir: in.options.WorkDir, lenient: true}}
	l.in = &Instance{Dir: in.Dir, Etc: in.Etc, Profile: in.Profile, Bootstrap: in.Bootstrap, Management: in.Management, options: in.options, lookup: in.lookup}
	l.lookup = in.lookup
	l.missing(in.Watched)
	l.login()
	l.brokerXML()
	if err := l.err(); err != nil {
		return nil, l.warns, err
	}
	return l.in, l.warns, nil
}

// missing reports properties files that were there at the load.
func (l *loader) missing(watched []string) {
	for _, path := range watched {
		if !exists(path) {
			l.fail(position{file: filepath.Clean(path)}, "", "the file is gone", "restore it, or restart the broker without it")
		}
	}
}
