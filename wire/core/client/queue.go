package client

// queue is a first-in first-out queue in a slice that is used again: its
// memory stays as large as it once was full.
type queue[T any] struct {
	list []T
	head int
}

func (q *queue[T]) len() int { return len(q.list) - q.head }

// all returns what is in the queue, oldest first, until the next change.
func (q *queue[T]) all() []T { return q.list[q.head:] }

func (q *queue[T]) push(v T) {
	if q.head > 0 && len(q.list) == cap(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, v)
}

// pop removes the oldest; there must be one.
func (q *queue[T]) pop() T {
	var zero T
	v := q.list[q.head]
	q.list[q.head] = zero
	if q.head++; q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	return v
}
