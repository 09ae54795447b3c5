package yamlfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Node is a value in the file, with its place.
type Node struct {
	section *Section
	at      *yaml.Node
	key     string // with all above it but the section
}

// fault is an error about this value.
func (n Node) fault(format string, args ...any) error {
	path := n.section.name
	if n.key != "" {
		path += "." + n.key
	}
	return n.section.file.fault(n.at.Line, path, format, args...)
}

// Value reads a value into a variable.
type Value func(Node) error

// Fields are the keys of a mapping. None of them has to be there.
type Fields map[string]Value

func (f Fields) read(n Node) error {
	if n.at.Kind != yaml.MappingNode {
		return n.fault("not a mapping")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.at.Content); i += 2 {
		key, value := n.at.Content[i], Node{n.section, n.at.Content[i+1], n.key}
		if value.key != "" {
			value.key += "."
		}
		value.key += key.Value
		at := Node{n.section, key, value.key}
		read := f[key.Value]
		switch {
		case read == nil:
			known := make([]string, 0, len(f))
			for k := range f {
				known = append(known, k)
			}
			slices.Sort(known)
			return at.fault("unknown key; there are %s", strings.Join(known, ", "))
		case seen[key.Value]:
			return at.fault("is there twice")
		}
		seen[key.Value] = true
		n.section.lines[value.key] = key.Line
		if err := read(value); err != nil {
			return err
		}
	}
	return nil
}

// Mapping reads a mapping in a mapping.
func Mapping(f Fields) Value { return f.read }

// List calls item for each entry of a list, in order.
func List(item func(i int) Value) Value {
	return func(n Node) error {
		if n.at.Kind != yaml.SequenceNode {
			return n.fault("not a list")
		}
		for i, entry := range n.at.Content {
			key := fmt.Sprintf("%s[%d]", n.key, i)
			n.section.lines[key] = entry.Line
			if err := item(i)(Node{n.section, entry, key}); err != nil {
				return err
			}
		}
		return nil
	}
}

// Parsed reads a text that parse understands.
func Parsed(parse func(text string) error) Value {
	return func(n Node) error {
		if n.at.Kind != yaml.ScalarNode || n.at.Tag == "!!null" {
			return n.fault("not a text")
		}
		if err := parse(n.at.Value); err != nil {
			return n.fault("%w", err)
		}
		return nil
	}
}

// Text reads a text. A number is one, too.
func Text(to *string) Value {
	return Parsed(func(text string) error {
		*to = text
		return nil
	})
}

// Texts reads a list of texts. One that is there but empty is not nil.
func Texts(to *[]string) Value {
	return func(n Node) error {
		*to = []string{}
		return List(func(int) Value {
			return Parsed(func(text string) error {
				*to = append(*to, text)
				return nil
			})
		})(n)
	}
}

// Path reads a path; one that is not absolute is relative to the instance.
func Path(to *string) Value {
	return func(n Node) error {
		if err := Text(to)(n); err != nil {
			return err
		}
		*to = n.section.file.Resolve(*to)
		return nil
	}
}

// Bool reads true or false.
func Bool(to *bool) Value {
	return func(n Node) error {
		if n.at.Kind != yaml.ScalarNode || n.at.Tag != "!!bool" || n.at.Decode(to) != nil {
			return n.fault("%q is neither true nor false", n.at.Value)
		}
		return nil
	}
}

// Duration reads a time such as 400ms, longer than nothing.
func Duration(to *time.Duration) Value {
	return func(n Node) error {
		d, err := time.ParseDuration(n.at.Value)
		if n.at.Kind != yaml.ScalarNode || err != nil || d <= 0 {
			return n.fault("%q is not a time such as 400ms", n.at.Value)
		}
		*to = d
		return nil
	}
}

// Count reads a whole number of at least 1.
func Count(to *int) Value {
	return Parsed(func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number from 1", text)
		}
		*to = n
		return nil
	})
}

// units of sizes.
var units = []struct {
	suffix string
	shift  uint
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}}

// Bytes reads a size such as 4096 or 8MiB, of at least 1 byte and at most 1 TiB.
func Bytes(to *int64) Value {
	return Parsed(func(text string) error {
		number, shift := text, uint(0)
		for _, u := range units {
			if before, ok := strings.CutSuffix(text, u.suffix); ok {
				number, shift = strings.TrimSpace(before), u.shift
			}
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 || n > 1<<40>>shift {
			return fmt.Errorf("%q is not a size such as 4096 or 8MiB", text)
		}
		*to = n << shift
		return nil
	})
}
