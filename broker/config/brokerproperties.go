package config

import (
	"errors"
	"fmt"
	"hash/adler32"
	"reflect"
	"strings"
)

// PropertiesStatus says how a source of broker properties was applied: part of
// the broker's Status attribute.
type PropertiesStatus struct {
	// Source is the file name without its folder, or "system-" and the prefix.
	Source string
	// Adler32 is the checksum of key=value of all entries in their order.
	Adler32 uint32
	Errors  []PropertyError
}

// PropertyError is one entry that couldn't be applied.
type PropertyError struct {
	// Value is key=value as it stood in the source.
	Value, Reason string
}

// propertyApplier sets properties on a Config. Keys are paths of bean names.
type propertyApplier struct {
	*decoder
	c                *Config
	lookup           Lookup
	surround, remove string
}

// apply applies the entries of one source. What can't be applied is noted in the
// status and doesn't stop the start, except for secrets that can't be decoded.
func (a *propertyApplier) apply(source, file string, list []Property) PropertiesStatus {
	status := PropertiesStatus{Source: source}
	sum := adler32.New()
	a.surround, a.remove = `"`, "-"
	for _, p := range list {
		sum.Write([]byte(p.Key + "=" + p.Value))
		switch p.Key {
		case "key.surround":
			a.surround = p.Value
		case "remove.value":
			a.remove = p.Value
		}
	}
	status.Adler32 = sum.Sum32()
	for _, p := range list {
		if p.Key == "key.surround" || p.Key == "remove.value" {
			continue
		}
		if err := a.one(p, position{file, p.Line}); err != nil {
			status.Errors = append(status.Errors, PropertyError{p.Key + "=" + p.Value, err.Error()})
			a.warn(Odd, position{file, p.Line}, p.Key, err.Error(), "correct or remove the property")
		}
	}
	return status
}

func (a *propertyApplier) one(p Property, at position) error {
	key, err := Substitute(p.Key, a.lookup)
	if err != nil {
		return err
	}
	value, err := Substitute(p.Value, a.lookup)
	if err != nil {
		return err
	}
	if _, wrapped := unwrapENC(value); wrapped {
		if value, err = a.unmask(value); err != nil {
			a.fail(at, p.Key, "AMQ224097: "+err.Error(), "mask it again with the mask command, or write it plainly")
			return nil
		}
	}
	path, err := a.split(key)
	if err != nil {
		return err
	}
	if ignoredBeans[camel(path[0])] {
		return nil
	}
	return a.set(reflect.ValueOf(a.c).Elem(), path, value, "", at)
}

// ignoredBeans are properties of Artemis' configuration that say where it was
// read from or repeat others.
var ignoredBeans = map[string]bool{
	"brokerInstance": true, "configurationUrl": true, "fileDeployerScanPeriod": true,
	"checkForPrimaryServer": true, "failoverOnServerShutdown": true,
	"brokerPropertiesKeySurround": true, "brokerPropertiesRemoveValue": true,
}

// split cuts a key at its dots; names with dots are surrounded.
func (a *propertyApplier) split(key string) ([]string, error) {
	var path []string
	for rest := key; ; {
		var name string
		var more bool
		if inner, ok := strings.CutPrefix(rest, a.surround); ok && a.surround != "" {
			if name, rest, more = strings.Cut(inner, a.surround); !more {
				return nil, fmt.Errorf("%s is not closed", a.surround)
			}
			if more = strings.HasPrefix(rest, "."); more {
				rest = rest[1:]
			} else if rest != "" {
				return nil, fmt.Errorf("after %q comes %q, not a dot", name, short(rest))
			}
		} else {
			name, rest, more = strings.Cut(rest, ".")
		}
		path = append(path, name)
		if !more {
			break
		}
	}
	if path[0] == "" {
		return nil, errors.New("the key is empty")
	}
	return path, nil
}

// propertySetter is implemented by types with properties that aren't their fields.
type propertySetter interface {
	// setProperty tells whether it knows the property.
	setProperty(path []string, value string) (known bool, err error)
}

