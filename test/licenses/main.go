// Command licenses writes THIRD_PARTY_LICENSES: the licence texts of everything that is linked into bin/saranga, on any
// platform that it is built for, taken from the module cache.
//
//	go run ./test/licenses           writes the file
//	go run ./test/licenses -check    fails when the file is not what would be written
//
// It fails when a module has no licence text, one that it does not recognise, or none of the allowed ones
// (see Recognise).
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

const (
	file    = "THIRD_PARTY_LICENSES"
	program = "./cmd/saranga"
)

func main() {
	check := flag.Bool("check", false, "compare the file instead of writing it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	want, err := render()
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(file, want, 0o644)
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return errors.New(file + " is not up to date; run make licenses")
	}
	return nil
}

// render returns the content of the file.
func render() ([]byte, error) {
	linked, err := linkedModules(program)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("Software of others in bin/saranga, and its licences. Made by make licenses; do not edit.\n")
	for _, m := range linked {
		texts, err := m.texts()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n%s\n%s\n", strings.Repeat("=", 100), strings.TrimSpace(m.path+" "+m.version))
		for _, t := range texts {
			fmt.Fprintf(&b, "%s%s\n\n%s\n", t.name, t.licenceList(), strings.TrimSpace(strings.ReplaceAll(t.text, "\r\n", "\n")))
		}
	}
	return b.Bytes(), nil
}
