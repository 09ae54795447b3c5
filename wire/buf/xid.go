package buf

// Xid is the name of an XA transaction branch. Branch and Global hold raw
// bytes, not text, as strings so that a Xid is comparable and can key a map.
type Xid struct {
	FormatID int32
	Branch   string // branch qualifier; on the wire before the global id
	Global   string // global transaction id
}

// Xid reads a transaction branch name.
func (r *Reader) Xid() Xid {
	f := r.Int32()
	b := r.Block()
	g := r.Block()
	if r.err != nil {
		return Xid{}
	}
	return Xid{FormatID: f, Branch: string(b), Global: string(g)}
}

// AppendXid appends a transaction branch name.
func AppendXid(dst []byte, x Xid) []byte {
	dst = AppendInt32(dst, x.FormatID)
	dst = append(AppendInt32(dst, int32(len(x.Branch))), x.Branch...)
	return append(AppendInt32(dst, int32(len(x.Global))), x.Global...)
}
