package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseLogin(t *testing.T) {
	const text = `/* two
 lines */
activemq {
   // comment
   a.b.PropertiesLoginModule required debug=true
       org.apache.activemq.jaas.properties.user="users ${env}.properties" // trailing
       reload=true;
   a.b.Guest SUFFICIENT
       q="a\"b\\c" s='x;y' e="";
};
"other realm" { c.D optional; };
empty { };
`
	lookup := func(name string) (string, bool) { return "x", name == "env" }
	l, err := ParseLogin("login.config", text, lookup)
	if err != nil {
		t.Fatal(err)
	}
	want := []Realm{
		{"activemq", []LoginModule{
			{"", "a.b.PropertiesLoginModule", Required, map[string]string{"debug": "true", "org.apache.activemq.jaas.properties.user": "users x.properties", "reload": "true"}},
			{"", "a.b.Guest", Sufficient, map[string]string{"q": `a"b\c`, "s": "x;y", "e": ""}},
		}},
		{"other realm", []LoginModule{{"", "c.D", Optional, map[string]string{}}}},
		{"empty", nil},
	}
	if !reflect.DeepEqual(l.Realms, want) {
		t.Errorf("%+v", l.Realms)
	}
	if l.Realm("nope") != nil || l.Realm("empty") == nil {
		t.Error("Realm")
	}
}

func TestParseLoginFaults(t *testing.T) {
	for _, x := range []struct {
		text string
		line int
		want string
	}{
		{"a {\n b sometimes;\n};", 2, "required"},
		{"a {\n b required k;\n};", 2, "="},
		{"a {\n b required k=;\n};", 2, "value of k"},
		{"a {\n b required\n};", 3, "an option"},
		{"a {\n b required;\n}", 3, ";"},
		{"a {\n b required k=\"x\n;};", 2, "quoted"},
		{"a { /* ", 1, "comment"},
		{"a {};\na {};", 2, "twice"},
		{"{};", 1, "name of a realm"},
		{"a", 1, "{"},
	} {
		_, err := ParseLogin("login.config", x.text, nil)
		e, _ := err.(*Error)
		if e == nil || e.Line != x.line || !strings.Contains(e.Problem, x.want) {
			t.Errorf("%q: %v, want line %d and %q", x.text, err, x.line, x.want)
		}
	}
}
