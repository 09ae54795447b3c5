package filter

import (
	"fmt"
	"strings"
)

// Bounds of a filter's text and of the nesting of its operators. Artemis has none and ends in a stack overflow.
const (
	MaxLength = 64 << 10 // bytes
	MaxDepth  = 512
)

// Names of message header fields that a [Source] answers for. An AMQ name that is none of these, or whose header
// field is not set, is looked up as a message property.
const (
	UserID     = "AMQUserID"     // string "ID:…"
	Priority   = "AMQPriority"   // int
	Timestamp  = "AMQTimestamp"  // long, ms since 1970
	Expiration = "AMQExpiration" // long, ms since 1970, 0 = never
	Durable    = "AMQDurable"    // string "DURABLE" or "NON_DURABLE"
	Size       = "AMQSize"       // int, encoded size in bytes
	Address    = "AMQAddress"    // string
	GroupID    = "AMQGroupID"    // string
)

// A Source gives the value of an identifier, [Null] when the message has none of that name. A string or byte value
// need only stay valid until Match returns.
type Source interface {
	Property(name string) Value
}

// A BodySource is a [Source] that XPATH can look into. For others XPATH is false.
type BodySource interface {
	Source
	// StringBody is the body when it is a text; false for other bodies, and for those of more than limit bytes.
	StringBody(limit int) (string, bool)
}

// Filter is a parsed selector. It is immutable and safe for concurrent use. The nil filter matches everything.
type Filter struct {
	text       string
	root       node
	xpath      bool // has XPATH
	namespaces bool // some XPATH asks for namespace nodes
}

// SyntaxError says why a text is not a filter.
type SyntaxError struct {
	Filter string
	Offset int // bytes from the start of Filter
	Reason string
}

func (e *SyntaxError) Error() string {
	text := e.Filter
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return fmt.Sprintf("invalid filter %q at %d: %s", text, e.Offset, e.Reason)
}

// Parse reads a filter. Surrounding blanks do not count; an empty text gives the nil filter. The error is a
// *[SyntaxError].
func Parse(text string) (*Filter, error) {
	text = trim(text)
	if text == "" {
		return nil, nil
	}
	if len(text) > MaxLength {
		return nil, &SyntaxError{text, MaxLength, fmt.Sprintf("longer than %d bytes", MaxLength)}
	}
	p := newParser(text)
	root := p.selector()
	if p.err != nil {
		return nil, p.err
	}
	return &Filter{text: text, root: root, xpath: p.xpath, namespaces: p.namespaces}, nil
}

// Match says whether the filter accepts the message that src stands for.
func (f *Filter) Match(src Source) bool {
	if f == nil {
		return true
	}
	if f.xpath {
		src = &document{Source: src, namespaces: f.namespaces}
	}
	return matches(f.root, src) == yes
}

// String is the text that the filter was parsed from, without surrounding blanks; "" for the nil filter.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return f.text
}

// trim cuts everything up to the blank from both ends, as java.lang.String.trim does.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
