package xpath

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// A Document is an XML text. It keeps account of the work done on it, so it is used by one goroutine at a time.
type Document struct {
	nodes []node // in document order; an element is followed by its namespaces, its attributes, its content
	names []name
	work  int // units left
}

type kind uint8

const (
	rootNode kind = iota
	elementNode
	attributeNode
	textNode
	instructionNode
	namespaceNode
)

type node struct {
	kind           kind
	name           int32 // index
	parent         int32 // -1: none
	end            int32 // behind the last descendant
	first          int32 // child; 0: none
	next, previous int32 // sibling; 0: none
	text           string
}

type name struct{ prefix, local, space string }

func (n name) qualified() string {
	if n.prefix == "" {
		return n.local
	}
	return n.prefix + ":" + n.local
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace"

// declaration is the XML declaration of a text.
var declaration = regexp.MustCompile(`^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*("1\.[01]"|'1\.[01]')([ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*("[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*'))?([ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*("yes"|"no"|'yes'|'no'))?[ \t\r\n]*\?>`)

// reader makes the nodes of a document.
type reader struct {
	*Document
	index      map[name]int32
	open       int32           // innermost open element
	last       []int32         // last child so far, of each open element
	bindings   []binding       // of the open elements, the innermost last
	bound      []int           // number of bindings outside each open element
	tags       []xml.Name      // of the open elements
	namespaces bool            // namespace nodes are wanted
	text       strings.Builder // pending
}

type binding struct{ prefix, space string }

// Parse reads a document. namespaces tells that the namespace axis will be asked for.
func Parse(text string, namespaces bool) (*Document, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("XML text of %d bytes, more than %d", len(text), MaxText)
	}
	text = text[len(declaration.FindString(text)):]
	r := &reader{Document: &Document{work: MaxWork}, index: make(map[name]int32), namespaces: namespaces, last: []int32{0},
		bindings: []binding{{"xml", xmlNamespace}}}
	r.intern(name{}) // of what has no name
	r.nodes = append(make([]node, 0, strings.Count(text, "<")*2+1), node{parent: -1})
	d := xml.NewDecoder(strings.NewReader(text))
	doctype := false
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := r.start(t); err != nil {
				return nil, err
			}
		case xml.EndElement:
			if len(r.tags) == 0 || r.tags[len(r.tags)-1] != t.Name {
				return nil, errors.New("an end tag has no start")
			}
			r.close()
		case xml.CharData:
			if len(r.tags) > 0 {
				r.text.Write(t)
			} else if strings.Trim(string(t), " \t\r\n") != "" {
				return nil, errors.New("text outside of the document element")
			}
		case xml.ProcInst:
			if strings.EqualFold(t.Target, "xml") || strings.Contains(t.Target, ":") {
				return nil, errors.New("a processing instruction with a reserved name")
			}
			r.flush()
			r.child(node{kind: instructionNode, name: r.intern(name{local: t.Target}), text: strings.TrimLeft(string(t.Inst), " \t\r\n")})
		case xml.Directive:
			if doctype || r.nodes[0].first != 0 && r.hasElement() || !strings.HasPrefix(string(t), "DOCTYPE") {
				return nil, errors.New("a directive where none may be")
			}
			doctype = true
		}
		if len(r.nodes) > MaxNodes {
			return nil, fmt.Errorf("more than %d nodes", MaxNodes)
		}
	}
	if len(r.tags) > 0 || !r.hasElement() {
		return nil, errors.New("the document element is not complete")
	}
	r.nodes[0].end = int32(len(r.nodes))
	return r.Document, nil
}

// hasElement tells whether the document element has begun.
func (r *reader) hasElement() bool {
	for i := r.nodes[0].first; i != 0; i = r.nodes[i].next {
		if r.nodes[i].kind == elementNode {
			return true
		}
	}
	return false
}

func (r *reader) intern(n name) int32 {
	i, ok := r.index[n]
	if !ok {
		i = int32(len(r.names))
		r.index[n] = i
		r.names = append(r.names, n)
	}
	return i
}

// child appends a child of the open element.
func (r *reader) child(n node) int32 {
	at := int32(len(r.nodes))
	n.parent, n.end = r.open, at+1
	before := &r.last[len(r.last)-1]
	if n.previous = *before; *before != 0 {
		r.nodes[*before].next = at
	} else {
		r.nodes[r.open].first = at
	}
	*before = at
	r.nodes = append(r.nodes, n)
	return at
}

