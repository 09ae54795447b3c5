package config

// Wildcards is the syntax of patterns: in matches of settings, and in addresses
// that take messages for others when RoutingEnabled.
type Wildcards struct {
	RoutingEnabled bool `cfg:"routing-enabled|enabled"`
	// Delimiter, AnyWords and SingleWord are one character each: . # *
	Delimiter  string `cfg:"delimiter" check:"len1"`
	AnyWords   string `cfg:"any-words" check:"len1"`
	SingleWord string `cfg:"single-word" check:"len1"`
}

// DefaultWildcards is the syntax when wildcard-addresses isn't configured.
func DefaultWildcards() Wildcards {
	return Wildcards{RoutingEnabled: true, Delimiter: ".", AnyWords: "#", SingleWord: "*"}
}
