package yamlfile

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sample is what the tests read.
type sample struct {
	Text, Path string
	Bool       bool
	Time       time.Duration
	Count      int
	Bytes      int64
	Texts      []string
	Inner      string
	Pairs      [][2]string
}

func (s *sample) fields() Fields {
	return Fields{
		"text": Text(&s.Text), "path": Path(&s.Path), "bool": Bool(&s.Bool), "time": Duration(&s.Time), "count": Count(&s.Count),
		"bytes": Bytes(&s.Bytes), "texts": Texts(&s.Texts), "in": Mapping(Fields{"inner": Text(&s.Inner)}),
		"pairs": List(func(i int) Value {
			s.Pairs = append(s.Pairs, [2]string{})
			return Mapping(Fields{"a": Text(&s.Pairs[i][0]), "b": Text(&s.Pairs[i][1])})
		}),
	}
}

func read(t *testing.T, text string) (sample, *Section, error) {
	t.Helper()
	f, err := Parse("f.yaml", "/i", []byte(text))
	if err != nil {
		return sample{}, nil, err
	}
	var s sample
	section, err := f.Section("s", s.fields())
	return s, section, err
}

func TestValues(t *testing.T) {
	got, section, err := read(t, `# a comment
other: {anything: goes}
s:
  text: 17
  path: etc/x
  bool: true
  time: 1.5s
  count: 3
  bytes: 2MiB
  texts: [a, "b c"]
  in: {inner: "*"}
  pairs:
    - {a: 1, b: 2}
    - a: 3
`)
	want := sample{"17", "/i/etc/x", true, 1500 * time.Millisecond, 3, 2 << 20, []string{"a", "b c"}, "*", [][2]string{{"1", "2"}, {"3", ""}}}
	if err != nil || section == nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "other: 1\n"} {
		if _, section, err := read(t, text); section != nil || err != nil {
			t.Errorf("%q: %v, %v", text, section, err)
		}
	}
	if got, _, err := read(t, "s: {path: /abs, texts: [], bytes: 1, path: ''}"); err == nil {
		t.Errorf("twice: %+v", got)
	}
	if got, _, err := read(t, "s: {path: /abs, texts: [], bytes: 1 GiB}"); err != nil || got.Path != "/abs" || got.Texts == nil || got.Bytes != 1<<30 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"s:\n  txt: a\n":                "f.yaml:2: s.txt: unknown key; there are bool, bytes, count, in, pairs, path, text, texts, time",
		"s:\n  in: {iner: x}\n":         "f.yaml:2: s.in.iner: unknown key; there are inner",
		"s:\n  pairs:\n  - {c: x}\n":    "f.yaml:3: s.pairs[0].c: unknown key; there are a, b",
		"s:\n  text: a\n  text: b\n":    "f.yaml:3: s.text: is there twice",
		"s: {}\ns: {}\n":                "f.yaml:2: s: is there twice",
		"s:\n  bool: maybe\n":           `f.yaml:2: s.bool: "maybe" is neither true nor false`,
		"s:\n  bool: yes\n":             `f.yaml:2: s.bool: "yes" is neither true nor false`,
		"s:\n  time: 400\n":             `f.yaml:2: s.time: "400" is not a time such as 400ms`,
		"s:\n  time: -1s\n":             `f.yaml:2: s.time: "-1s" is not a time`,
		"s:\n  count: 0\n":              `f.yaml:2: s.count: "0" is not a number from 1`,
		"s:\n  bytes: 8MB\n":            `f.yaml:2: s.bytes: "8MB" is not a size such as 4096 or 8MiB`,
		"s:\n  bytes: 1025GiB\n":        `f.yaml:2: s.bytes: "1025GiB" is not a size`,
		"s:\n  text: [a]\n":             "f.yaml:2: s.text: not a text",
		"s:\n  text:\n":                 "f.yaml:2: s.text: not a text",
		"s:\n  texts: a\n":              "f.yaml:2: s.texts: not a list",
		"s:\n  texts:\n  - a\n  - {}\n": "f.yaml:4: s.texts[1]: not a text",
		"s: 3\n":                        "f.yaml:1: s: not a mapping",
		"- s\n":                         "f.yaml:1: not a mapping of sections",
		"s: {\n":                        "f.yaml: yaml:",
		"x: &x a\ns:\n  text: *x\n":     "f.yaml:3: s.text: not a text",
		strings.Repeat("#", 1<<20+1):    "f.yaml: 1048577 bytes, more than 1048576",
	} {
		if _, _, err := read(t, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestOnly(t *testing.T) {
	f, err := Parse("f.yaml", "", []byte("a: 1\nb: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Only("a", "b", "c"); err != nil {
		t.Error(err)
	}
	if err := f.Only("a", "c"); err == nil || err.Error() != "f.yaml:2: b: unknown section; there are a, c" {
		t.Error(err)
	}
}

// What is found later has the line of its key, or of the nearest one around it that is there.
func TestLocate(t *testing.T) {
	_, s, err := read(t, "s:\n  text: x\n  in:\n    inner: y\n  pairs:\n    - a: 1\n")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("is wrong")
	for key, want := range map[string]string{
		"text":       "f.yaml:2: s.text: is wrong",
		"in.inner":   "f.yaml:4: s.in.inner: is wrong",
		"in.other":   "f.yaml:3: s.in.other: is wrong",
		"pairs[0].b": "f.yaml:6: s.pairs[0].b: is wrong",
		"pairs[7]":   "f.yaml:5: s.pairs[7]: is wrong",
		"absent":     "f.yaml:1: s.absent: is wrong",
	} {
		if got := s.Locate(Wrong(key, "%w", cause)); got.Error() != want || !errors.Is(got, cause) {
			t.Errorf("%s: got %v, want %s", key, got, want)
		}
	}
	if got := s.Locate(cause); got.Error() != "f.yaml:1: s: is wrong" {
		t.Error(got)
	}
	if s.Locate(nil) != nil {
		t.Error("an error out of nothing")
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("s: {text: a, pairs: [{a: 1}], in: {inner: x}}\n"))
	f.Add([]byte("s: &a [*a]\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := Parse("f.yaml", "/i", b); err == nil {
			_ = file.Only("s")
			var s sample
			_, _ = file.Section("s", s.fields())
		}
	})
}
