package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMask(t *testing.T) {
	// spec/security.md §4, verified against 2.40.0.
	for _, x := range []struct{ codec, plain, masked string }{
		{"", "bob", "-69b0f82ea52cd8ee"},
		{DefaultCodec + ";key=k1", "bob", "-59b163e9dc536f8c"},
	} {
		c, err := NewCodec(x.codec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Encode(x.plain); err != nil || got != x.masked {
			t.Errorf("Encode(%q) = %q, %v, want %q", x.plain, got, err, x.masked)
		}
		if got, err := c.Decode(x.masked); err != nil || got != x.plain {
			t.Errorf("Decode(%q) = %q, %v, want %q", x.masked, got, err, x.plain)
		}
	}
	from := func(values map[string]string) Lookup {
		return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	}
	for _, lookup := range []Lookup{from(map[string]string{codecKeyProperty: "k1", codecKeyEnv: "k2"}), from(map[string]string{codecKeyEnv: "k1"})} {
		c, err := NewCodec("", lookup)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := c.Decode("-59b163e9dc536f8c"); got != "bob" {
			t.Error("the key of the environment is not used")
		}
	}
	c, _ := NewCodec("", nil)
	for _, bad := range []string{"", "zzzz", "aa", "-69b0f82ea52cd8ef", strings.Repeat("a", 10000)} {
		if got, err := c.Decode(bad); err == nil {
			t.Errorf("Decode(%.20q) = %q", bad, got)
		}
	}
	for _, bad := range []string{"com.acme.X", ";algorithm=one-way", ";key=" + strings.Repeat("k", 57)} {
		if _, err := NewCodec(bad, nil); err == nil {
			t.Errorf("codec %.20q was accepted", bad)
		}
	}
}

func TestMaskRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := NewCodec(";key="+rapid.StringMatching(`[a-z0-9]{1,56}`).Draw(t, "key"), nil)
		if err != nil {
			t.Fatal(err)
		}
		plain := rapid.String().Draw(t, "plain")
		masked, err := c.Encode(plain)
		if err != nil {
			return // one of the few that can't be masked
		}
		if got, err := c.Decode(masked); err != nil || got != plain {
			t.Fatalf("%q → %q → %q, %v", plain, masked, got, err)
		}
	})
}

func TestUnmask(t *testing.T) {
	c, _ := NewCodec("", nil)
	yes, no := true, false
	for _, x := range []struct {
		text string
		mask *bool
		want string
	}{
		{"plain", nil, "plain"},
		{"ENC(-69b0f82ea52cd8ee)", nil, "bob"},
		{"ENC(-69b0f82ea52cd8ee)", &yes, "bob"},
		{"-69b0f82ea52cd8ee", &yes, "bob"},
		{"ENC(-69b0f82ea52cd8ee)", &no, "ENC(-69b0f82ea52cd8ee)"},
		{"-69b0f82ea52cd8ee", nil, "-69b0f82ea52cd8ee"},
	} {
		if got, err := c.Unmask(x.text, x.mask); err != nil || got != x.want {
			t.Errorf("Unmask(%q, %v) = %q, %v, want %q", x.text, x.mask, got, err, x.want)
		}
	}
	cfg := parseCore(t, `<acceptors><acceptor name="a">tcp://h:1?sslEnabled=true;keyStorePassword=ENC(-69b0f82ea52cd8ee)</acceptor></acceptors><cluster-password>ENC(-69b0f82ea52cd8ee)</cluster-password>`)
	if u := cfg.Acceptors[0].URL; u.Params["keyStorePassword"] != "bob" || cfg.ClusterPassword != "bob" || strings.Contains(u.String(), "bob") {
		t.Errorf("%v", u)
	}
}
