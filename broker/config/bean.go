package config

import (
	"reflect"
	"strings"
	"sync"
)

// beanNames returns the names of a field in broker properties and JSON: those of
// its bean tag, else its element's name in camel case.
func beanNames(sf reflect.StructField) []string {
	if tag := sf.Tag.Get("bean"); tag != "" {
		return strings.Split(tag, ",")
	}
	name := elementPath(sf.Tag.Get("cfg"))
	last := strings.TrimPrefix(name[strings.LastIndexByte(name, '/')+1:], "@")
	if last == "." || last == "" {
		return nil
	}
	if kind := sf.Type.Kind(); kind == reflect.Slice && !strings.HasSuffix(last, "s") || kind == reflect.Map && last == "property" {
		last = plural(last)
	}
	return []string{camel(last)}
}

// elementPath returns the path of the element or attribute in a cfg tag.
func elementPath(tag string) string {
	path, _, _ := strings.Cut(tag, ",")
	path, _, _ = strings.Cut(path, "|")
	path, _, _ = strings.Cut(path, "{")
	return strings.TrimSuffix(path, "/.")
}

func plural(s string) string {
	if strings.HasSuffix(s, "y") {
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}

func camel(s string) string {
	var b strings.Builder
	for i, word := range strings.Split(s, "-") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// bean is a field that a broker property can set.
type bean struct {
	index []int
	field *fieldSpec
	// path is the element's path below the struct.
	path string
}

var beans sync.Map // reflect.Type → map[string]*bean; only ever a cache

// beansOf returns the properties of a struct type by name.
func beansOf(t reflect.Type) map[string]*bean {
	if m, ok := beans.Load(t); ok {
		return m.(map[string]*bean)
	}
	m := map[string]*bean{}
	addBeans(m, t, nil, "")
	actual, _ := beans.LoadOrStore(t, m)
	return actual.(map[string]*bean)
}

func addBeans(m map[string]*bean, t reflect.Type, index []int, under string) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		tag, hasTag := sf.Tag.Lookup("cfg")
		_, hasBean := sf.Tag.Lookup("bean")
		if !hasTag && sf.Type.Kind() == reflect.Struct && !hasBean {
			addBeans(m, sf.Type, at, under)
			continue
		}
		f := &fieldSpec{index: at, typ: sf.Type, check: sf.Tag.Get("check"), unit: units[sf.Tag.Get("unit")], secret: sf.Tag.Get("secret") == "true"}
		for _, name := range beanNames(sf) {
			m[name] = &bean{index: at, field: f, path: elementPath(tag)}
		}
	}
}
