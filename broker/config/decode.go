package config

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

// decoder turns the tree of a core element into a Config.
type decoder struct {
	*report
	// unmask decodes the text of a secret field.
	unmask func(text string) (string, error)
	// seen holds where each element path was first written, for the element table.
	seen map[string]position
	// space is the namespace all elements must have.
	space string
	// origin is the file of the root element.
	origin string
	// lenient turns structural faults into warnings.
	lenient bool
}

// structural reports that the shape of the file is wrong while its values could
// still be read.
func (d *decoder) structural(at position, element, problem, remedy string) {
	if d.lenient {
		d.warn(Odd, at, element, problem, remedy)
		return
	}
	d.fail(at, element, problem, remedy)
}

// decode fills the struct v from n. path is n's path, empty for the root.
func (d *decoder) decode(n *node, v reflect.Value, path string) {
	form, isForm := v.Addr().Interface().(xmlForm)
	target := v
	var shape any
	if isForm {
		shape = form.form()
		target = reflect.ValueOf(shape).Elem()
	}
	d.inside(n, specOf(v.Type()), target, path)
	if isForm {
		form.take(shape, d, n)
	}
	if hook, ok := v.Addr().Interface().(decodedHook); ok {
		hook.decoded(n)
	}
}

// inside handles what is inside element n, whose content goes to fields of v.
func (d *decoder) inside(n *node, s *spec, v reflect.Value, path string) {
	for _, a := range n.attrs {
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || a.Name.Space == xmlNS || a.Name.Space == xsiNS {
			continue
		}
		as := s.attrs[a.Name.Local]
		at := join(path, "@"+a.Name.Local)
		if as == nil || a.Name.Space != "" {
			d.structural(n.at, at, "there is no such attribute", "remove it; known are: "+names(s.attrs))
			continue
		}
		d.note(at, n.at)
		d.set(fieldOf(v, as.field), as.field, a.Value, n.at, at)
	}
	count := map[string]int{}
	for _, c := range n.children {
		at := join(path, c.name)
		cs := s.children[c.name]
		if cs == nil {
			d.structural(c.at, at, "there is no such element", unknownRemedy(s))
			continue
		}
		if c.space != d.space {
			d.fail(c.at, at, fmt.Sprintf("the element is in namespace %q, not %q", c.space, d.space), fmt.Sprintf("put it below an element with xmlns=%q", d.space))
			continue
		}
		if count[c.name]++; count[c.name] > 1 && !cs.field.many() {
			d.structural(c.at, at, "the element is there twice", "keep one of them")
			continue
		}
		d.note(at, c.at)
		if cs.current != "" {
			d.warn(Deprecated, c.at, at, "is an old name", "write "+cs.current)
		}
		if cs.field == nil {
			d.inside(c, cs, v, at)
			continue
		}
		d.element(c, cs, v, at)
	}
	for _, name := range s.required {
		attr, isAttr := strings.CutPrefix(name, "@")
		if isAttr {
			if _, ok := n.attr(attr); !ok {
				d.fail(n.at, path, "attribute "+attr+" is missing", "add it")
			}
		} else if count[name] == 0 && !d.hasOldName(s, count, name) {
			d.fail(n.at, path, "element "+name+" is missing", "add it")
		}
	}
	if s.text != nil {
		d.set(fieldOf(v, s.text), s.text, n.text, n.at, path)
	} else if text := strings.TrimSpace(n.text); text != "" {
		d.structural(n.at, path, fmt.Sprintf("text %q is not allowed here", short(text)), "remove it")
	}
}

func (d *decoder) hasOldName(s *spec, count map[string]int, name string) bool {
	for old, c := range s.children {
		if c.current == name && count[old] > 0 {
			return true
		}
	}
	return false
}

// element handles a child that is a field.
func (d *decoder) element(c *node, cs *spec, v reflect.Value, path string) {
	f := cs.field
	fv := fieldOf(v, f)
	switch f.typ.Kind() {
	case reflect.Struct:
		d.decode(c, fv, path)
	case reflect.Pointer:
		if f.typ.Elem().Kind() == reflect.Struct {
			fv.Set(newWithDefaults(f.typ.Elem()))
			d.decode(c, fv.Elem(), path)
			return
		}
		d.leaf(c, cs, fv, path)
	case reflect.Slice:
		item := newWithDefaults(f.typ.Elem())
		if f.typ.Elem().Kind() == reflect.Struct {
			d.decode(c, item.Elem(), path)
		} else {
			d.leaf(c, cs, item.Elem(), path)
		}
		fv.Set(reflect.Append(fv, item.Elem()))
	case reflect.Map:
		key, okKey := c.attr(f.keyAttr)
		value, okValue := c.attr(f.valueAttr)
		if !okKey || !okValue {
			d.fail(c.at, path, fmt.Sprintf("attributes %s and %s are needed", f.keyAttr, f.valueAttr), "add them")
			return
		}
		if fv.IsNil() {
			fv.Set(reflect.MakeMap(f.typ))
		}
		fv.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(value))
	default:
		d.leaf(c, cs, fv, path)
	}
}

