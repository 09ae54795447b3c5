package management

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/saranga-mq/saranga/broker/security"
)

// Impact says what an operation does, in JMX' words.
type Impact string

// Impacts.
const (
	Info    Impact = "INFO"
	Action  Impact = "ACTION"
	Unknown Impact = "UNKNOWN"
)

// Caller is who calls.
type Caller struct {
	Who    security.Principal
	Remote string // ip:port, empty for the broker itself
}

// String is the caller as audit lines have it: user(roles)@ip:port.
func (c Caller) String() string {
	who := c.Who.User
	if who == "" {
		who = "anonymous"
	}
	if len(c.Who.Roles) > 0 {
		who = c.Who.String()
	}
	if c.Remote == "" {
		return who + "@internal"
	}
	return who + "@" + c.Remote
}

// Param is a parameter of an operation.
type Param struct {
	Name string
	Type Type
}

// Attribute describes an attribute of a class.
type Attribute struct {
	Name string
	Type Type
	Desc string

	get func(target any) any
	set func(target any, v any) error
}

// Writable tells whether the attribute can be set.
func (a *Attribute) Writable() bool { return a.set != nil }

// Getter is the name of the method that reads the attribute: isPaused, getName.
func (a *Attribute) Getter() string {
	if a.Type == Bool {
		return "is" + a.Name
	}
	return "get" + a.Name
}

// Setter is the name of the method that writes it.
func (a *Attribute) Setter() string { return "set" + a.Name }

// Operation describes an operation of a class. Overloads are operations of the same name.
type Operation struct {
	Name    string
	Params  []Param
	Returns Type
	Impact  Impact
	Desc    string

	do func(target any, c *Call) (any, error)
}

// Signature is the name with the types of the parameters: pause(boolean).
func (o *Operation) Signature() string {
	names := make([]string, len(o.Params))
	for i, p := range o.Params {
		names[i] = string(p.Type)
	}
	return o.Name + "(" + strings.Join(names, ",") + ")"
}

// fits converts arguments for the operation; nil when they do not fit.
func (o *Operation) fits(args []any) []any {
	if len(args) != len(o.Params) {
		return nil
	}
	out := make([]any, len(args))
	for i, p := range o.Params {
		v, ok := p.Type.convert(args[i])
		if !ok || v == nil && primitive(p.Type) {
			return nil
		}
		out[i] = v
	}
	return out
}

func primitive(t Type) bool { return t == Int || t == Long || t == Double || t == Bool }

// A Class is a kind of resource with its attributes and operations.
type Class struct {
	Name       string // of the Java interface, without its package
	Desc       string
	Attributes []*Attribute // by name
	Operations []*Operation // by name, overloads in order of declaration

	attributes map[string]*Attribute
	operations map[string][]*Operation
}

// Attribute returns the attribute of that name; the case of the first letter does not matter.
func (c *Class) Attribute(name string) *Attribute { return c.attributes[capital(name)] }

func capital(name string) string {
	for i, r := range name {
		return string(unicode.ToUpper(r)) + name[i+len(string(r)):]
	}
	return name
}

// Overloads returns the operations of that name.
func (c *Class) Overloads(name string) []*Operation { return c.operations[name] }

// choose returns the operation of that name that takes the arguments, and them converted. An argument that is null fits
// every type but the primitive ones; of several that fit, the first declared is taken.
func (c *Class) choose(name string, args []any) (*Operation, []any) {
	for _, o := range c.operations[name] {
		if converted := o.fits(args); converted != nil || len(o.Params) == 0 && len(args) == 0 {
			return o, converted
		}
	}
	return nil, nil
}

// getter returns the attribute that a method without parameters reads.
func (c *Class) getter(method string) *Attribute {
	for _, prefix := range []string{"get", "is"} {
		if name, ok := strings.CutPrefix(method, prefix); ok {
			if a := c.attributes[name]; a != nil && a.Getter() == method {
				return a
			}
		}
	}
	return nil
}

func (c *Class) setter(method string) *Attribute {
	if name, ok := strings.CutPrefix(method, "set"); ok {
		if a := c.attributes[name]; a != nil && a.set != nil {
			return a
		}
	}
	return nil
}

// A definition builds the class whose resources are of type T.
type definition[T any] struct{ class *Class }

// attr adds an attribute.
func (d *definition[T]) attr(name string, t Type, desc string, get func(T) any) *Attribute {
	a := &Attribute{Name: name, Type: t, Desc: desc, get: func(target any) any { return get(target.(T)) }}
	d.class.Attributes = append(d.class.Attributes, a)
	return a
}

// rw adds an attribute that can be set.
func (d *definition[T]) rw(name string, t Type, desc string, get func(T) any, set func(T, any) error) {
	d.attr(name, t, desc, get).set = func(target any, v any) error { return set(target.(T), v) }
}

// op adds an operation. Its signature is written "name(first type, second type)".
func (d *definition[T]) op(signature string, returns Type, impact Impact, desc string, do func(T, *Call) (any, error)) {
	name, rest, _ := strings.Cut(signature, "(")
	o := &Operation{Name: name, Returns: returns, Impact: impact, Desc: desc,
		do: func(target any, c *Call) (any, error) { return do(target.(T), c) }}
	if list := strings.TrimSuffix(rest, ")"); list != "" {
		for _, p := range strings.Split(list, ",") {
			f := strings.Fields(p)
			t, ok := types[f[1]]
			if !ok {
				panic("management: no type " + f[1] + " in " + signature)
			}
			o.Params = append(o.Params, Param{f[0], t})
		}
	}
	d.class.Operations = append(d.class.Operations, o)
}

// class returns a function that makes a class when it is first asked for.
func class[T any](name, desc string, define func(*definition[T])) func() *Class {
	return sync.OnceValue(func() *Class {
		c := &Class{Name: name, Desc: desc, attributes: map[string]*Attribute{}, operations: map[string][]*Operation{}}
		define(&definition[T]{c})
		for _, a := range c.Attributes {
			if c.attributes[a.Name] != nil {
				panic("management: attribute " + a.Name + " twice in " + name)
			}
			c.attributes[a.Name] = a
		}
		for _, o := range c.Operations {
			c.operations[o.Name] = append(c.operations[o.Name], o)
		}
		return c
	})
}

// Call is the call of an operation: arguments of the types of its parameters, nil for null.
type Call struct {
	Caller
	args []any
}

func (c *Call) text(i int) string { s, _ := c.args[i].(string); return s }
func (c *Call) int(i int) int     { n, _ := c.args[i].(int32); return int(n) }
func (c *Call) long(i int) int64  { n, _ := c.args[i].(int64); return n }
func (c *Call) bool(i int) bool   { b, _ := c.args[i].(bool); return b }
func (c *Call) null(i int) bool   { return c.args[i] == nil }

// noOperation is the error for an operation that there is not with so many parameters.
func noOperation(name string, n int) error {
	return fmt.Errorf("AMQ229069: no operation %s/%d", name, n)
}
