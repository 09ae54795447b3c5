package security

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"strings"
	"unicode"
)

// DistinguishedName is the subject of a certificate in the form that Artemis compares and prints, which is that of
// Java's X509Certificate.getSubjectDN: "CN=Client One, OU=Broker, O=Org", most specific part first, parts of one level
// joined by " + ", values with special characters in double quotes.
func DistinguishedName(cert *x509.Certificate) string {
	name, err := formatName(cert.RawSubject)
	if err != nil {
		return cert.Subject.String()
	}
	return name
}

// attributeKeywords are the types that are printed by name.
var attributeKeywords = map[string]string{
	"2.5.4.3":                    "CN",
	"2.5.4.4":                    "SURNAME",
	"2.5.4.5":                    "SERIALNUMBER",
	"2.5.4.6":                    "C",
	"2.5.4.7":                    "L",
	"2.5.4.8":                    "ST",
	"2.5.4.9":                    "STREET",
	"2.5.4.10":                   "O",
	"2.5.4.11":                   "OU",
	"2.5.4.12":                   "T",
	"2.5.4.42":                   "GIVENNAME",
	"2.5.4.43":                   "INITIALS",
	"2.5.4.44":                   "GENERATION",
	"2.5.4.46":                   "DNQ",
	"0.9.2342.19200300.100.1.1":  "UID",
	"0.9.2342.19200300.100.1.25": "DC",
	"1.2.840.113549.1.9.1":       "EMAILADDRESS",
	"1.3.6.1.4.1.42.2.11.2.1":    "IP",
}

func formatName(der []byte) (string, error) {
	var levels []asn1.RawValue
	if _, err := asn1.Unmarshal(der, &levels); err != nil {
		return "", err
	}
	var parts []string
	for _, level := range levels {
		var attributes []attribute
		if _, err := asn1.UnmarshalWithParams(level.FullBytes, &attributes, "set"); err != nil {
			return "", err
		}
		var joined []string
		for _, a := range attributes {
			joined = append(joined, a.String())
		}
		parts = append([]string{strings.Join(joined, " + ")}, parts...)
	}
	return strings.Join(parts, ", "), nil
}

type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

func (a attribute) String() string {
	keyword, known := attributeKeywords[a.Type.String()]
	if !known {
		keyword = "OID." + a.Type.String()
	}
	var text string
	if _, err := asn1.Unmarshal(a.Value.FullBytes, &text); err != nil {
		return keyword + "=#" + hex.EncodeToString(a.Value.FullBytes)
	}
	return keyword + "=" + quoteAttribute(text)
}

// quoteAttribute puts a value in double quotes when it has a special character, or a blank at an end or after another.
// Characters outside the printable set of ASN.1 that are no such specials stay as they are.
func quoteAttribute(text string) string {
	special := strings.ContainsAny(text, ",+=\n<>#;\\\"") || strings.Contains(text, "  ") ||
		strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ")
	if !special {
		return text
	}
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		if r == '"' || r == '\\' {
			out.WriteByte('\\')
		}
		if !unicode.IsControl(r) || r == '\n' {
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// normalizeDN writes a distinguished name of a file in the form of [DistinguishedName], whatever blanks and quotes it
// uses; text that is no name stays as it is.
func normalizeDN(text string) string {
	levels, ok := splitDN(text)
	if !ok {
		return text
	}
	return strings.Join(levels, ", ")
}

// splitDN cuts "CN=a\, b+OU=c,O=\"d\"" into parts in printed form.
func splitDN(text string) ([]string, bool) {
	var levels []string
	level := ""
	for {
		keyword, rest, ok := strings.Cut(text, "=")
		keyword = strings.ToUpper(strings.TrimSpace(keyword))
		if !ok || keyword == "" {
			return nil, false
		}
		value, separator, rest, ok := attributeValue(rest)
		if !ok {
			return nil, false
		}
		level += keyword + "=" + quoteAttribute(value)
		switch separator {
		case '+':
			level += " + "
		default:
			levels = append(levels, level)
			level = ""
		}
		if separator == 0 {
			return levels, true
		}
		text = rest
	}
}

// attributeValue reads a value, quoted or with escapes, and the separator behind it (0: none).
func attributeValue(text string) (value string, separator byte, rest string, ok bool) {
	text = strings.TrimLeft(text, " ")
	var out strings.Builder
	quoted := strings.HasPrefix(text, `"`)
	i, keep := 0, 0 // keep: length of out that is not trailing blanks
	if quoted {
		i = 1
	}
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			if b, err := hex.DecodeString(text[i:min(i+2, len(text))]); err == nil && len(b) == 1 {
				out.WriteByte(b[0])
				i++
			} else {
				out.WriteByte(text[i])
			}
			keep = out.Len()
		case c == '"' && quoted:
			rest := strings.TrimLeft(text[i+1:], " ")
			if rest == "" {
				return out.String(), 0, "", true
			}
			return out.String(), rest[0], rest[1:], strings.IndexByte(",;+", rest[0]) >= 0
		case !quoted && strings.IndexByte(",;+", c) >= 0:
			return out.String()[:keep], c, text[i+1:], true
		default:
			out.WriteByte(c)
			if c != ' ' || quoted {
				keep = out.Len()
			}
		}
	}
	return out.String()[:keep], 0, "", !quoted
}