// set sets the property path on the struct v, which is at element path under.
func (a *propertyApplier) set(v reflect.Value, path []string, value, under string, at position) error {
	if s, ok := v.Addr().Interface().(propertySetter); ok {
		if known, err := s.setProperty(path, value); known || err != nil {
			return err
		}
	}
	// The fields of these two are those of the kind that was chosen.
	switch x := v.Addr().Interface().(type) {
	case *HAPolicy:
		v = reflect.ValueOf(x.active()).Elem()
	case *Store:
		if x.Database == nil {
			return errors.New("storeConfiguration=DATABASE has to come first")
		}
		v = reflect.ValueOf(x.Database).Elem()
	}
	b := beansOf(v.Type())[camel(path[0])]
	if b == nil {
		return fmt.Errorf("there is no property %s of %s", path[0], v.Type().Name())
	}
	here := under
	if b.path != "" {
		here = join(under, b.path)
	}
	a.note(here, at)
	fv := v.FieldByIndex(b.index)
	switch kind := fv.Kind(); {
	case kind == reflect.Struct:
		return a.inner(fv, path, value, here, at)
	case kind == reflect.Pointer && fv.Type().Elem().Kind() == reflect.Struct:
		if len(path) == 1 && value == a.remove {
			fv.SetZero()
			return nil
		}
		if fv.IsNil() {
			fv.Set(newWithDefaults(fv.Type().Elem()))
		}
		return a.inner(fv.Elem(), path, value, here, at)
	case kind == reflect.Slice && fv.Type().Elem().Kind() == reflect.Struct:
		return a.entry(fv, path, value, here, at)
	case kind == reflect.Slice:
		return setList(fv, path, value, a.remove)
	case kind == reflect.Map:
		return setMap(fv, path, value, a.remove)
	case len(path) > 1:
		return fmt.Errorf("property %s has nothing inside", path[0])
	}
	if fv.Kind() == reflect.String && value == "" {
		fv.SetString("") // the element must not be empty, the property may
		return nil
	}
	if err := setScalar(fv, b.field, booleanWord(fv, value)); err != nil {
		// Artemis takes 0 for a number that it can't read, without a word.
		if k := elemType(fv.Type()).Kind(); k == reflect.Int || k == reflect.Int64 {
			a.warn(Odd, at, strings.Join(path, "."), err.Error()+", the property is ignored", "correct it")
			return nil
		}
		return err
	}
	return nil
}

// booleanWord reads booleans as Java does: true in any case, else false.
func booleanWord(fv reflect.Value, value string) string {
	if elemType(fv.Type()).Kind() == reflect.Bool {
		return fmt.Sprint(strings.EqualFold(strings.TrimSpace(value), "true"))
	}
	return value
}

func (a *propertyApplier) inner(v reflect.Value, path []string, value, under string, at position) error {
	if len(path) == 1 {
		if s, ok := v.Addr().Interface().(propertySetter); ok {
			if known, err := s.setProperty(nil, value); known || err != nil {
				return err
			}
		}
		return fmt.Errorf("property %s needs a name after it", path[0])
	}
	return a.set(v, path[1:], value, under, at)
}

// entry finds or makes the named entry of a list and sets the rest on it.
func (a *propertyApplier) entry(fv reflect.Value, path []string, value, under string, at position) error {
	if len(path) == 1 {
		if value != a.remove {
			return fmt.Errorf("property %s needs the name of an entry after it", path[0])
		}
		fv.SetZero()
		return nil
	}
	i := 0
	for ; i < fv.Len(); i++ {
		if keyField(fv.Index(i)).String() == path[1] {
			break
		}
	}
	if len(path) == 2 && value == a.remove {
		if i < fv.Len() {
			fv.Set(reflect.AppendSlice(fv.Slice3(0, i, i), fv.Slice(i+1, fv.Len())))
		}
		return nil
	}
	if i == fv.Len() {
		item := newWithDefaults(fv.Type().Elem()).Elem()
		keyField(item).SetString(path[1])
		if len(path) > 2 { // an entry is made only if something can be set on it
			if err := a.set(item, path[2:], value, under, at); err != nil {
				return err
			}
		}
		fv.Set(reflect.Append(fv, item))
		return nil
	}
	if len(path) == 2 {
		return nil
	}
	return a.set(fv.Index(i), path[2:], value, under, at)
}

// keyField returns the field that names an entry.
func keyField(v reflect.Value) reflect.Value {
	for _, name := range []string{"Name", "Match", "ClassName", "From", "Ref", "AddressMatch", "QueueMatch"} {
		if f := v.FieldByName(name); f.IsValid() {
			return f
		}
	}
	panic("config: no key field in " + v.Type().String())
}

func setList(fv reflect.Value, path []string, value, remove string) error {
	if len(path) > 1 {
		return fmt.Errorf("property %s takes a list", path[0])
	}
	fv.SetZero()
	if value == remove {
		return nil
	}
	for item := range strings.SplitSeq(value, ",") {
		v, err := parseValue(fv.Type().Elem(), &fieldSpec{}, item)
		if err != nil {
			return err
		}
		fv.Set(reflect.Append(fv, v))
	}
	return nil
}

func setMap(fv reflect.Value, path []string, value, remove string) error {
	put := func(k, v string) {
		if fv.IsNil() {
			fv.Set(reflect.MakeMap(fv.Type()))
		}
		if v == remove && len(path) > 1 {
			fv.SetMapIndex(reflect.ValueOf(k), reflect.Value{})
			return
		}
		fv.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(v))
	}
	if len(path) > 1 {
		put(strings.Join(path[1:], "."), value)
		return nil
	}
	fv.SetZero()
	if value == remove {
		return nil
	}
	for pair := range strings.SplitSeq(value, ",") {
		k, v, _ := strings.Cut(pair, "=")
		put(strings.TrimSpace(k), strings.TrimSpace(v))
	}
	return nil
}

