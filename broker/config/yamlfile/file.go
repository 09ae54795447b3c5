package yamlfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxBytes bounds a file.
const maxBytes = 1 << 20

// File is a file that was parsed. Its sections are not read yet.
type File struct {
	name     string
	instance string
	sections []section
}

type section struct {
	key   *yaml.Node
	value *yaml.Node
}

// Parse splits a file into its sections. name is for errors; instance is the folder that relative paths are relative to.
func Parse(name, instance string, data []byte) (*File, error) {
	f := &File{name: name, instance: instance}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s: %d bytes, more than %d", name, len(data), maxBytes)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return f, nil
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null": // nothing but comments and a document mark
		return f, nil
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("%s:%d: not a mapping of sections", name, root.Line)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		if slices.ContainsFunc(f.sections, func(s section) bool { return s.key.Value == key.Value }) {
			return nil, f.fault(key.Line, key.Value, "is there twice")
		}
		f.sections = append(f.sections, section{key, root.Content[i+1]})
	}
	return f, nil
}

func (f *File) fault(line int, path, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %w", f.name, line, path, fmt.Errorf(format, args...))
}

// Resolve is a path as the file means it: one that is not absolute is relative to the instance. An empty one stays empty.
func (f *File) Resolve(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.instance, path)
}

// Only refuses sections that are not in the list.
func (f *File) Only(names ...string) error {
	for _, s := range f.sections {
		if !slices.Contains(names, s.key.Value) {
			return f.fault(s.key.Line, s.key.Value, "unknown section; there are %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// Section is a section that was read, and knows on which line its keys are.
type Section struct {
	file  *File
	name  string
	lines map[string]int // by key with all above it but the section
	line  int
}

// Section reads a section. It is nil if the file has none of that name.
func (f *File) Section(name string, fields Fields) (*Section, error) {
	for _, s := range f.sections {
		if s.key.Value != name {
			continue
		}
		out := &Section{file: f, name: name, line: s.key.Line, lines: map[string]int{}}
		return out, fields.read(Node{out, s.value, ""})
	}
	return nil, nil
}

// KeyError is a fault of the value of a key. Its text begins with the key.
type KeyError struct {
	Key string // in its section, as tls.ca
	Err error
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

// Wrong makes a KeyError; the format is that of fmt.Errorf.
func Wrong(key, format string, args ...any) error {
	return &KeyError{key, fmt.Errorf(format, args...)}
}

// Locate adds file, line and section to an error that was found in what the section says. A key that is not there has the line of the
// nearest one around it.
func (s *Section) Locate(err error) error {
	if err == nil {
		return nil
	}
	line := s.line
	var k *KeyError
	if errors.As(err, &k) {
		for key := k.Key; key != ""; key = above(key) {
			if at, ok := s.lines[key]; ok {
				line = at
				break
			}
		}
		return fmt.Errorf("%s:%d: %s.%w", s.file.name, line, s.name, err)
	}
	return fmt.Errorf("%s:%d: %s: %w", s.file.name, line, s.name, err)
}

// above is the key around a key.
func above(key string) string {
	i := strings.LastIndexAny(key, ".[")
	return key[:max(i, 0)]
}
