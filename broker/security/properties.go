package security

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxPropertiesSize bounds the files of users and roles, in bytes.
const maxPropertiesSize = 16 << 20

// Properties is the text of a Java properties file that can be changed without losing comments, blank lines and the
// order of its entries.
//
//	# comment        ! comment
//	key = value      key: value      key value
//	key = first part \
//	      and the rest
//
// In keys and values \t \n \r \f and \uXXXX are characters, and a backslash makes the next one literal. Bytes are
// ISO 8859-1, unless the file starts with the mark of UTF-16. Of several entries with the same key the last counts.
type Properties struct {
	lines []propertyLine
}

// propertyLine is an entry with all its lines, or one line without entry.
type propertyLine struct {
	text  string // without the line end behind it
	entry bool
	key   string
	value string
}

// ParseProperties reads the text of a properties file.
func ParseProperties(data []byte) (*Properties, error) {
	if len(data) > maxPropertiesSize {
		return nil, fmt.Errorf("properties of %d bytes, at most %d", len(data), maxPropertiesSize)
	}
	text := decodeProperties(data)
	p := new(Properties)
	for text != "" {
		var line string
		line, text = cutLine(text)
		start := strings.TrimLeft(line, " \t\f")
		if start == "" || start[0] == '#' || start[0] == '!' {
			p.lines = append(p.lines, propertyLine{text: line})
			continue
		}
		logical := start
		for continues(logical) {
			logical = logical[:len(logical)-1]
			if text == "" || logical == "" { // nothing before the backslash: the next line stands for itself
				break
			}
			var next string
			next, text = cutLine(text)
			line += "\n" + next
			logical += strings.TrimLeft(next, " \t\f")
		}
		if logical == "" && text != "" {
			p.lines = append(p.lines, propertyLine{text: line})
			continue
		}
		key, value, err := splitEntry(logical)
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", start[:min(len(start), 40)], err)
		}
		p.lines = append(p.lines, propertyLine{text: line, entry: true, key: key, value: value})
	}
	return p, nil
}

// decodeProperties gives each byte as the character of its number, or decodes UTF-16.
func decodeProperties(data []byte) string {
	if len(data) >= 2 && (data[0] == 0xfe && data[1] == 0xff || data[0] == 0xff && data[1] == 0xfe) {
		high, low := 0, 1
		if data[0] == 0xff {
			high, low = 1, 0
		}
		units := make([]uint16, 0, len(data)/2)
		for i := 2; i+1 < len(data); i += 2 {
			units = append(units, uint16(data[i+high])<<8|uint16(data[i+low]))
		}
		return string(utf16.Decode(units))
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return string(runes)
}

func cutLine(text string) (line, rest string) {
	end := strings.IndexAny(text, "\r\n")
	if end < 0 {
		return text, ""
	}
	if strings.HasPrefix(text[end:], "\r\n") {
		return text[:end], text[end+2:]
	}
	return text[:end], text[end+1:]
}

// continues says whether the line ends in an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitEntry finds the separator: the first "=", ":" or blank that is not escaped.
func splitEntry(line string) (key, value string, err error) {
	end := 0
	for end < len(line) && strings.IndexByte("=: \t\f", line[end]) < 0 {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	if key, err = unescapeProperty(line[:end]); err != nil {
		return "", "", err
	}
	value, err = unescapeProperty(rest)
	return key, value, err
}

func unescapeProperty(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var units []uint16
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			if s[i] == '\\' {
				break
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			units, i = utf16.AppendRune(units, r), i+n
			continue
		}
		switch c := s[i+1]; c {
		case 't', 'n', 'r', 'f':
			units = append(units, uint16(map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f'}[c]))
			i += 2
		case 'u':
			if i+6 > len(s) {
				return "", errors.New(`malformed \uXXXX`)
			}
			unit, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
			if err != nil {
				return "", errors.New(`malformed \uXXXX`)
			}
			units = append(units, uint16(unit))
			i += 6
		default:
			r, n := utf8.DecodeRuneInString(s[i+1:])
			units, i = utf16.AppendRune(units, r), i+1+n
		}
	}
	return string(utf16.Decode(units)), nil
}

// escapeProperty writes text so that every reader of properties files reads it back, in ASCII.
func escapeProperty(s string, key bool) string {
	var out strings.Builder
	for i, r := range s {
		switch {
		case r == '\\', i == 0 && strings.ContainsRune(" #!=:", r), key && strings.ContainsRune(" =:#!", r):
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\f':
			out.WriteString(`\f`)
		case r < ' ' || r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04X`, unit)
			}
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// Get gives the value of a key.
func (p *Properties) Get(key string) (string, bool) {
	for i := len(p.lines) - 1; i >= 0; i-- {
		if l := p.lines[i]; l.entry && l.key == key {
			return l.value, true
		}
	}
	return "", false
}

// Keys are the keys in the order of the file, each once.
func (p *Properties) Keys() []string {
	var keys []string
	seen := make(map[string]bool)
	for _, l := range p.lines {
		if l.entry && !seen[l.key] {
			seen[l.key] = true
			keys = append(keys, l.key)
		}
	}
	return keys
}

// Set changes an entry in place, or appends one.
func (p *Properties) Set(key, value string) {
	line := propertyLine{entry: true, key: key, value: value,
		text: escapeProperty(key, true) + " = " + escapeProperty(value, false)}
	kept := p.lines[:0]
	placed := false
	for _, l := range p.lines {
		if !l.entry || l.key != key {
			kept = append(kept, l)
		} else if !placed {
			kept, placed = append(kept, line), true
		}
	}
	if !placed {
		kept = append(kept, line)
	}
	p.lines = kept
}

// Delete drops the entries of a key; what else is in the file stays.
func (p *Properties) Delete(key string) {
	kept := p.lines[:0]
	for _, l := range p.lines {
		if !l.entry || l.key != key {
			kept = append(kept, l)
		}
	}
	p.lines = kept
}

// Bytes is the text of the file, with line ends of Unix. What could not be in ISO 8859-1 is escaped.
func (p *Properties) Bytes() []byte {
	var out bytes.Buffer
	for _, l := range p.lines {
		literal := false // the character stands behind a backslash that makes it so
		for _, r := range l.text {
			if r <= 0xff && (out.Len() > 0 || r < 0xfe) { // a file must not begin with the mark of UTF-16
				out.WriteByte(byte(r))
				literal = r == '\\' && !literal
				continue
			}
			if literal && l.entry {
				out.Truncate(out.Len() - 1) // it would make the escape literal
			}
			literal = false
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04X`, unit)
			}
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// readPropertiesFile reads a file of bounded size.
func readPropertiesFile(path string) (*Properties, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxPropertiesSize {
		return nil, fmt.Errorf("%s: %d bytes, at most %d", path, info.Size(), maxPropertiesSize)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := ParseProperties(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// writeSecretFile replaces a file in one step, so that a crash leaves the old or the new text, readable by its owner
// only. A symbolic link stays and its target is replaced.
func writeSecretFile(path string, data []byte) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
