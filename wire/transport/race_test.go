//go:build race

package transport

// underRace lets tests do less where the detector makes everything slower.
const underRace = true
