// Package filter is the selector language of queue filters, consumer selectors, diverts, bridges and management
// filters: the JMS selector grammar with the extensions and the corner cases of the Artemis 2.40 engine.
//
// # Grammar
//
// Keywords are case-insensitive, identifiers are not.
//
//	selector   = or
//	or         = and { OR and }
//	and        = equality { AND equality }
//	equality   = comparison { "=" comparison | "<>" comparison | IS NULL | IS NOT NULL }
//	comparison = add { (">" | ">=" | "<" | "<=") add
//	           | [NOT] LIKE string [ESCAPE string]
//	           | [NOT] BETWEEN add AND add
//	           | [NOT] IN "(" string {"," string} ")" }
//	add        = mult { ("+" | "-") mult }
//	mult       = unary { ("*" | "/" | "%") unary }
//	unary      = "+" unary | "-" unary | NOT unary | XPATH string | XQUERY string | primary
//	primary    = literal | identifier | "(" or ")"
//	literal    = 'text' ('' is a quote) | 12 | 12L | 0x1F | 017 | 5.5 | 5. | .5 | 5e10 | TRUE | FALSE | NULL
//	identifier = [A-Za-z_$][A-Za-z0-9_$]*  |  "any text" ("" is a quote)
//
// Blanks are space, tab, CR, LF and FF; "/* … */" and "-- …" up to a line end are comments. NOT binds tighter than a
// comparison: "NOT i = 6" is "(NOT i) = 6".
//
// Before the expression any number of these prefixes may stand, the last of a kind wins:
//
//	convert_string_expressions:     a string compared with (or calculated with) another type is read as that type
//	hyphenated_props:               identifiers may contain "-"; there are no quoted identifiers
//	no_convert_string_expressions:  the default
//	no_hyphenated_props:            the default
//
// # Values
//
// A missing property is null. A comparison, LIKE, IN or calculation with null is unknown, unknown is not a match and
// stays unknown under NOT; AND and OR follow Kleene's tables. Two nulls are equal. Numbers widen
// byte → short → int → long → float → double; numbers never equal strings or booleans. "/" and "%" give doubles, "+"
// after a string concatenates. A bare property matches only when it is boolean true. Calculating with what is not a
// number, negating a byte or short, and ordering byte arrays are evaluation errors: the message does not match.
//
// # Identifiers
//
// The package gives names no meaning: a [Source] answers for the header names (AMQPriority, AMQDurable, …) and for
// message properties. [FromJMS] translates the header names of a JMS selector, which Artemis' own client does by
// itself and which the AMQP, OpenWire and STOMP fronts do for theirs.
//
// # Limits
//
// A filter has at most [MaxLength] bytes and [MaxDepth] nested operators (chains of AND and OR are flat and count
// once). LIKE takes time linear in the text for a given pattern. Matching allocates only for string concatenation.
//
// # XPATH and XQUERY
//
// XPATH 'expression' is a condition on a body that is XML text, as package xpath describes it with its bounds; it is false
// for other bodies, and never unknown. An expression that is none makes the filter one that does not parse. The body is
// read when the evaluation comes to the first XPATH, once for all of a filter, which share the work that a document is
// worth: property conditions belong in front. XQUERY 'anything' is false, as in Artemis.
//
// # API
//
//	func Parse(text string) (*Filter, error)          // "" and blanks: nil filter, which matches everything
//	func (f *Filter) Match(src Source) bool           // safe for concurrent use, on a nil filter too
//	func (f *Filter) String() string
//	type Source interface { Property(name string) Value }
//	type BodySource interface { Source; StringBody(limit int) (string, bool) }
//	func FromJMS(selector string) string
//	type SyntaxError struct { Filter string; Offset int; Reason string }
package filter
