package config

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// spec says what an element may contain and where that goes. It is built once
// from the struct tags of the type that holds the element.
type spec struct {
	// children and attrs by name; text is where the element's own text goes.
	children map[string]*spec
	attrs    map[string]*spec
	text     *fieldSpec
	// field is set when the element (or attribute) itself is a field of the
	// struct that holds it; nil for a pure container like <acceptors>.
	field *fieldSpec
	// current is the present name when this is an old one.
	current string
	// required lists children and attributes that must be there.
	required []string
}

// fieldSpec is one tagged field.
type fieldSpec struct {
	index  []int
	typ    reflect.Type
	check  string
	unit   time.Duration
	secret bool
	// keyAttr and valueAttr are set for map fields made of elements.
	keyAttr, valueAttr string
	// path is the element's path below the struct, for messages and the table.
	path string
}

// many tells whether the element may be repeated.
func (f *fieldSpec) many() bool {
	return f != nil && (f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map)
}

// xmlForm is implemented by (pointers to) types whose element doesn't map to
// their fields one to one.
type xmlForm interface {
	// form returns a pointer to a struct with tags to decode into.
	form() any
	// take fills the type from the decoded struct.
	take(form any, d *decoder, n *node)
}

// defaulter is implemented by types with defaults other than zero.
type defaulter interface{ defaults() }

// decodedHook is implemented by types that look at their element once more.
type decodedHook interface{ decoded(n *node) }

var (
	formType     = reflect.TypeFor[xmlForm]()
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[Bytes]()
	specs        sync.Map // reflect.Type → *spec; only ever a cache
)

// specOf returns the spec of a struct type.
func specOf(t reflect.Type) *spec {
	if s, ok := specs.Load(t); ok {
		return s.(*spec)
	}
	s := &spec{}
	shape := t
	if reflect.PointerTo(t).Implements(formType) {
		shape = reflect.TypeOf(reflect.New(t).Interface().(xmlForm).form()).Elem()
	}
	s.addFields(shape, nil)
	actual, _ := specs.LoadOrStore(t, s)
	return actual.(*spec)
}

func (s *spec) addFields(t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		tag, ok := sf.Tag.Lookup("cfg")
		if !ok {
			if sf.Type.Kind() == reflect.Struct {
				s.addFields(sf.Type, at)
			}
			continue
		}
		tag, required := strings.CutSuffix(tag, ",required")
		f := &fieldSpec{index: at, typ: sf.Type, check: sf.Tag.Get("check"), unit: units[sf.Tag.Get("unit")], secret: sf.Tag.Get("secret") == "true"}
		names := strings.Split(tag, "|")
		for i, name := range names {
			g := *f
			if open := strings.IndexByte(name, '{'); open >= 0 {
				g.keyAttr, g.valueAttr, _ = strings.Cut(strings.TrimSuffix(name[open+1:], "}"), ",")
				name = name[:open]
			}
			g.path = name
			current := ""
			if i > 0 && g.keyAttr == "" {
				current = names[0]
			}
			s.add(strings.Split(name, "/"), &g, current, required && i == 0)
		}
	}
}

func (s *spec) add(path []string, f *fieldSpec, current string, required bool) {
	name := path[0]
	if name == "." {
		s.text = f
		return
	}
	if required {
		s.required = append(s.required, name)
	}
	if attr, ok := strings.CutPrefix(name, "@"); ok {
		if s.attrs == nil {
			s.attrs = map[string]*spec{}
		}
		s.attrs[attr] = &spec{field: f, current: current}
		return
	}
	if s.children == nil {
		s.children = map[string]*spec{}
	}
	c := s.children[name]
	if c == nil {
		c = &spec{}
		s.children[name] = c
	}
	if len(path) > 1 {
		c.add(path[1:], f, current, required)
		return
	}
	if c.field != nil {
		panic(fmt.Sprintf("config: two fields for element %s", name))
	}
	c.field, c.current = f, current
}
