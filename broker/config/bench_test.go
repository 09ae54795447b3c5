package config

import "testing"

// Loading an instance is part of every start.
func BenchmarkLoad(b *testing.B) {
	dir := unpack(b, "01-default-silent")
	for b.Loop() {
		if _, _, err := Load(dir, Options{Env: noEnv, WorkDir: dir}); err != nil {
			b.Fatal(err)
		}
	}
}

// Settings are looked up for every new address.
func BenchmarkMergeSettings(b *testing.B) {
	c := blank()
	for _, match := range []string{"#", "a.#", "a.*", "activemq.management#", "x.y.#"} {
		c.AddressSettings = append(c.AddressSettings, AddressSetting{Match: match})
	}
	r, err := c.AddressSettingRepository()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		MergeSettings(r.Find("a.b"), c.IDCacheSize)
	}
}
