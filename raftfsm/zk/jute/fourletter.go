package jute

// FourLetter reports whether the first four bytes of a connection are a command of four small letters instead of a frame's length.
func FourLetter(first [4]byte) (string, bool) {
	for _, c := range first {
		if c < 'a' || c > 'z' {
			return "", false
		}
	}
	return string(first[:]), true
}