// leaf handles an element with text only.
func (d *decoder) leaf(c *node, cs *spec, fv reflect.Value, path string) {
	for _, g := range c.children {
		d.structural(g.at, join(path, g.name), "there is no such element", "write plain text here")
	}
	for _, a := range c.attrs {
		if a.Name.Space == "" && a.Name.Local != "xmlns" && cs.attrs[a.Name.Local] == nil {
			d.structural(c.at, join(path, "@"+a.Name.Local), "there is no such attribute", "remove it")
		}
	}
	d.set(fv, cs.field, c.text, c.at, path)
}

// set parses text into a field.
func (d *decoder) set(fv reflect.Value, f *fieldSpec, text string, at position, path string) {
	trimmed := strings.TrimSpace(text)
	if fv.Kind() == reflect.Slice { // a comma list in an attribute
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				fv.Set(reflect.Append(fv, reflect.ValueOf(item)))
			}
		}
		return
	}
	if f.secret {
		plain, err := d.unmask(trimmed)
		if err != nil {
			d.fail(at, path, err.Error(), "mask it again with the mask command, or write it plainly")
			return
		}
		trimmed, text = plain, plain
	}
	if trimmed == "1" && elemType(fv.Type()).Kind() == reflect.Bool {
		d.warn(Odd, at, path, "1 is read as false, as Artemis does", "write true or false")
	}
	if err := setScalar(fv, f, text); err != nil {
		d.fail(at, path, err.Error(), "correct the value")
	}
}

// setScalar parses text into a field that is no list, map or struct.
func setScalar(fv reflect.Value, f *fieldSpec, text string) error {
	value, err := parseValue(elemType(fv.Type()), f, text)
	if err == nil {
		assign(fv, value)
	}
	return err
}

// parseValue reads a scalar. Strings are trimmed.
func parseValue(t reflect.Type, f *fieldSpec, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	switch {
	case t.Kind() == reflect.Bool:
		b, err := parseBool(text)
		if err != nil {
			return v, err
		}
		v.SetBool(b)
	case t == bytesType:
		n, err := ParseBytes(text)
		if err != nil {
			return v, err
		}
		if err := checkNumber(f.check, int64(n)); err != nil {
			return v, err
		}
		v.SetInt(int64(n))
	case t == durationType:
		n, err := parseInt(text, 64)
		if err != nil {
			return v, err
		}
		if err := checkNumber(f.check, n); err != nil {
			return v, err
		}
		v.SetInt(int64(scaled(n, max(f.unit, time.Nanosecond))))
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		bits := 64
		if t.Kind() == reflect.Int {
			bits = 32
		}
		n, err := parseInt(text, bits)
		if err != nil {
			return v, err
		}
		if err := checkNumber(f.check, n); err != nil {
			return v, err
		}
		v.SetInt(n)
	case t.Kind() == reflect.Float64:
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || n != n {
			return v, fmt.Errorf("%q is not a number", text)
		}
		if f.check == ">0" && n <= 0 {
			return v, fmt.Errorf("must be greater than 0 (actual value: %v)", n)
		}
		if f.check == "0..1" && (n < 0 || n > 1) {
			return v, fmt.Errorf("must be between 0 and 1 (actual value: %v)", n)
		}
		v.SetFloat(n)
	case t.Kind() == reflect.String:
		s := strings.TrimSpace(text)
		if e, ok := v.Interface().(enum); ok && !contains(e.values(), s) {
			return v, fmt.Errorf("%q is not one of %s", s, strings.Join(e.values(), ", "))
		}
		if err := checkString(f.check, s); err != nil {
			return v, err
		}
		v.SetString(s)
	default:
		panic("config: no parser for " + t.String())
	}
	return v, nil
}

func (d *decoder) note(path string, at position) {
	if _, ok := d.seen[path]; !ok {
		d.seen[path] = at
	}
}

func fieldOf(v reflect.Value, f *fieldSpec) reflect.Value { return v.FieldByIndex(f.index) }

func elemType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// assign puts a value in a field or in a new variable that the field points to.
func assign(fv, value reflect.Value) {
	if fv.Kind() == reflect.Pointer {
		p := reflect.New(fv.Type().Elem())
		p.Elem().Set(value)
		fv.Set(p)
		return
	}
	fv.Set(value)
}

// newWithDefaults returns a pointer to a new value.
func newWithDefaults(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	setDefaults(p)
	return p
}

// setDefaults applies the defaults of a pointed-to struct and of the structs in it.
func setDefaults(p reflect.Value) {
	v := p.Elem()
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Struct {
			setDefaults(v.Field(i).Addr())
		}
	}
	if x, ok := p.Interface().(defaulter); ok {
		x.defaults()
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func names(m map[string]*spec) string {
	if len(m) == 0 {
		return "none"
	}
	list := make([]string, 0, len(m))
	for name := range m {
		list = append(list, name)
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

func unknownRemedy(s *spec) string {
	if len(s.children) == 0 || len(s.children) > 25 {
		return "remove it, or correct its name"
	}
	return "remove it, or correct its name; known are: " + names(s.children)
}

func short(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
