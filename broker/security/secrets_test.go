package security

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// goldenRows reads a file of tab-separated values.
func goldenRows(t testing.TB, name string, columns int) [][]string {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != columns {
			t.Fatalf("%s: %d columns in %q, want %d", name, len(row), line, columns)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestHashesOfArtemis(t *testing.T) {
	for _, row := range goldenRows(t, "hashes.tsv", 3) {
		for password, want := range map[string]bool{"admin": true, "Admin": false, "": false, row[2]: false} {
			got, err := verifyPassword(password, row[2], verifyHash)
			if err != nil || got != want {
				t.Errorf("%s, password %q: %v, %v, want %v", row[0], password, got, err, want)
			}
		}
	}
}

func TestHashPassword(t *testing.T) {
	stored, err := HashPassword("geheim")
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) != len("ENC(1024::)")+2*hashSaltLength+2*hashLength || strings.ToUpper(stored) != stored {
		t.Errorf("%q is not ENC(1024:64 digits:128 digits)", stored)
	}
	if ok, err := verifyPassword("geheim", stored, verifyHash); !ok || err != nil {
		t.Errorf("its own password: %v, %v", ok, err)
	}
	again, _ := HashPassword("geheim")
	if again == stored {
		t.Error("two hashes have the same salt")
	}
}

func TestVerifyPassword(t *testing.T) {
	for _, c := range []struct {
		stored, password string
		match, err       bool
	}{
		{"plain", "plain", true, false},
		{"plain", "Plain", false, false},
		{"", "", true, false},
		{"ENC(", "ENC(", true, false},
		{"ENC()", "", false, true},
		{"ENC(1024:AB)", "", false, true},
		{"ENC(0:AB:CD)", "", false, true},
		{"ENC(-5:AB:CD)", "", false, true},
		{"ENC(99999999999:AB:CD)", "", false, true},
		{"ENC(1:ZZ:CD)", "", false, true},
		{"ENC(1:AB:)", "", false, true},
		{"ENC(1:AB:" + strings.Repeat("00", maxHashLength+1) + ")", "", false, true},
	} {
		got, err := verifyPassword(c.password, c.stored, verifyHash)
		if got != c.match || (err != nil) != c.err {
			t.Errorf("%.40q with %q: %v, %v", c.stored, c.password, got, err)
		}
	}
}

func TestPasswordCodec(t *testing.T) {
	environment := func(name string) (string, bool) {
		return "k1", name == "ARTEMIS_DEFAULT_SENSITIVE_STRING_CODEC_KEY"
	}
	hash := strings.TrimSuffix(strings.TrimPrefix(goldenRows(t, "hashes.tsv", 3)[0][2], "ENC("), ")")
	const class = "org.apache.activemq.artemis.utils.DefaultSensitiveStringCodec"
	for _, c := range []struct{ codec, password, secret string }{
		{"", "admin", hash},
		{class + ";algorithm=one-way", "admin", hash},
		{class, "bob", "-59b163e9dc536f8c"},
		{class + ";key=clusterpassword", "bob", "-69b0f82ea52cd8ee"},
	} {
		verify, err := newVerifier(c.codec, environment)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := verify(c.password, c.secret); !ok || err != nil {
			t.Errorf("%q: %v, %v", c.codec, ok, err)
		}
		if ok, _ := verify(c.password+"x", c.secret); ok {
			t.Errorf("%q: another password matches", c.codec)
		}
	}
}

func TestDistinguishedNames(t *testing.T) {
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	for _, row := range goldenRows(t, "distinguished_names.tsv", 3) {
		der, err := hex.DecodeString(row[0])
		if err != nil {
			t.Fatal(err)
		}
		want := unescape.Replace(row[1])
		if got, err := formatName(der); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", row[0], got, err, want)
		}
		if strings.Contains(row[2], "#") || strings.Contains(row[2], `\n`) || row[2] == "" {
			continue // types and characters that the RFC 2253 form encodes
		}
		for _, spelling := range []string{want, unescape.Replace(row[2])} {
			if got := normalizeDN(spelling); got != want {
				t.Errorf("normalised %q: %q, want %q", spelling, got, want)
			}
		}
	}
	for _, text := range []string{"", "no name", `CN="open`, "=x", `CN="a"b`} {
		if got := normalizeDN(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, row := range goldenRows(f, "distinguished_names.tsv", 3) {
		der, _ := hex.DecodeString(row[0])
		f.Add(der, row[2])
	}
	f.Fuzz(func(t *testing.T, der []byte, text string) {
		formatName(der)
		normalized := normalizeDN(text)
		if levels, ok := splitDN(text); ok && normalized != strings.Join(levels, ", ") {
			t.Fatalf("%q: %q", text, normalized)
		}
	})
}
