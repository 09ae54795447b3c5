package config

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of one XML document with everything it includes.
const (
	maxFileSize     = 16 << 20
	maxXMLDepth     = 64
	maxXMLNodes     = 500_000
	maxIncludeDepth = 8
	maxIncludes     = 256
)

const (
	coreNS     = "urn:activemq:core"
	rootNS     = "urn:activemq"
	jmsNS      = "urn:activemq:jms"
	schemaNS   = "http://activemq.apache.org/schema"
	xincludeNS = "http://www.w3.org/2001/XInclude"
	xmlNS      = "http://www.w3.org/XML/1998/namespace"
	xsiNS      = "http://www.w3.org/2001/XMLSchema-instance"
)

// node is an element of a parsed document.
type node struct {
	space, name string
	attrs       []xml.Attr
	children    []*node
	// text is all character data directly inside, unchanged.
	text string
	at   position
}

// attr returns an attribute without namespace.
func (n *node) attr(name string) (string, bool) {
	for _, a := range n.attrs {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// child returns the first child of that name, or nil.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// find returns the first element of that name, n itself included, in document
// order.
func (n *node) find(name string) *node {
	if n.name == name {
		return n
	}
	for _, c := range n.children {
		if f := c.find(name); f != nil {
			return f
		}
	}
	return nil
}

// decodeText makes UTF-8 of a file's bytes: a byte order mark tells UTF-16, what
// an XML declaration says is not looked at.
func decodeText(data []byte) (string, error) {
	var order func([]byte) uint16
	switch {
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		order = func(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) }
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		order = func(b []byte) uint16 { return uint16(b[1])<<8 | uint16(b[0]) }
	default:
		data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
		if !utf8.Valid(data) {
			return "", errors.New("the file is not UTF-8")
		}
		return string(data), nil
	}
	data = data[2:]
	if len(data)%2 != 0 {
		return "", errors.New("the file ends inside a UTF-16 character")
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order(data[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// parseXML reads a document into a tree. The error is an *Error.
func parseXML(file, text string) (*node, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	fail := func(line int, problem string) error {
		return &Error{file, line, "", problem, "correct the XML"}
	}
	var root *node
	var open []*node
	var data [][]byte
	nodes := 0
	for {
		line, _ := d.InputPos()
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				return nil, fail(syntax.Line, syntax.Msg)
			}
			return nil, fail(line, err.Error())
		}
		switch t := tok.(type) {
		case xml.Directive:
			return nil, fail(line, "a DOCTYPE or other declaration is not allowed")
		case xml.CharData:
			if len(open) > 0 {
				data[len(open)-1] = append(data[len(open)-1], t...)
			}
		case xml.StartElement:
			if nodes++; nodes > maxXMLNodes {
				return nil, fail(line, fmt.Sprintf("more than %d elements", maxXMLNodes))
			}
			if len(open) == maxXMLDepth {
				return nil, fail(line, fmt.Sprintf("elements are nested deeper than %d", maxXMLDepth))
			}
			n := &node{space: t.Name.Space, name: t.Name.Local, attrs: t.Attr, at: position{file, line}}
			for i, a := range n.attrs {
				for _, b := range n.attrs[:i] {
					if a.Name == b.Name {
						return nil, fail(line, fmt.Sprintf("attribute %s of <%s> is given twice", a.Name.Local, n.name))
					}
				}
			}
			switch {
			case len(open) > 0:
				parent := open[len(open)-1]
				parent.children = append(parent.children, n)
			case root != nil:
				return nil, fail(line, "there is a second root element")
			default:
				root = n
			}
			open = append(open, n)
			data = append(data, nil)
		case xml.EndElement:
			last := len(open) - 1
			open[last].text = string(data[last])
			open, data = open[:last], data[:last]
		}
	}
	if root == nil {
		return nil, fail(1, "there is no element in the file")
	}
	return root, nil
}

// mapText replaces the text and the attribute values of a tree.
func (n *node) mapText(f func(string) (string, error)) error {
	var err error
	if n.text, err = f(n.text); err != nil {
		return &Error{n.at.file, n.at.line, n.name, err.Error(), "correct the placeholders"}
	}
	for i := range n.attrs {
		if n.attrs[i].Value, err = f(n.attrs[i].Value); err != nil {
			return &Error{n.at.file, n.at.line, n.name + "/@" + n.attrs[i].Name.Local, err.Error(), "correct the placeholders"}
		}
	}
	for _, c := range n.children {
		if err := c.mapText(f); err != nil {
			return err
		}
	}
	return nil
}
