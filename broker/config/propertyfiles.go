package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// readProperties reads a broker properties file by its extension: .json, .yaml,
// or else Java properties.
func readProperties(file string) ([]Property, error) {
	text, err := readText(file)
	if err != nil {
		return nil, err
	}
	switch filepath.Ext(file) {
	case ".json", ".yaml", ".yml":
		return parseTree(text)
	}
	return ParseProperties(text)
}

// maxTreeDepth bounds the nesting of a JSON or YAML file.
const maxTreeDepth = 64

// parseTree flattens JSON or YAML to dotted keys. Names with dots are surrounded
// by quotes. JSON is read as the YAML it also is.
func parseTree(text string) ([]Property, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	var out []Property
	err := flatten(doc.Content[0], nil, &out)
	return out, err
}

func flatten(n *yaml.Node, path []string, out *[]Property) error {
	if len(path) > maxTreeDepth || len(*out) > maxProperties {
		return fmt.Errorf("line %d: too deep or too long", n.Line)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		*out = append(*out, Property{strings.Join(path, "."), n.Value, n.Line})
		return nil
	case yaml.SequenceNode:
		var items []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a list may hold plain values only", item.Line)
			}
			items = append(items, item.Value)
		}
		*out = append(*out, Property{strings.Join(path, "."), strings.Join(items, ","), n.Line})
		return nil
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if strings.Contains(name, ".") && !strings.HasPrefix(name, `"`) {
				name = `"` + name + `"`
			}
			if err := flatten(n.Content[i+1], append(path[:len(path):len(path)], name), out); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("line %d: YAML aliases are not read", n.Line)
}
