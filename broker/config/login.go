package config

import (
	"fmt"
	"strings"
)

// LoginConfig is a login.config file: realms with their login modules.
type LoginConfig struct {
	Realms []Realm
	// Dir is the folder that relative file names in options are taken from.
	Dir string
}

// Realm is one entry of login.config.
type Realm struct {
	Name    string        `bean:"name"`
	Modules []LoginModule `bean:"modules"`
}

// LoginModule is one login module of a realm.
type LoginModule struct {
	// Name is set by broker properties only.
	Name    string            `bean:"name"`
	Class   string            `bean:"loginModuleClass"`
	Flag    LoginFlag         `bean:"controlFlag"`
	Options map[string]string `bean:"params"`
}

// LoginFlag says what the result of a module means for the login.
type LoginFlag string

// Flags of login modules.
const (
	Required   LoginFlag = "required"
	Requisite  LoginFlag = "requisite"
	Sufficient LoginFlag = "sufficient"
	Optional   LoginFlag = "optional"
)

func (LoginFlag) values() []string {
	return []string{"required", "requisite", "sufficient", "optional"}
}

// Realm returns the realm of that name, or nil.
func (l *LoginConfig) Realm(name string) *Realm {
	for i := range l.Realms {
		if l.Realms[i].Name == name {
			return &l.Realms[i]
		}
	}
	return nil
}

// Bounds of a login.config file.
const (
	maxRealms  = 1000
	maxModules = 1000
	maxOptions = 1000
)

// ParseLogin reads a login.config:
//
//	realm {
//	   class flag key=value key="quoted value";
//	};
//
// with // and /* */ comments. Values may hold ${system.property}; ${/} is a
// slash. The error is an *Error.
func ParseLogin(file, text string, lookup Lookup) (*LoginConfig, error) {
	p := &loginParser{file: file, text: text, line: 1, lookup: lookup}
	l := &LoginConfig{}
	for {
		tok, err := p.next()
		if err != nil {
			return nil, err
		}
		if tok.kind == 0 {
			return l, nil
		}
		if tok.kind != 'w' {
			return nil, p.unexpected(tok, "the name of a realm")
		}
		if len(l.Realms) == maxRealms {
			return nil, p.fault("there are more than %d realms", maxRealms)
		}
		r := Realm{Name: tok.text}
		if l.Realm(r.Name) != nil {
			return nil, p.fault("realm %s is there twice", r.Name)
		}
		if err := p.expect('{'); err != nil {
			return nil, err
		}
		if err := p.modules(&r); err != nil {
			return nil, err
		}
		if err := p.expect(';'); err != nil {
			return nil, err
		}
		l.Realms = append(l.Realms, r)
	}
}

type loginParser struct {
	file, text string
	pos, line  int
	lookup     Lookup
}

// loginToken is a word (kind w, quoted or not), one of { } ; = or the end (0).
type loginToken struct {
	kind byte
	text string
}

func (p *loginParser) modules(r *Realm) error {
	for {
		tok, err := p.next()
		if err != nil {
			return err
		}
		if tok.kind == '}' {
			return nil
		}
		if tok.kind != 'w' {
			return p.unexpected(tok, "a login module class or }")
		}
		if len(r.Modules) == maxModules {
			return p.fault("realm %s has more than %d modules", r.Name, maxModules)
		}
		m := LoginModule{Class: tok.text, Options: map[string]string{}}
		flag, err := p.next()
		if err != nil {
			return err
		}
		m.Flag = LoginFlag(strings.ToLower(flag.text))
		if flag.kind != 'w' || !contains(m.Flag.values(), string(m.Flag)) {
			return p.unexpected(flag, "required, requisite, sufficient or optional")
		}
		if err := p.options(&m); err != nil {
			return err
		}
		r.Modules = append(r.Modules, m)
	}
}

func (p *loginParser) options(m *LoginModule) error {
	for {
		key, err := p.next()
		if err != nil {
			return err
		}
		if key.kind == ';' {
			return nil
		}
		if key.kind != 'w' {
			return p.unexpected(key, "an option or ;")
		}
		if err := p.expect('='); err != nil {
			return err
		}
		value, err := p.next()
		if err != nil {
			return err
		}
		if value.kind != 'w' {
			return p.unexpected(value, "the value of "+key.text)
		}
		if len(m.Options) == maxOptions {
			return p.fault("module %s has more than %d options", m.Class, maxOptions)
		}
		text, err := Substitute(value.text, func(name string) (string, bool) {
			if name == "/" {
				return "/", true
			}
			if p.lookup == nil {
				return "", false
			}
			return p.lookup(name)
		})
		if err != nil {
			return p.fault("option %s: %v", key.text, err)
		}
		m.Options[key.text] = text
	}
}

func (p *loginParser) expect(kind byte) error {
	tok, err := p.next()
	if err == nil && tok.kind != kind {
		err = p.unexpected(tok, string(kind))
	}
	return err
}

func (p *loginParser) unexpected(tok loginToken, want string) error {
	got := string(tok.kind)
	switch tok.kind {
	case 0:
		got = "the end of the file"
	case 'w':
		got = fmt.Sprintf("%q", short(tok.text))
	}
	return p.fault("here stands %s, not %s", got, want)
}

func (p *loginParser) fault(format string, args ...any) error {
	return &Error{p.file, p.line, "", fmt.Sprintf(format, args...), "write realm { class flag option=value; };"}
}

func (p *loginParser) next() (loginToken, error) {
	if err := p.skip(); err != nil {
		return loginToken{}, err
	}
	if p.pos == len(p.text) {
		return loginToken{}, nil
	}
	switch c := p.text[p.pos]; c {
	case '{', '}', ';', '=':
		p.pos++
		return loginToken{kind: c}, nil
	case '"', '\'':
		return p.quoted(c)
	}
	start := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune(" \t\r\n\f{};=\"'", rune(p.text[p.pos])) {
		if strings.HasPrefix(p.text[p.pos:], "${") {
			if end := closing(p.text[p.pos:]); end > 0 {
				p.pos += end
			}
		}
		p.pos++
	}
	return loginToken{'w', p.text[start:p.pos]}, nil
}

func (p *loginParser) quoted(quote byte) (loginToken, error) {
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == quote:
			p.pos++
			return loginToken{'w', b.String()}, nil
		case c == '\n':
			return loginToken{}, p.fault("a quoted value does not end on its line")
		case c == '\\' && p.pos+1 < len(p.text):
			p.pos++
			switch e := p.text[p.pos]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			default:
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	return loginToken{}, p.fault("a quoted value does not end")
}

// skip passes blanks and comments.
func (p *loginParser) skip() error {
	for p.pos < len(p.text) {
		rest := p.text[p.pos:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.pos++
		case strings.IndexByte(" \t\r\f", rest[0]) >= 0:
			p.pos++
		case strings.HasPrefix(rest, "//"):
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				p.pos += end
			} else {
				p.pos = len(p.text)
			}
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return p.fault("a comment does not end")
			}
			p.line += strings.Count(rest[:end+4], "\n")
			p.pos += end + 4
		default:
			return nil
		}
	}
	return nil
}
