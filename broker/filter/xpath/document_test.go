package xpath

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
	for _, c := range []struct {
		text, reason string // "": well-formed
	}{
		{"<a/>", ""}, {"  <a>\n</a> ", ""}, {"<a b='1' c=\"2\"/>", ""}, {"<?p q?><!-- c --><a/><!-- c --><?p?>", ""},
		{`<?xml version="1.0" encoding="x-none" standalone='yes'?><a/>`, ""}, {`<?xml version='1.1'?><a/>`, ""},
		{"<!DOCTYPE a><a/>", ""}, {`<!DOCTYPE a SYSTEM "file:///etc/passwd" [<!ENTITY b "c">]><a/>`, ""},
		{"<a xmlns='u' xmlns:p='v'><p:b p:c='' c=''/></a>", ""}, {"<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;</a>", ""},
		{nested(MaxDepth), ""}, {"<a>" + strings.Repeat(" ", MaxText-7) + "</a>", ""},

		{"", "not complete"}, {" ", "not complete"}, {"text", "outside"}, {"<a>", "not complete"}, {"<a></b>", "no start"}, {"</a>", "no start"},
		{"<a/><b/>", "more than one"}, {"<a/>x", "outside"}, {"\uFEFF<a/>", "outside"}, {"&amp;<a/>", "outside"},
		{"<a b='1' b='2'/>", "twice"}, {"<a xmlns:p='u' xmlns:q='u' p:b='' q:b=''/>", "twice"}, {"<a xmlns='u' xmlns='v'/>", "twice"},
		{"<p:a/>", "not bound"}, {"<a p:b=''/>", "not bound"}, {"<a><b xmlns:p='u'/><p:c/></a>", "not bound"},
		{"<a xmlns:p=''/>", "can't be bound"}, {"<a xmlns:xmlns='u'/>", "can't be bound"}, {"<a xmlns:xml='u'/>", "can't be bound"},
		{"<a:b:c xmlns:a='u'/>", ""}, // an error of the decoder, see below
		{"<a>&nosuch;</a>", "entity"}, {"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "entity"}, {"<a/><!DOCTYPE a>", "directive"},
		{"<!DOCTYPE a><!DOCTYPE a><a/>", "directive"}, {"<a><!DOCTYPE a></a>", "directive"}, {"<!ELEMENT a><a/>", "directive"},
		{" <?xml version='1.0'?><a/>", "reserved"}, {"<?xml version='2.0'?><a/>", "unsupported"}, {"<a><?XML p?></a>", "reserved"},
		{"<a b=c/>", "unquoted"}, {"<a b/>", "attribute"}, {"<a>\x00</a>", "illegal"}, {"<a>\xff</a>", "UTF-8"}, {"<a b='<'/>", "unescaped"}, {"<a>]]></a>", "]]>"},
		{nested(MaxDepth + 1), "nested"}, {"<a" + strings.Repeat(" b=''", MaxAttributes+1) + "/>", "attributes"}, {"<a>" + strings.Repeat(" ", MaxText-6) + "</a>", "bytes"},
	} {
		_, err := Parse(c.text, true)
		if strings.HasPrefix(c.text, "<a:b:c") {
			if err == nil {
				t.Errorf("%s was accepted", c.text)
			}
			continue
		}
		if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%.80q: %v, want %q", c.text, err, c.reason)
		}
	}
}

// An element of many that declares nothing has all namespaces of those around it: their nodes are bounded, too.
func TestNamespaceNodesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("<a")
	for i := range 900 {
		b.WriteString(" xmlns:p")
		b.WriteString(strings.Repeat("x", i%40))
		b.WriteByte(byte('a' + i%26))
		b.WriteByte(byte('a' + i/26%26))
		b.WriteByte(byte('a' + i/676))
		b.WriteString("='u'")
	}
	b.WriteString(">" + strings.Repeat("<b/>", 30000) + "</a>")
	if _, err := Parse(b.String(), true); err == nil || !strings.Contains(err.Error(), "nodes") {
		t.Errorf("with namespaces: %v", err)
	}
	if _, err := Parse(b.String(), false); err != nil {
		t.Errorf("without: %v", err)
	}
}