func (t *Transport) setProperty(path []string, value string) (bool, error) {
	if len(path) == 0 {
		return false, nil
	}
	if t.URL.Params == nil {
		t.URL.Scheme, t.URL.Params = "tcp", map[string]string{}
	}
	switch path[0] {
	case "name":
		t.Name = value
	case "lockCoordinator":
		t.LockCoordinator = value
	case "factoryClassName":
		if strings.Contains(value, "InVM") || value == "vm" || value == "invm" {
			t.URL.Scheme = "vm"
		}
	case "params", "extraParams":
		if len(path) != 2 {
			return true, fmt.Errorf("%s needs the name of one parameter", path[0])
		}
		switch path[1] {
		case "host":
			t.URL.Host = value
		case "port":
			n, err := parseInt(value, 32)
			if err != nil || n < 0 || n > 65535 {
				return true, fmt.Errorf("%q is not a port", value)
			}
			t.URL.Port = int(n)
		case "scheme":
			t.URL.Scheme = value
		default:
			t.URL.Params[path[1]] = value
		}
	default:
		return false, nil
	}
	return true, nil
}

// securityRoles.<match>.<role>.<permission>=true
func (s *SecuritySetting) setProperty(path []string, value string) (bool, error) {
	if len(path) != 2 {
		return true, errors.New("write securityRoles.<match>.<role>.<permission>=true")
	}
	if path[1] == "name" {
		return true, nil
	}
	p, ok := permissionNamed(path[1])
	if !ok {
		return true, fmt.Errorf("there is no permission %s", path[1])
	}
	if s.Roles == nil {
		s.Roles = map[Permission][]string{}
	}
	var roles []string
	for _, role := range s.Roles[p] {
		if role != path[0] {
			roles = append(roles, role)
		}
	}
	if strings.EqualFold(value, "true") {
		roles = append(roles, path[0])
	}
	s.Roles[p] = roles
	return true, nil
}

// HAPolicyConfiguration=<kind> makes the policy, HAPolicyConfiguration.<field> sets it.
func (p *HAPolicy) setProperty(path []string, value string) (bool, error) {
	if len(path) > 0 {
		return false, nil
	}
	*p = HAPolicy{}
	primary, backup := &ReplicationPrimary{}, &ReplicationBackup{}
	primary.defaults()
	backup.defaults()
	manager := &LockManager{}
	manager.defaults()
	switch HAKind(value) {
	case PrimaryOnly:
		p.PrimaryOnly = &PrimaryOnlyPolicy{}
	case ReplicationPrimaryVoting:
		p.Replication = &ReplicationPolicy{Primary: primary}
	case ReplicationBackupVoting:
		p.Replication = &ReplicationPolicy{Backup: backup}
	case ReplicationPrimaryLock:
		primary.Manager, primary.RetryReplicationWait = manager, replicationWait(manager, 0)
		p.Replication = &ReplicationPolicy{Primary: primary}
	case ReplicationBackupLock:
		backup.Manager, backup.RetryReplicationWait = manager, replicationWait(manager, 0)
		p.Replication = &ReplicationPolicy{Backup: backup}
	case SharedStorePrimary:
		p.SharedStore = &SharedStorePolicy{Primary: &SharedStorePrimarySettings{}}
		p.SharedStore.Primary.defaults()
	case SharedStoreBackup:
		p.SharedStore = &SharedStorePolicy{Backup: &SharedStoreBackupSettings{}}
		p.SharedStore.Backup.defaults()
	case Colocated:
		p.Replication = &ReplicationPolicy{Colocated: &ColocatedReplication{}}
		p.Replication.Colocated.defaults()
	default:
		return true, fmt.Errorf("there is no HA policy %s", value)
	}
	return true, nil
}

// active returns the part of the policy that fields of HAPolicyConfiguration set.
func (p *HAPolicy) active() any {
	switch r, s := p.Replication, p.SharedStore; {
	case r != nil && r.Colocated != nil:
		return r.Colocated
	case r != nil && r.Primary != nil:
		return r.Primary
	case r != nil && r.Backup != nil:
		return r.Backup
	case s != nil && s.Colocated != nil:
		return s.Colocated
	case s != nil && s.Primary != nil:
		return s.Primary
	case s != nil && s.Backup != nil:
		return s.Backup
	}
	if p.PrimaryOnly == nil {
		p.PrimaryOnly = &PrimaryOnlyPolicy{}
	}
	return p.PrimaryOnly
}

// storeConfiguration=DATABASE or FILE makes the store.
func (s *Store) setProperty(path []string, value string) (bool, error) {
	if len(path) > 0 {
		return false, nil
	}
	*s = Store{}
	switch value {
	case "DATABASE":
		s.Database = &DatabaseStore{}
		s.Database.defaults()
	case "FILE":
		s.File = &FileStore{}
	default:
		return true, fmt.Errorf("there is no store %s", value)
	}
	return true, nil
}

// complete gives queues made by properties what the file would have given them.
func (a *propertyApplier) complete() {
	for i := range a.c.Addresses {
		addr := &a.c.Addresses[i]
		for j := range addr.Queues {
			q := &addr.Queues[j]
			if q.Address == "" {
				q.Address = addr.Name
			}
			if q.RoutingType == "" {
				q.RoutingType = Multicast
			}
		}
	}
}
