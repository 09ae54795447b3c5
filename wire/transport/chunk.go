package transport

import "sync"

// A chunk is pooled memory that copied output is collected in.
type chunk struct {
	buf   []byte // what has been reserved; cap is the chunk's size
	class int    // index in chunkSizes, -1 for one of its own size that is not pooled
}

var chunkSizes = [...]int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}

var chunkPools [len(chunkSizes)]sync.Pool

// getChunk returns an empty chunk of at least n bytes.
func getChunk(n int) *chunk {
	for i, size := range chunkSizes {
		if n > size {
			continue
		}
		if c, ok := chunkPools[i].Get().(*chunk); ok {
			return c
		}
		return &chunk{buf: make([]byte, 0, size), class: i}
	}
	return &chunk{buf: make([]byte, 0, n), class: -1}
}

func (c *chunk) put() {
	if c.class < 0 {
		return
	}
	poison(c.buf)
	c.buf = c.buf[:0]
	chunkPools[c.class].Put(c)
}

// readSize is what one read can bring: beyond it a larger buffer gains nothing, because socket buffers end there.
const readSize = 256 << 10

var readPool = sync.Pool{New: func() any { return new([readSize]byte) }}
