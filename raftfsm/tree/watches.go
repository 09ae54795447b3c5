package tree

// WatchMode is a set of the ways in which a session watches a path.
type WatchMode uint8

// The modes.
const (
	WatchData       WatchMode = 1 << iota // one event: created (if set by exists), deleted, data changed; set by getData and exists
	WatchChildren                         // one event: deleted, children changed; set by getChildren
	WatchPersistent                       // every event of the path; addWatch mode 0
	WatchRecursive                        // every created, deleted, data changed of the path and of all below it; addWatch mode 1

	watchOnce = WatchData | WatchChildren
)

// WatchType is the type field of checkWatches and removeWatches.
type WatchType int32

// The types.
const (
	TypeChildren   WatchType = 1
	TypeData       WatchType = 2
	TypeAny        WatchType = 3
	TypePersistent WatchType = 4
	TypeRecursive  WatchType = 5
)

var typeModes = map[WatchType]WatchMode{
	TypeChildren: WatchChildren, TypeData: WatchData, TypePersistent: WatchPersistent, TypeRecursive: WatchRecursive,
	TypeAny: WatchData | WatchChildren | WatchPersistent | WatchRecursive,
}

// Watches are the watches of the sessions connected to one member. They are not replicated: a client brings them along with setWatches when it
// connects elsewhere. Paths are absolute. Watches has no lock: it is used under the one that guards Apply.
//
// Invariant: paths and sessions hold the same triples; no empty inner map or mode 0 is kept.
type Watches struct {
	limit     int // paths of one session
	paths     map[string]map[int64]WatchMode
	sessions  map[int64]map[string]WatchMode
	bytes     map[int64]int // of the paths of a session
	recursive int           // paths × sessions with WatchRecursive
	total     int           // paths × sessions
}

// pathBytes is the mean length of the paths that a session may watch at its limit.
const pathBytes = 256

// NewWatches makes an empty registry that holds watches on at most limit paths for one session, with 256 bytes of path for each.
func NewWatches(limit int) *Watches {
	return &Watches{limit: limit, paths: map[string]map[int64]WatchMode{}, sessions: map[int64]map[string]WatchMode{}, bytes: map[int64]int{}}
}

// Add sets watches. A repeated one stays one. QUOTAEXCEEDED if the session watches too many paths.
func (w *Watches) Add(session int64, path string, mode WatchMode) Code {
	had := w.sessions[session][path]
	if had == 0 && (len(w.sessions[session]) >= w.limit || w.bytes[session]+len(path) > w.limit*pathBytes) {
		return QuotaExceeded
	}
	w.set(session, path, had, had|mode)
	return OK
}

// Has is checkWatches: OK if the session has a watch of the type on the path, else NOWATCHER; MARSHALLING for an unknown type.
func (w *Watches) Has(session int64, path string, t WatchType) Code {
	mode, ok := typeModes[t]
	if !ok {
		return Marshalling
	}
	if w.sessions[session][path]&mode == 0 {
		return NoWatcher
	}
	return OK
}

// Remove is removeWatches: Has, and the watches of that type are gone. No event comes of it.
func (w *Watches) Remove(session int64, path string, t WatchType) Code {
	code := w.Has(session, path, t)
	if code == OK {
		had := w.sessions[session][path]
		w.set(session, path, had, had&^typeModes[t])
	}
	return code
}

// RemoveSession forgets all watches of a session: its connection or the session itself ended.
func (w *Watches) RemoveSession(session int64) {
	for path, had := range w.sessions[session] {
		w.set(session, path, had, 0)
	}
}

// Fire calls deliver once for each session that watches for the event, and removes the watches that fire once. A session with several watches
// hears of one event once. Events are given in the order of Result.Events; the order among sessions is not fixed. deliver must not use w.
func (w *Watches) Fire(e Event, deliver func(session int64, e Event)) {
	heard := modesOf(e.Type)
	var told map[int64]bool // needed only if there are watches above
	if w.recursive > 0 && heard&WatchRecursive != 0 {
		told = map[int64]bool{}
	}
	for session, had := range w.paths[e.Path] {
		if had&heard == 0 {
			continue
		}
		if told != nil {
			told[session] = true
		}
		w.set(session, e.Path, had, had&^(heard&watchOnce))
		deliver(session, e)
	}
	if told == nil {
		return
	}
	for path := e.Path; path != "/"; {
		if path, _, _ = parentOf(path); path == "" {
			path = "/"
		}
		for session, had := range w.paths[path] {
			if had&WatchRecursive != 0 && !told[session] {
				told[session] = true
				deliver(session, e)
			}
		}
	}
}

