package message

import (
	"bytes"
	"compress/zlib"
	"strings"
	"testing"
)

// Which bodies are text is what getStringBody of Artemis' messages says.
func TestStringBody(t *testing.T) {
	core := func(kind Type, body []byte) *Message {
		b := New("a", kind)
		b.Body = body
		m, err := ParseCore(b.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	compressed := func(body []byte) *Message {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		edit := New("a", Text)
		edit.Body = b.Bytes()
		edit.Set("_AMQ_LARGE_COMPRESSED", true)
		m, err := ParseCore(edit.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	amqp := func(sections string) *Message {
		return fromAMQP(t, new(Pool), amqpRecord(persisterAMQP, sections, "", 0))
	}
	long := strings.Repeat("é", 100)
	for name, c := range map[string]struct {
		m     *Message
		limit int
		want  string
		ok    bool
	}{
		"text":                 {core(Text, AppendText(nil, "<a/>")), 100, "<a/>", true},
		"empty text":           {core(Text, AppendText(nil, "")), 100, "", true},
		"null":                 {core(Text, []byte{0}), 100, "", false},
		"cut":                  {core(Text, AppendText(nil, "<a/>")[:6]), 100, "", false},
		"no body":              {core(Text, nil), 100, "", false},
		"bytes":                {core(Bytes, AppendText(nil, "<a/>")), 100, "", false},
		"default":              {core(Default, AppendText(nil, "<a/>")), 100, "", false},
		"long":                 {core(Text, AppendText(nil, long)), 200, long, true},
		"too long":             {core(Text, AppendText(nil, long)), 80, "", false},
		"compressed":           {compressed(AppendText(nil, long)), 200, long, true},
		"compressed, too long": {compressed(AppendText(nil, long)), 80, "", false},
		"compressed bomb":      {compressed(make([]byte, 10<<20)), 200, "", false},
		"AMQP string":          {amqp("005377" + str("<a/>")), 100, "<a/>", true},
		"AMQP too long":        {amqp("005377" + str("<a/>")), 3, "", false},
		"AMQP symbol":          {amqp("005377" + symbol("<a/>")), 100, "", false},
		"AMQP null":            {amqp("00537740"), 100, "", false},
		"AMQP data":            {amqp("005375a0043c612f3e"), 100, "", false},
		"AMQP bodyless":        {amqp(header()), 100, "", false},
		"AMQP malformed":       {amqp("005377a1093c"), 100, "", false},
	} {
		got, ok := c.m.StringBody(c.limit)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %.20q, %t, want %.20q, %t", name, got, ok, c.want, c.ok)
		}
	}
}
