package config

import (
	"fmt"
	"strings"
)

// Profile is what artemis.profile, a shell script, says about a start.
type Profile struct {
	// Vars are the variables it sets.
	Vars map[string]string
	// Properties are the -D options of JAVA_ARGS, ARTEMIS_CLUSTER_PROPS and
	// JAVA_ARGS_APPEND; later ones win.
	Properties map[string]string
	// late are those that come after what bin/artemis itself defines.
	late map[string]string
	// MaxHeap is -Xmx, 0 if there is none.
	MaxHeap Bytes
}

// ParseProfile reads artemis.profile for the run command. It understands what
// Artemis writes and the usual edits of it: assignments with quotes and
// variables, export, comments, and if with [ -z … ], [ -n … ] and =. Other
// statements are skipped with a warning; nothing is ever executed. env answers
// variables that the profile doesn't set; such as JAVA_ARGS they may keep it from
// setting them.
func ParseProfile(file, text string, env Lookup) (*Profile, []Warning) {
	p := &profileParser{report: &report{}, file: file, env: env, vars: map[string]string{}, prof: &Profile{Properties: map[string]string{}, late: map[string]string{}}}
	p.run(text)
	p.prof.Vars = p.vars
	for _, name := range []string{"JAVA_ARGS", "ARTEMIS_CLUSTER_PROPS", "JAVA_ARGS_APPEND"} {
		value, _ := p.get(name)
		p.javaArgs(name, value)
	}
	return p.prof, p.warns
}

type profileParser struct {
	*report
	file string
	line int
	env  Lookup
	vars map[string]string
	prof *Profile
}

func (p *profileParser) get(name string) (string, bool) {
	if v, ok := p.vars[name]; ok {
		return v, true
	}
	if name == "1" {
		return "run", true
	}
	if p.env == nil {
		return "", false
	}
	return p.env(name)
}

// javaArgs takes what matters to a broker without Java.
func (p *profileParser) javaArgs(name, args string) {
	for arg := range strings.FieldsSeq(args) {
		if def, ok := strings.CutPrefix(arg, "-D"); ok {
			k, v, _ := strings.Cut(def, "=")
			p.prof.Properties[k] = v
			if name != "JAVA_ARGS" {
				p.prof.late[k] = v
			}
		}
		if size, ok := strings.CutPrefix(arg, "-Xmx"); ok {
			n, err := ParseBytes(size)
			if err != nil || n <= 0 {
				p.warn(Odd, position{file: p.file}, name, fmt.Sprintf("-Xmx%s is not a size", size), "write it as -Xmx2G")
				continue
			}
			p.prof.MaxHeap = n
		}
	}
}

// run walks the statements. skip tells for each open if whether its present
// branch is left out, and done whether a branch was taken already.
func (p *profileParser) run(text string) {
	type branch struct{ skip, done bool }
	var ifs []branch
	skipping := func() bool {
		for _, b := range ifs {
			if b.skip {
				return true
			}
		}
		return false
	}
	for rest := text; rest != ""; {
		var statement string
		statement, rest = p.statement(rest)
		word, args, _ := strings.Cut(strings.TrimSpace(statement), " ")
		switch word {
		case "", "then", ":":
		case "if":
			taken := !skipping() && p.test(args)
			ifs = append(ifs, branch{!taken, taken})
		case "elif", "else":
			if len(ifs) == 0 {
				p.odd(statement)
				continue
			}
			b := &ifs[len(ifs)-1]
			b.skip = b.done || word == "elif" && !p.test(args)
			b.done = b.done || !b.skip
		case "fi":
			if len(ifs) == 0 {
				p.odd(statement)
				continue
			}
			ifs = ifs[:len(ifs)-1]
		default:
			if strings.HasPrefix(word, "then") || skipping() {
				continue
			}
			if word == "export" {
				statement = args
				if !strings.Contains(statement, "=") {
					continue
				}
			}
			p.assign(strings.TrimSpace(statement))
		}
	}
}

