// Package xpath evaluates XPath 1.0 conditions on small XML texts: the XPATH 'expression' of a filter, as Artemis
// evaluates it with the XPath of the Java runtime.
//
// # Expressions
//
// All axes, node tests, operators and core functions of XPath 1.0, and of the additions of the Java runtime current,
// generate-id, system-property (always ""), function-available, element-available (always false) and
// unparsed-entity-uri (always ""). The result counts as a boolean: a node set that is not empty, a number that is neither
// 0 nor NaN, a text that is not empty. An expression starts at the root of the document, where position() is -1 and
// last() is 0.
//
// Nobody binds prefixes, so a prefix in an expression stands for the namespace that is spelled like it; name tests
// without one are for names without a namespace. local-name() and namespace-uri() reach the others. Variables and
// functions with a prefix are accepted but fail when they are evaluated; functions that do not exist are refused.
//
// What follows a name's first letter is not checked, as in Java: "a&b" is a name that no document has.
//
// # Documents
//
// Well-formed XML 1.0 or 1.1 with namespaces, of which only the content counts: comments are left out, CDATA is text, the
// encoding that it declares is not looked at, a document type is skipped without reading anything that it names, so
// that only the five predefined entities exist and attributes have no defaults.
//
// # Bounds
//
// Text and expressions come from strangers, and are looked at under the lock of a queue. A text has at most [MaxText]
// bytes and [MaxDepth] nested elements of [MaxAttributes] attributes, an expression [MaxNesting] nested parts and [MaxOperators] operators, and all
// evaluations on a [Document] together [MaxWork] units of work: a node visited or 16 bytes of text looked at.
// What is beyond is an error of [Compile] or [Parse], or makes [Expr.Holds] false.
package xpath

// Bounds of texts, expressions and evaluations.
const (
	MaxText       = 256 << 10 // bytes of a document
	MaxDepth      = 512       // nested elements
	MaxNodes      = 256 << 10 // of a document, namespace nodes included
	MaxAttributes = 1000      // of an element, declarations of namespaces included
	MaxNesting    = 100       // nested parentheses, predicates and function calls of an expression
	MaxOperators  = 1000      // operators, steps and predicates of an expression
	MaxWork       = 1 << 18   // units of work on a document
)
