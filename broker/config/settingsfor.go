package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Merge sets every field that s leaves open to that of less, which is a less
// specific match.
func (s *AddressSetting) Merge(less *AddressSetting) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(less).Elem()
	for i := range to.NumField() {
		if f := to.Field(i); f.Kind() == reflect.Pointer && f.IsNil() {
			f.Set(from.Field(i))
		}
	}
}

// Resolve fills what is still open with the defaults.
func (s *AddressSetting) Resolve() AddressSettings {
	out := DefaultAddressSettings()
	from, to := reflect.ValueOf(s).Elem(), reflect.ValueOf(&out).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			to.FieldByName(from.Type().Field(i).Name).Set(f.Elem())
		}
	}
	if s.MaxRedeliveryDelay == nil || *s.MaxRedeliveryDelay <= 0 {
		out.MaxRedeliveryDelay = scaled(max(int64(out.RedeliveryDelay), 0), 10)
	}
	if s.PrefetchPageMessages == nil {
		out.PrefetchPageMessages = out.MaxReadPageMessages
	}
	if s.PrefetchPageBytes == nil {
		out.PrefetchPageBytes = out.MaxReadPageBytes
	}
	return out
}

// SettingsAddress returns what an address or match is looked up by: the address
// part of an address::queue name.
func SettingsAddress(name string) string {
	address, _, _ := strings.Cut(name, "::")
	return address
}

// AddressSettingRepository returns the address settings of the configuration,
// for MergeSettings. Settings stored by management are Set on top.
func (c *Config) AddressSettingRepository() (*Repository[*AddressSetting], error) {
	r := NewRepository[*AddressSetting](c.Wildcards, c.LiteralMatchMarkers)
	for i := range c.AddressSettings {
		s := &c.AddressSettings[i]
		if err := r.Set(SettingsAddress(s.Match), s); err != nil {
			return nil, fmt.Errorf("config: address-setting: %w", err)
		}
	}
	return r, nil
}

// MergeSettings merges settings, the most specific first, into those in force.
// idCacheSize is the broker's id-cache-size, for an address without its own.
func MergeSettings(found []*AddressSetting, idCacheSize int) AddressSettings {
	var merged AddressSetting
	for _, s := range found {
		merged.Merge(s)
	}
	if merged.IDCacheSize == nil {
		merged.IDCacheSize = &idCacheSize
	}
	return merged.Resolve()
}

// AddressSettingsFor returns the settings in force for an address (or the
// address part of address::queue). It compiles the matches anew; callers with
// many addresses keep an AddressSettingRepository.
func (c *Config) AddressSettingsFor(address string) (AddressSettings, error) {
	r, err := c.AddressSettingRepository()
	if err != nil {
		return AddressSettings{}, err
	}
	return MergeSettings(r.Find(SettingsAddress(address)), c.IDCacheSize), nil
}

// SecuritySettingRepository returns the security settings of the configuration.
// The first that Find returns decides alone.
func (c *Config) SecuritySettingRepository() (*Repository[*SecuritySetting], error) {
	r := NewRepository[*SecuritySetting](c.Wildcards, "")
	for i := range c.SecuritySettings {
		s := &c.SecuritySettings[i]
		if err := r.Set(s.Match, s); err != nil {
			return nil, fmt.Errorf("config: security-setting: %w", err)
		}
	}
	return r, nil
}

// settingUnits are the units of AddressSetting's durations by field name.
var settingUnits = func() map[string]time.Duration {
	m := map[string]time.Duration{}
	t := reflect.TypeFor[AddressSetting]()
	for i := range t.NumField() {
		m[t.Field(i).Name] = units[t.Field(i).Tag.Get("unit")]
	}
	return m
}()

// MarshalJSON writes the set fields under Artemis' bean names: the form of
// management and of the ADDRESS_SETTING_JSON record. Match is not part of it.
func (s AddressSetting) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Pointer || f.IsNil() {
			continue
		}
		sf := v.Type().Field(i)
		value := f.Elem().Interface()
		if d, ok := value.(time.Duration); ok {
			value = int64(d / settingUnits[sf.Name])
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("config: address setting %s: %w", sf.Name, err)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", beanNames(sf)[0], text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes. Unknown keys are ignored, as
// Artemis does; a value of the wrong type is an error. Numbers may also be
// strings and sizes may have a suffix.
func (s *AddressSetting) UnmarshalJSON(data []byte) error {
	var raw map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&raw); err != nil {
		return fmt.Errorf("config: address setting: %w", err)
	}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		if v.Field(i).Kind() != reflect.Pointer {
			continue
		}
		for _, name := range beanNames(sf) {
			value, ok := raw[name]
			if !ok || value == nil {
				continue
			}
			f := &fieldSpec{typ: sf.Type, check: sf.Tag.Get("check"), unit: units[sf.Tag.Get("unit")]}
			if err := setScalar(v.Field(i), f, fmt.Sprint(value)); err != nil {
				return fmt.Errorf("config: address setting %s: %w", name, err)
			}
		}
	}
	return nil
}