func (p *profileParser) odd(statement string) {
	p.warn(Odd, position{p.file, p.line}, "", fmt.Sprintf("the statement %q is skipped", short(strings.TrimSpace(statement))), "only assignments and simple ifs are read; use bin/artemis, which runs the script, if it matters")
}

// statement cuts a statement off at a newline or ; outside quotes, without
// comments. "then" is cut off as a statement of its own.
func (p *profileParser) statement(text string) (statement, rest string) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\n' {
			p.line++
		}
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			if text[i] == '\n' {
				p.line++
			} else {
				b.WriteString(text[i-1 : i+1])
			}
			continue
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '#' && (b.Len() == 0 || strings.HasSuffix(b.String(), " ") || strings.HasSuffix(b.String(), "\t")):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return b.String(), ""
			}
			i += end - 1
			continue
		case c == '\n' || c == ';':
			return b.String(), text[i+1:]
		}
		b.WriteByte(c)
		if quote == 0 && strings.TrimSpace(b.String()) == "then" && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n') {
			return "then", text[i+1:]
		}
	}
	return b.String(), ""
}

// test evaluates [ -z x ], [ -n x ], [ a = b ] and [ a != b ]; anything else is
// false, with a warning.
func (p *profileParser) test(args string) bool {
	s := strings.TrimSpace(args)
	inner, ok := strings.CutPrefix(s, "[")
	if !ok || !strings.HasSuffix(inner, "]") {
		p.odd("if " + args)
		return false
	}
	inner = strings.TrimSuffix(strings.TrimPrefix(inner, "["), "]")
	words, ok := p.words(strings.TrimSuffix(inner, "]"))
	switch {
	case ok && len(words) == 2 && words[0] == "-z":
		return words[1] == ""
	case ok && len(words) == 2 && words[0] == "-n":
		return words[1] != ""
	case ok && len(words) == 3 && (words[1] == "=" || words[1] == "=="):
		return words[0] == words[2]
	case ok && len(words) == 3 && words[1] == "!=":
		return words[0] != words[2]
	}
	p.odd("if " + args)
	return false
}

func (p *profileParser) assign(statement string) {
	name, value, ok := strings.Cut(statement, "=")
	if !ok || !isName(name) {
		p.odd(statement)
		return
	}
	words, ok := p.words(value)
	if !ok || len(words) > 1 {
		p.odd(statement)
		return
	}
	p.vars[name] = strings.Join(words, "")
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// maxProfileWord bounds a variable: values may contain themselves twice per line.
const maxProfileWord = 1 << 20

// words splits at blanks outside quotes and expands variables. ok is false for
// what only a shell can do.
func (p *profileParser) words(s string) (words []string, ok bool) {
	var b strings.Builder
	inWord := false
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != '\'' && (c == '`' || strings.HasPrefix(s[i:], "$(")):
			return nil, false
		case quote != '\'' && c == '$':
			name, n := variable(s[i+1:])
			if n == 0 {
				return nil, false
			}
			name, fallback, _ := strings.Cut(name, ":-")
			value, _ := p.get(name)
			if value == "" {
				value = fallback
			}
			b.WriteString(value)
			i += n
			inWord = inWord || quote != 0 || value != ""
		case quote != '\'' && c == '\\' && i+1 < len(s):
			i++
			if quote == '"' && strings.IndexByte("\"\\$`", s[i]) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				words = append(words, b.String())
				b.Reset()
				inWord = false
			}
		default:
			b.WriteByte(c)
			inWord = true
		}
		if b.Len() > maxProfileWord {
			return nil, false
		}
	}
	if inWord {
		words = append(words, b.String())
	}
	return words, quote == 0
}

// variable reads NAME or {NAME} or {NAME:-default} or a digit after a $.
func variable(s string) (name string, length int) {
	if strings.HasPrefix(s, "{") {
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return "", 0
		}
		return s[1:end], end + 1
	}
	n := 0
	for n < len(s) && (isName(s[:n+1]) || n == 0 && s[0] >= '0' && s[0] <= '9') {
		n++
		if s[0] >= '0' && s[0] <= '9' {
			break
		}
	}
	return s[:n], n
}
