package security

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The readings are those of java.util.Properties.
func TestParseProperties(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]string
	}{
		{"a=b", map[string]string{"a": "b"}},
		{"a = b\nc:d\ne f\ng\tx y ", map[string]string{"a": "b", "c": "d", "e": "f", "g": "x y "}},
		{"# c\n! d\n  # e\n\n\f\na=1", map[string]string{"a": "1"}},
		{"a=1\r\nb=2\rc=3\n", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"a=1 \\\n   2\\\r\n3", map[string]string{"a": "1 23"}},
		{"a=1\\\\\nb=2", map[string]string{"a": `1\`, "b": "2"}},
		{"a\\=b\\:c\\ d = \\u00e9\\t\\\\x\\y", map[string]string{"a=b:c d": "é\t\\xy"}},
		{"a=\\ud83d\\ude00", map[string]string{"a": "\U0001F600"}},
		{"a=\xe9", map[string]string{"a": "é"}},
		{"a==b\nc = = d", map[string]string{"a": "=b", "c": "= d"}},
		{"a=1\na=2", map[string]string{"a": "2"}},
		{"a", map[string]string{"a": ""}},
		{"=x", map[string]string{"": "x"}},
		{"a=b # no comment", map[string]string{"a": "b # no comment"}},
		{"\\\n# comment\na=b", map[string]string{"a": "b"}},
		{"a=b\\", map[string]string{"a": "b"}},
		{"\xfe\xff\x00a\x00=\x00b", map[string]string{"a": "b"}},
		{"\xff\xfea\x00=\x00\xac\x20", map[string]string{"a": "€"}},
		{"", map[string]string{}},
	} {
		p, err := ParseProperties([]byte(c.text))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got, _ := textValues(p); !maps.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	for _, text := range []string{`a=\u12`, `\uzzzz=1`} {
		if _, err := ParseProperties([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if _, err := ParseProperties(make([]byte, maxPropertiesSize+1)); err == nil {
		t.Error("a file beyond the bound is accepted")
	}
}

func TestEditKeepsTheRest(t *testing.T) {
	const before = "# users\n\nadmin = ENC(1:2:3)\n! more\nbob: x \\\n   y\ncarol c"
	p, err := ParseProperties([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.Bytes()); got != before+"\n" {
		t.Errorf("unchanged: %q", got)
	}
	p.Set("bob", "new")
	p.Set("dave d", " a=\\é")
	p.Delete("admin")
	const after = "# users\n\n! more\nbob = new\ncarol c\ndave\\ d = \\ a=\\\\\\u00E9\n"
	if got := string(p.Bytes()); got != after {
		t.Errorf("got %q, want %q", got, after)
	}
}

func TestSetReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, value := rapid.String().Draw(t, "key"), rapid.String().Draw(t, "value")
		var p Properties
		p.Set("other", "1")
		p.Set(key, value)
		again, err := ParseProperties(p.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := again.Get(key); got != value || !ok {
			t.Fatalf("%q: %q, %v, want %q, from %q", key, got, ok, value, p.Bytes())
		}
	})
}

func TestWriteSecretFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	if err := writeSecretFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	if string(data) != "new" || err != nil || info.Mode() != 0o600 {
		t.Errorf("%q, %v, mode %v", data, err, info.Mode())
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	if err := writeSecretFile(filepath.Join(dir, "no", "file"), nil); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}

func FuzzProperties(f *testing.F) {
	for _, seed := range []string{"a=b", "a = 1 \\\n 2\n# c\n! d\n", "\\u00e9:\\t\\\\", "\xfe\xff\x00a", "\\\n#\n\\\r\n", "a\\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProperties(data)
		if err != nil {
			return
		}
		want, _ := textValues(p)
		again, err := ParseProperties(p.Bytes())
		if err != nil {
			t.Fatalf("%q does not read back: %v", data, err)
		}
		if got, _ := textValues(again); !maps.Equal(got, want) {
			t.Fatalf("%q reads back as %q, want %q", data, got, want)
		}
		for _, key := range p.Keys() {
			p.Delete(key)
		}
		if rest := string(p.Bytes()); strings.Contains(rest, "=") && len(p.Keys()) > 0 {
			t.Fatalf("entries left in %q", rest)
		}
	})
}
