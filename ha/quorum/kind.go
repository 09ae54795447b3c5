package quorum

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Class names that Artemis' configurations have in <manager><class-name>.
const (
	ClassCurator    = "org.apache.activemq.artemis.lockmanager.zookeeper.CuratorDistributedLockManager"
	ClassCuratorOld = "org.apache.activemq.artemis.quorum.zookeeper.CuratorDistributedPrimitiveManager"
	ClassFile       = "org.apache.activemq.artemis.lockmanager.file.FileBasedLockManager"
)

// DefaultClass is used where none is configured.
const DefaultClass = ClassCurator

// A Kind is an implementation of Manager that a configuration can ask for.
type Kind struct {
	Classes    []string // the names that select it
	Properties []string // the keys it knows
	// New makes a manager; it connects to nothing. The properties have known keys only.
	New func(Properties) (Manager, error)
}

// New makes the manager that the class name selects out of the kinds at hand; "" is DefaultClass. An unknown class or
// property is an error that names it and those that are allowed.
func New(class string, properties map[string]string, kinds ...Kind) (Manager, error) {
	if class == "" {
		class = DefaultClass
	}
	var known []string
	for _, k := range kinds {
		if !slices.Contains(k.Classes, class) {
			known = append(known, k.Classes...)
			continue
		}
		for key := range properties {
			if !slices.Contains(k.Properties, key) {
				return nil, fmt.Errorf("lock manager %s: unknown property %q; it has %s", class, key, strings.Join(k.Properties, ", "))
			}
		}
		m, err := k.New(properties)
		if err != nil {
			return nil, fmt.Errorf("lock manager %s: %w", class, err)
		}
		return m, nil
	}
	return nil, fmt.Errorf("unknown lock manager class %q; known are %s", class, strings.Join(known, ", "))
}

// Properties are the <property> elements of a manager.
type Properties map[string]string

// Text returns a property that must be there.
func (p Properties) Text(key string) (string, error) {
	if p[key] == "" {
		return "", fmt.Errorf("property %q is missing", key)
	}
	return p[key], nil
}

// Int returns a property as a number from lo to hi, or the default if it is not there.
func (p Properties) Int(key string, def, lo, hi int) (int, error) {
	s, ok := p[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("property %q is %q; it has to be a number from %d to %d", key, s, lo, hi)
	}
	return n, nil
}
