package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Property is one entry of a Java properties file.
type Property struct {
	Key, Value string
	// Line counts from 1.
	Line int
}

// maxProperties bounds the entries of one file.
const maxProperties = 100_000

// ParseProperties reads a Java properties text: # and ! start comments, the key
// ends at the first =, : or blank that isn't escaped, a \ at the end of a line
// continues it without the next line's leading blanks, \t \n \f \r and \uXXXX are
// read as in Java. Order and repeated keys are kept.
func ParseProperties(text string) ([]Property, error) {
	var out []Property
	rest, line := text, 0
	for rest != "" {
		var logical string
		logical, rest, line = logicalLine(rest, line)
		start := line - strings.Count(logical, "\n")
		logical = strings.ReplaceAll(logical, "\n", "")
		trimmed := strings.TrimLeft(logical, " \t\f")
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == '!' {
			continue
		}
		key, value := splitProperty(trimmed)
		k, err := unescape(key)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", start, err)
		}
		v, err := unescape(value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", start, err)
		}
		if len(out) == maxProperties {
			return nil, fmt.Errorf("line %d: more than %d properties", start, maxProperties)
		}
		out = append(out, Property{k, v, start})
	}
	return out, nil
}

// logicalLine takes a line with its continuations off the front of text. Places
// where lines were joined are marked with \n, so that they can be counted.
func logicalLine(text string, line int) (logical, rest string, last int) {
	var b strings.Builder
	for {
		line++
		var natural string
		natural, text = cutLine(text)
		if b.Len() > 0 {
			natural = strings.TrimLeft(natural, " \t\f")
		}
		comment := b.Len() == 0 && strings.HasPrefix(strings.TrimLeft(natural, " \t\f")+" ", "#") ||
			b.Len() == 0 && strings.HasPrefix(strings.TrimLeft(natural, " \t\f")+" ", "!")
		slashes := len(natural) - len(strings.TrimRight(natural, `\`))
		if comment || slashes%2 == 0 || text == "" {
			if slashes%2 == 1 && !comment {
				natural = natural[:len(natural)-1]
			}
			b.WriteString(natural)
			return b.String(), text, line
		}
		b.WriteString(natural[:len(natural)-1] + "\n")
	}
}

func cutLine(text string) (line, rest string) {
	i := strings.IndexAny(text, "\r\n")
	if i < 0 {
		return text, ""
	}
	if strings.HasPrefix(text[i:], "\r\n") {
		return text[:i], text[i+2:]
	}
	return text[:i], text[i+1:]
}

func splitProperty(s string) (key, value string) {
	i := 0
	for ; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", s[i]) >= 0 {
			break
		}
	}
	if i >= len(s) {
		return s, ""
	}
	key = s[:i]
	value = strings.TrimLeft(s[i:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return key, value
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	var high uint64 // first half of a surrogate pair
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'u':
			if i+4 >= len(s) {
				return "", fmt.Errorf(`\u needs four hexadecimal digits`)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`\u needs four hexadecimal digits`)
			}
			i += 4
			switch {
			case n >= 0xD800 && n < 0xDC00:
				high = n
				continue
			case n >= 0xDC00 && n < 0xE000 && high != 0:
				n = 0x10000 + (high-0xD800)<<10 + (n - 0xDC00)
			}
			high = 0
			b.WriteRune(rune(n))
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
