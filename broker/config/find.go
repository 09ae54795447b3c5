package config

import (
	"os"
	"strings"
)

// Find returns where an element stands in a broker.xml, for errors that are found after it was parsed. path is an element's path
// below core, without attributes; a|b stands for either name. If it is not there, the nearest element around it that is
// counts; line is 0 if there is none, or the file can't be read.
func Find(file, path string) (in string, line int) {
	text, err := os.ReadFile(file)
	if err != nil {
		return file, 0
	}
	root, err := parseXML(file, string(text))
	if err != nil {
		return file, 0
	}
	n := root.find("core")
	if n == nil {
		return file, 0
	}
	at := position{file: file}
	for name := range strings.SplitSeq(path, "/") {
		if n = either(n, name); n == nil {
			break
		}
		at = n.at
	}
	return at.file, at.line
}

func either(n *node, names string) *node {
	for name := range strings.SplitSeq(names, "|") {
		if c := n.child(name); c != nil {
			return c
		}
	}
	return nil
}
