// Package architecture holds what the project promises about itself in tests: which part may import which (parts, in
// parts_test.go), and that no file names the machine it was written on.
//
//	go test ./test/architecture
package architecture
