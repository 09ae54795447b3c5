package management

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Type is a type of parameters and results, by its Java name, which Jolokia shows.
type Type string

// Types that controls use.
const (
	Void       Type = "void"
	String     Type = "java.lang.String"
	Int        Type = "int"
	Long       Type = "long"
	Double     Type = "double"
	Bool       Type = "boolean"
	NInt       Type = "java.lang.Integer" // may be null
	NLong      Type = "java.lang.Long"
	NBool      Type = "java.lang.Boolean"
	Map        Type = "java.util.Map"
	Strings    Type = "[Ljava.lang.String;"
	Objects    Type = "[Ljava.lang.Object;"
	Maps       Type = "[Ljava.util.Map;"
	Composites Type = "[Ljavax.management.openmbean.CompositeData;"
)

// types are the short names used in signatures.
var types = map[string]Type{"string": String, "int": Int, "long": Long, "double": Double, "bool": Bool, "Integer": NInt, "Long": NLong, "Boolean": NBool, "map": Map}

// Object is a JSON object whose members keep their order.
type Object []Member

// Member is a member of an Object.
type Member struct {
	Name  string
	Value any
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(JSON(m.Name))
		b.WriteByte(':')
		b.WriteString(JSON(m.Value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Get returns a member's value, nil when there is none.
func (o Object) Get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// JSON is the value as JSON text, as Artemis writes it: no white space, nothing escaped for HTML. Floating-point values
// that JSON cannot express become null.
func JSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(finite(v)); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func finite(v any) any {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil
	}
	return v
}

// maxParameters bounds the text of the parameters of one call, in bytes.
const maxParameters = 10 << 20

// parseParameters reads the JSON array of a call's parameters.
func parseParameters(text string) ([]any, error) {
	if len(text) > maxParameters {
		return nil, &json.SyntaxError{Offset: maxParameters}
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var list []any
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, &json.SyntaxError{Offset: d.InputOffset()}
	}
	return list, nil
}

// convert makes a parameter of type t from a value that came as JSON. ok is false when the type does not take it.
func (t Type) convert(v any) (out any, ok bool) {
	if v == nil {
		return nil, true
	}
	switch t {
	case String:
		s, ok := v.(string)
		return s, ok
	case Bool, NBool:
		b, ok := v.(bool)
		return b, ok
	case Int, NInt:
		n, ok := integer(v, 32)
		return int32(n), ok
	case Long, NLong:
		return integer(v, 64)
	case Double:
		switch v := v.(type) {
		case json.Number:
			f, err := v.Float64()
			return f, err == nil
		case float64:
			return v, true
		}
		n, ok := integer(v, 64)
		return float64(n), ok
	case Map:
		m, ok := v.(map[string]any)
		return m, ok
	}
	return nil, false
}

// integer is v as an integer of so many bits. A decimal is none, whatever its value.
func integer(v any, bits int) (int64, bool) {
	var n int64
	switch v := v.(type) {
	case json.Number:
		var err error
		if n, err = strconv.ParseInt(v.String(), 10, bits); err != nil {
			return 0, false
		}
	case int:
		n = int64(v)
	case int32:
		n = int64(v)
	case int64:
		n = v
	default:
		return 0, false
	}
	return n, bits == 64 || n == int64(int32(n))
}
