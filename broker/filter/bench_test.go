package filter

import "testing"

func BenchmarkMatch(b *testing.B) {
	var src Source = goldenMessage()
	for _, text := range []string{"i = 5", "s = 'red' AND i BETWEEN 1 AND 9", "s LIKE 'r%d'", "AMQPriority > 4 OR nope IS NULL"} {
		f, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Match(src)
			}
		})
	}
}
