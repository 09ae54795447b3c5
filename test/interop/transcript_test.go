package interop

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := parse("case b: x=1\ncase a: y=: 2\ncase b: z=3\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"b", "a"}; !slices.Equal(got.cases, want) {
		t.Errorf("cases %q, want %q", got.cases, want)
	}
	if want := []string{"x=1", "z=3"}; !slices.Equal(got.facts["b"], want) {
		t.Errorf("facts of b %q, want %q", got.facts["b"], want)
	}
	if want := []string{"y=: 2"}; !slices.Equal(got.facts["a"], want) {
		t.Errorf("facts of a %q, want %q", got.facts["a"], want)
	}
	musts, err := parse("case a: must x=1\ncase a: y=2\ncase a: must z=3 (want 4)\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := musts.recorded(); got != "case a: y=2\n" {
		t.Errorf("recorded %q, want only the fact y", got)
	}
	if got := musts.broken("a"); !slices.Equal(got, []string{"must z=3 (want 4)"}) {
		t.Errorf("broken %q, want only z", got)
	}
	if _, err := parse("Exception in thread main"); err == nil {
		t.Error("a line that is no fact was accepted")
	}
}

func TestDiff(t *testing.T) {
	tests := []struct {
		name      string
		want, got []string
		diff      string
	}{
		{"equal", []string{"a", "b"}, []string{"a", "b"}, ""},
		{"changed", []string{"a", "b", "c"}, []string{"a", "x", "c"}, "  a\n- b\n+ x\n  c\n"},
		{"missing", []string{"a", "b"}, []string{"b"}, "- a\n  b\n"},
		{"additional", []string{"a"}, []string{"a", "b"}, "  a\n+ b\n"},
		{"none", []string{"a"}, nil, "- a\n"},
	}
	for _, test := range tests {
		if diff := diff(test.want, test.got); diff != test.diff {
			t.Errorf("%s: got\n%swant\n%s", test.name, diff, test.diff)
		}
	}
}
