package config

import (
	"fmt"
	"strings"
)

// maxErrors bounds how many faults are collected before giving up.
const maxErrors = 50

// Error is one fault of a configuration file.
type Error struct {
	// File is the path as it was opened; empty when no file is at fault.
	File string
	// Line counts from 1; 0 when the fault has no line.
	Line int
	// Element is the path of the element or property below its root.
	Element string
	// Problem says what is wrong, Remedy what to do about it.
	Problem, Remedy string
}

func (e *Error) Error() string { return describe(e.File, e.Line, e.Element, e.Problem, e.Remedy) }

// Errors are all faults found, in the order of files and lines.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a single Error.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// WarningKind tells warnings apart that are to be logged in different ways.
type WarningKind uint8

// Kinds of warning.
const (
	// Odd is something that works but probably isn't what was meant.
	Odd WarningKind = iota
	// Deprecated is an old name of an element.
	Deprecated
	// NoEffect is an element that this broker reads and does nothing with.
	// Callers may log all of them as one line.
	NoEffect
	// Insecure is a setting that lets in more than an operator may think.
	Insecure
)

// Warning is something an operator should know that doesn't stop the start.
type Warning struct {
	Kind    WarningKind
	File    string
	Line    int
	Element string
	Problem string
	Remedy  string
}

func (w Warning) String() string { return describe(w.File, w.Line, w.Element, w.Problem, w.Remedy) }

func describe(file string, line int, element, problem, remedy string) string {
	var b strings.Builder
	if file != "" {
		b.WriteString(file)
		if line > 0 {
			fmt.Fprintf(&b, ":%d", line)
		}
		b.WriteString(": ")
	}
	if element != "" {
		b.WriteString(element + ": ")
	}
	b.WriteString(problem)
	if remedy != "" {
		b.WriteString("; " + remedy)
	}
	return b.String()
}

// report collects errors and warnings of one load.
type report struct {
	errs  Errors
	warns []Warning
}

func (r *report) fail(at position, element, problem, remedy string) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, &Error{at.file, at.line, element, problem, remedy})
	}
}

func (r *report) warn(kind WarningKind, at position, element, problem, remedy string) {
	if len(r.warns) < 10*maxErrors {
		r.warns = append(r.warns, Warning{kind, at.file, at.line, element, problem, remedy})
	}
}

func (r *report) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return r.errs
}

// position is where in a file something stands.
type position struct {
	file string
	line int
}
