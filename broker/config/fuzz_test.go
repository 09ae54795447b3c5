package config

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

func FuzzBroker(f *testing.F) {
	files, _ := filepath.Glob("testdata/invalid/*.broker.xml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, xml := range refusedXML {
		f.Add(coreXML(xml))
	}
	for _, xml := range acceptedXML {
		f.Add(coreXML(xml))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := ParseBroker("fuzz.xml", text, nil)
		if c == nil {
			t.Fatal("no Config")
		}
		if err != nil {
			return
		}
		// What was accepted can be used.
		if _, err := c.AddressSettingsFor("a.b"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SecuritySettingRepository(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzBytes(f *testing.F) {
	for _, s := range []string{"10M", "-1", "1.5M", "10 mib", "9223372036854775807", "8388608G"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseBytes(text)
		if err != nil {
			return
		}
		if again, err := ParseBytes(n.String()); err != nil || again != n {
			t.Fatalf("%q is %d, which reads as %d, %v", text, n, again, err)
		}
	})
}

func FuzzLogin(f *testing.F) {
	f.Add("a { b required k=v; };")
	f.Add("a { b.C sufficient k=\"v\\\"\" s='x'; }; /* c */ d {};")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLogin("fuzz", text, nil)
		if err == nil && len(l.Realms) > maxRealms {
			t.Fatal("too many realms")
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add("a=1\\\n  2\n#c\nb:\\u0041")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseProperties(text)
		if err != nil {
			return
		}
		c := blank()
		d := &decoder{report: &report{}, seen: map[string]position{}, unmask: func(s string) (string, error) { return s, nil }}
		a := &propertyApplier{decoder: d, c: c, lookup: noEnv}
		a.apply("fuzz", "fuzz", list)
	})
}

func FuzzProfile(f *testing.F) {
	f.Add("A='b'\nif [ -z \"$A\" ]; then B=\"${A} -Xmx1G\"; else C=d\nfi\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := ParseProfile("fuzz", text, noEnv)
		for name, value := range p.Vars {
			if len(value) > maxProfileWord+len(text) {
				t.Fatalf("%s is %d long", name, len(value))
			}
		}
	})
}

func FuzzTransportURL(f *testing.F) {
	f.Add("tcp://h:1?a=b;c=d")
	f.Add("(tcp://h:1,tcp://[::1]:2)?k=v#x")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseTransportURL(text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		_ = u.String()
	})
}