// Registration is what a client brings along in setWatches and setWatches2: the paths that it watches, as the caller sees them.
type Registration struct {
	Zxid                                         int64 // relativeZxid: the last transaction that the client saw
	Data, Exist, Children, Persistent, Recursive []string
}

// Restore is setWatches: it sets the watches of a client that connected again, except where the event that a watch stands for happened since r.Zxid; that
// is delivered instead (a reply zxid of -1 belongs to it). v is the state under the same lock. Malformed paths are passed over. QUOTAEXCEEDED, with the
// watches set until then, if there are too many.
func (w *Watches) Restore(v *View, c *Caller, session int64, r Registration, deliver func(session int64, e Event)) Code {
	code := OK
	each := func(paths []string, mode WatchMode, missed func(n *node) EventType) {
		for _, path := range paths {
			abs, ok := c.Abs(path)
			if !ok || code != OK {
				continue
			}
			n := v.lookup(abs)
			if t := missed(n); t != 0 {
				e := Event{Type: t, Path: abs}
				if n != nil {
					e.ACL = n.acl
				}
				deliver(session, e)
				continue
			}
			code = w.Add(session, abs, mode)
		}
	}
	never := func(*node) EventType { return 0 }
	each(r.Data, WatchData, func(n *node) EventType {
		switch {
		case n == nil:
			return NodeDeleted
		case n.mzxid > r.Zxid:
			return NodeDataChanged
		}
		return 0
	})
	each(r.Exist, WatchData, func(n *node) EventType {
		if n != nil {
			return NodeCreated
		}
		return 0
	})
	each(r.Children, WatchChildren, func(n *node) EventType {
		switch {
		case n == nil:
			return NodeDeleted
		case n.pzxid > r.Zxid:
			return NodeChildrenChanged
		}
		return 0
	})
	each(r.Persistent, WatchPersistent, never)
	each(r.Recursive, WatchRecursive, never)
	return code
}

// Len is the number of watches: of pairs of a session and a path.
func (w *Watches) Len() int { return w.total }

// Sessions is the number of sessions with watches.
func (w *Watches) Sessions() int { return len(w.sessions) }

// Paths is the number of watched paths.
func (w *Watches) Paths() int { return len(w.paths) }

// modesOf are the modes that hear of an event on the watched path itself.
func modesOf(t EventType) WatchMode {
	switch t {
	case NodeCreated, NodeDataChanged:
		return WatchData | WatchPersistent | WatchRecursive
	case NodeDeleted:
		return WatchData | WatchChildren | WatchPersistent | WatchRecursive
	case NodeChildrenChanged:
		return WatchChildren | WatchPersistent
	}
	return 0
}

// set changes what a session watches on a path.
func (w *Watches) set(session int64, path string, had, mode WatchMode) {
	if had&WatchRecursive != 0 {
		w.recursive--
	}
	if mode&WatchRecursive != 0 {
		w.recursive++
	}
	if mode == 0 {
		if had != 0 {
			w.total--
			if w.bytes[session] -= len(path); w.bytes[session] == 0 {
				delete(w.bytes, session)
			}
		}
		drop(w.paths, path, session)
		drop(w.sessions, session, path)
		return
	}
	if had == 0 {
		w.total++
		w.bytes[session] += len(path)
	}
	put(w.paths, path, session, mode)
	put(w.sessions, session, path, mode)
}

func drop[A, B comparable](m map[A]map[B]WatchMode, a A, b B) {
	delete(m[a], b)
	if len(m[a]) == 0 {
		delete(m, a)
	}
}

func put[A, B comparable](m map[A]map[B]WatchMode, a A, b B, mode WatchMode) {
	if m[a] == nil {
		m[a] = map[B]WatchMode{}
	}
	m[a][b] = mode
}