// flush makes a node of the pending text.
func (r *reader) flush() {
	if r.text.Len() > 0 {
		r.child(node{kind: textNode, text: r.text.String()})
		r.text.Reset()
	}
}

func (r *reader) start(t xml.StartElement) error {
	if len(r.tags) == 0 && r.hasElement() {
		return errors.New("more than one document element")
	}
	if len(r.tags) == MaxDepth {
		return fmt.Errorf("more than %d nested elements", MaxDepth)
	}
	if len(t.Attr) > MaxAttributes {
		return fmt.Errorf("more than %d attributes", MaxAttributes)
	}
	r.flush()
	r.bound = append(r.bound, len(r.bindings))
	for _, a := range t.Attr {
		if err := r.bind(a); err != nil {
			return err
		}
	}
	tag, err := r.resolve(t.Name, true)
	if err != nil {
		return err
	}
	at := r.child(node{kind: elementNode, name: tag})
	r.open, r.last, r.tags = at, append(r.last, 0), append(r.tags, t.Name)
	if r.namespaces {
		r.inScope(at)
	}
	var seen map[[2]string]bool
	if len(t.Attr) > 1 {
		seen = make(map[[2]string]bool, len(t.Attr))
	}
	for _, a := range t.Attr {
		id := [2]string{a.Name.Space, a.Name.Local}
		if isDeclaration(a.Name) {
			id[0] = "xmlns of " + id[0]
		} else {
			n, err := r.resolve(a.Name, false)
			if err != nil {
				return err
			}
			id[0] = r.names[n].space
			r.nodes = append(r.nodes, node{kind: attributeNode, name: n, parent: at, end: int32(len(r.nodes)) + 1, text: blanks.Replace(a.Value)})
		}
		if seen != nil {
			if seen[id] {
				return errors.New("an attribute stands twice in a tag")
			}
			seen[id] = true
		}
	}
	return nil
}

// blanks are what a blank in the value of an attribute may be written as.
var blanks = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")

func isDeclaration(n xml.Name) bool {
	return n.Space == "xmlns" || n.Space == "" && n.Local == "xmlns"
}

// bind keeps a namespace declaration.
func (r *reader) bind(a xml.Attr) error {
	if !isDeclaration(a.Name) {
		return nil
	}
	b := binding{space: a.Value}
	if a.Name.Space != "" {
		b.prefix = a.Name.Local
	}
	if b.prefix == "xmlns" || b.prefix != "" && b.space == "" || (b.prefix == "xml") != (b.space == xmlNamespace) || b.space == "http://www.w3.org/2000/xmlns/" {
		return errors.New("a namespace that can't be bound to this prefix")
	}
	r.bindings = append(r.bindings, b)
	return nil
}

// resolve finds the namespace of a name. The default namespace is for elements only.
func (r *reader) resolve(n xml.Name, element bool) (int32, error) {
	if n.Local == "" || strings.Contains(n.Local, ":") {
		return 0, errors.New("not a name")
	}
	if n.Space == "" && !element {
		return r.intern(name{local: n.Local}), nil
	}
	for i := len(r.bindings) - 1; i >= 0; i-- {
		if r.bindings[i].prefix == n.Space {
			return r.intern(name{n.Space, n.Local, r.bindings[i].space}), nil
		}
	}
	if n.Space != "" {
		return 0, errors.New("a prefix is not bound")
	}
	return r.intern(name{local: n.Local}), nil
}

// inScope appends the namespace nodes of an element.
func (r *reader) inScope(at int32) {
	seen := make(map[string]bool)
	for i := len(r.bindings) - 1; i >= 0 && len(r.nodes) <= MaxNodes; i-- {
		b := r.bindings[i]
		if seen[b.prefix] {
			continue
		}
		seen[b.prefix] = true
		if b.space != "" {
			r.nodes = append(r.nodes, node{kind: namespaceNode, name: r.intern(name{local: b.prefix}), parent: at, end: int32(len(r.nodes)) + 1, text: b.space})
		}
	}
}

// close ends the open element.
func (r *reader) close() {
	r.flush()
	n := &r.nodes[r.open]
	n.end = int32(len(r.nodes))
	r.open = n.parent
	depth := len(r.tags) - 1
	r.bindings = r.bindings[:r.bound[depth]]
	r.tags, r.last, r.bound = r.tags[:depth], r.last[:depth+1], r.bound[:depth]
}
