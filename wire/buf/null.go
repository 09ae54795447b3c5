package buf

// Null is a value that may be absent: nSS, nSTR, nBool, nInt and nLong.
// The zero value is null.
type Null[T any] struct {
	V     T
	Valid bool
}

// Of returns v as a value that is present.
func Of[T any](v T) Null[T] { return Null[T]{V: v, Valid: true} }

// Or returns the value, or def when it is null.
func (n Null[T]) Or(def T) T {
	if n.Valid {
		return n.V
	}
	return def
}
