package drill

// chunk is how many entries a log grows by.
const chunk = 1 << 14

// A log is a list that grows without moving what it holds.
type log[T any] struct{ chunks [][]T }

func (l *log[T]) len() int {
	n := len(l.chunks)
	if n == 0 {
		return 0
	}
	return (n-1)*chunk + len(l.chunks[n-1])
}

func (l *log[T]) append(v T) {
	if n := len(l.chunks); n == 0 || len(l.chunks[n-1]) == chunk {
		l.chunks = append(l.chunks, make([]T, 0, chunk))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, v)
}

func (l *log[T]) at(i int) *T { return &l.chunks[i/chunk][i%chunk] }
