package transport

// A readBuffer holds what has been read and not yet consumed: in a lent buffer while the connection has data, in an
// allocation of its own size while the socket is dry.
type readBuffer struct {
	lent *[readSize]byte
	r, w int    // unread bytes of lent
	kept []byte // unread bytes when there is no lent buffer
}

func (b *readBuffer) bytes() []byte {
	if b.lent != nil {
		return b.lent[b.r:b.w]
	}
	return b.kept
}

func (b *readBuffer) consume(n int) {
	if b.lent != nil {
		b.r += n
		return
	}
	b.kept = b.kept[n:]
}

// space returns where to read up to limit bytes to, behind the unread ones.
func (b *readBuffer) space(limit int) []byte {
	if b.lent == nil {
		b.lent = readPool.Get().(*[readSize]byte)
		b.r, b.w = 0, copy(b.lent[:], b.kept)
		b.kept = nil
	} else if b.r > 0 {
		b.w = copy(b.lent[:], b.lent[b.r:b.w])
		b.r = 0
	}
	return b.lent[b.w:min(b.w+limit, readSize)]
}

func (b *readBuffer) filled(n int) { b.w += n }

// shrink changes a lent buffer that is mostly empty for memory of the right size.
func (b *readBuffer) shrink() {
	if b.lent != nil && b.w-b.r <= readSize/4 {
		b.settle()
	}
}

// settle returns the lent buffer and keeps the unread bytes.
func (b *readBuffer) settle() {
	if b.lent == nil {
		return
	}
	if rest := b.lent[b.r:b.w]; len(rest) > 0 {
		b.kept = append(make([]byte, 0, len(rest)), rest...)
	}
	b.release()
}

// release returns the lent buffer and drops the unread bytes in it.
func (b *readBuffer) release() {
	if b.lent != nil {
		poison(b.lent[:b.w])
		readPool.Put(b.lent)
		b.lent, b.r, b.w = nil, 0, 0
	}
}
