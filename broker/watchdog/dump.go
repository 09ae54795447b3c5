package watchdog

import (
	"bytes"
	"fmt"
	"runtime/pprof"
)

// Goroutines is what all goroutines are at, those at the same place together with how many they are, in at most limit
// bytes. Those at places of their own come first: the stuck ones are among them.
func Goroutines(limit int) string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return fmt.Sprintf("the goroutines cannot be listed: %v", err)
	}
	head, rest, _ := bytes.Cut(b.Bytes(), []byte("\n"))
	groups := bytes.Split(bytes.TrimSpace(rest), []byte("\n\n"))
	var out bytes.Buffer
	out.Write(head)
	out.WriteString("\n\n")
	for i := range groups {
		g := groups[len(groups)-1-i] // the profile has the largest groups first
		if out.Len()+len(g)+2 > limit {
			fmt.Fprintf(&out, "… and %d more places", len(groups)-i)
			break
		}
		out.Write(g)
		out.WriteString("\n\n")
	}
	return string(bytes.TrimSpace(out.Bytes()))
}
