package config

import (
	"reflect"
	"testing"
)

func TestParseTransportURL(t *testing.T) {
	none := map[string]string{}
	for text, want := range map[string]TransportURL{
		"tcp://h:61616":               {Scheme: "tcp", Host: "h", Port: 61616, Params: none},
		" tcp://h:1?a=1;b=x%20y+z&c ": {Scheme: "tcp", Host: "h", Port: 1, Params: map[string]string{"a": "1", "b": "x y z", "c": ""}},
		"tcp://[::1]:5":               {Scheme: "tcp", Host: "::1", Port: 5, Params: none},
		"tcp://[::1]":                 {Scheme: "tcp", Host: "::1", Params: none},
		"tcp://h":                     {Scheme: "tcp", Host: "h", Params: none},
		"vm://0?x=1":                  {Scheme: "vm", Host: "0", Params: map[string]string{"x": "1"}},
		"tcp://a:1,tcp://b:2?k=v": {Scheme: "tcp", Host: "a", Port: 1, Params: map[string]string{"k": "v"},
			Further: []TransportURL{{Scheme: "tcp", Host: "b", Port: 2, Params: map[string]string{"k": "v"}}}},
		"(tcp://a:1?k=own,tcp://b:2)?k=v": {Scheme: "tcp", Host: "a", Port: 1, Params: map[string]string{"k": "own"},
			Further: []TransportURL{{Scheme: "tcp", Host: "b", Port: 2, Params: map[string]string{"k": "v"}}}},
		"tcp://a:1?k=v#tcp://b:2?m=n": {Scheme: "tcp", Host: "a", Port: 1, Params: map[string]string{"k": "v"},
			Further: []TransportURL{{Scheme: "tcp", Host: "b", Port: 2, Params: map[string]string{"k": "v", "m": "n"}}}},
		"tcp://h:1?protocols=CORE,AMQP": {Scheme: "tcp", Host: "h", Port: 1, Params: map[string]string{"protocols": "CORE,AMQP"}},
	} {
		if got, err := ParseTransportURL(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "h:1", "tcp://h:x", "tcp://h:65536", "tcp://::1:5", "(tcp://h:1", "(tcp://h:1)x", "tcp://h:1?a=%zz"} {
		if got, err := ParseTransportURL(text); err == nil {
			t.Errorf("%q was accepted: %+v", text, got)
		}
	}
	u, _ := ParseTransportURL("tcp://h:1?b=TRUE;n=7;bad=x;l=a, b,,c;keyStorePassword=secret")
	if !u.Bool("b", false) || u.Bool("none", false) || !u.Bool("none", true) || u.Bool("n", true) || u.Int("n", 1) != 7 || u.Int("bad", 3) != 3 || u.Int("none", 4) != 4 || u.Text("none", "d") != "d" || !reflect.DeepEqual(u.List("l"), []string{"a", "b", "c"}) {
		t.Errorf("%+v", u)
	}
	if got := u.String(); got != "tcp://h:1?b=TRUE;bad=x;keyStorePassword=****;l=a%2C+b%2C%2Cc;n=7" {
		t.Error(got)
	}
}
