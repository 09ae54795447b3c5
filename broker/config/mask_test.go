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

// Masked by the codec of Artemis 2.40.0, with bytes lost at the start of the
// ciphertext. Of the negative ones it decodes none itself: the short ones fail,
// the long ones become another password.
func TestMaskWithLostBytes(t *testing.T) {
	const long = "a longer key, of 30 characters"
	for _, x := range []struct{ key, plain, masked string }{
		{"", "", "22fa49a8d8fa115d"},
		{"k1", "U", "-685b11f41ac868a2"},
		{"k1", "oGo3Em2", "164519d55eac39"}, // 00 lost
		{"", "<Q%3z!I$5gBT`I*>p|", "5048f510eefc4d40bf2818de2de5718f946f4cc7ba85df"},
		{long, "E\"'[;;,BG|", "7a686e73f04e589b1205a0e0ba782"},
		{"k1", "(-AcNw~", "69976733724a"},                                              // 00 00 lost
		{long, "z", "-21ef87a3a297e3"},                                                 // FF lost, one block
		{"", "@<{ij'H", "-404da6d56f96c"},                                              //
		{"k1", "^mH`", "-5f187124ae23"},                                                // FF FF lost
		{"k1", `~K3Gjsh"BW@"W45c%`, "-407266d85696a016cb1f952a6d588baba15d97926b82fa"}, // FF lost, more blocks
		{long, "o8P;t.Yc8c", "-28f30eb3aab2a1b519b0a7e26a0161"},
		{"", "WG7)n]E~Lo1p[ALbOo", "-a249600af59666ff60fc1df3d4f7b3040503b74b4ac"}, // FF FF lost
	} {
		codec := ""
		if x.key != "" {
			codec = ";key=" + x.key
		}
		c, err := NewCodec(codec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Decode(x.masked); err != nil || got != x.plain {
			t.Errorf("Decode(%q) = %q, %v, want %q", x.masked, got, err, x.plain)
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
