package journal

// A Tap sees what a journal appends: the sending end of a replication stream.
type Tap interface {
	// Appended is called with every record, in stream order, under the append lock. It must only copy or queue it: the
	// payload is a view of the write buffer. The record's N and position are those of the local file.
	Appended(Mark, *Record)
	// Flush is called with no lock held when the flusher takes what was appended to the disk: the moment to send
	// it. It must not wait.
	Flush()
	// Full tells that appends shall wait until Resume is called, except those with Reserve. Called under the append lock.
	Full() bool
}

// Attach lets t see every operation from the next on. Waiters are told as before, until Gate.
func (j *Journal) Attach(t Tap) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tap = t
	j.cmu.Lock()
	j.lost = false
	j.cmu.Unlock()
}

// Gate lets waiters from here on be told only when Confirm has reached their mark, too. Operations before need no
// confirmation.
func (j *Journal) Gate() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gate()
}

// gate is called with mu held.
func (j *Journal) gate() {
	j.cmu.Lock()
	j.gated, j.confirmed = true, max(j.confirmed, j.mark)
	j.cmu.Unlock()
}

// Resume tells that the tap is not full any more.
func (j *Journal) Resume() {
	j.mu.Lock()
	j.wait.Broadcast()
	j.mu.Unlock()
}

// Confirm tells that the tap's other end has everything up to m. Waiters that were held for it are told on the caller's
// goroutine, or on the one that is telling already. A confirmation that comes after Detach decides nothing.
func (j *Journal) Confirm(m Mark) {
	j.cmu.Lock()
	if j.lost {
		j.cmu.Unlock()
		return
	}
	j.confirmed = max(j.confirmed, m)
	gated := j.gated
	j.cmu.Unlock()
	if gated {
		j.complete()
	}
}

// Detach stops the tap. After Gate, waiters that were not confirmed, and later ones, stay held until Release.
func (j *Journal) Detach() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tap = nil
	j.cmu.Lock()
	j.lost = true
	j.cmu.Unlock()
	j.wait.Broadcast() // appends that waited for the tap
}

// Release tells all waiters that are locally durable, and from now on every waiter without confirmation. It does nothing
// while a tap is attached: what was promised to be on two nodes is not released by one.
func (j *Journal) Release() {
	j.mu.Lock()
	if j.tap != nil {
		j.mu.Unlock()
		return
	}
	j.cmu.Lock()
	j.gated = false
	j.cmu.Unlock()
	j.mu.Unlock()
	j.complete()
}

// tapped tells whether a tap is attached.
func (j *Journal) tapped() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tap != nil
}

// Pin keeps files from being reclaimed and compacted until Unpin. A compaction that is running is waited for.
func (j *Journal) Pin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pins++
	for j.compaction != nil && j.err == nil {
		j.wait.Wait()
	}
}

// Unpin ends a Pin.
func (j *Journal) Unpin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pins--
	j.callHands()
}

// Barrier stops all appends, waits until everything is synced, begins a new file, calls f, and lets appends go on: the start of
// a synchronisation. files are those that hold everything before, oldest first; they are complete, and stay as they are
// while f runs or, if f calls Pin, longer. f may Attach a tap, which then sees exactly what files do not hold.
//
// A running compaction is waited for before appends are stopped. Operations of waiters (Reserve) go on while Barrier waits,
// but not while f runs. There is one barrier at a time.
func (j *Journal) Barrier(f func(files []FileInfo) error) error {
	j.barring.Lock()
	defer j.barring.Unlock()
	files, err := j.beginBarrier()
	if err == nil {
		err = f(files)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pins--
	j.barrier, j.quiet = false, false
	j.wait.Broadcast()
	j.callHands()
	return err
}

func (j *Journal) beginBarrier() ([]FileInfo, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pins++ // no compaction begins any more
	for j.busy || j.compaction != nil {
		if j.err != nil {
			return nil, j.err
		}
		j.wait.Wait()
	}
	j.barrier = true
	for {
		if j.closing {
			return nil, ErrClosed
		}
		if err := j.roll(); err != nil {
			return nil, err
		}
		// The roll becomes real, and the old file sealed, with the next batch.
		for j.synced < j.mark || !j.data[len(j.data)-1].sealed || j.busy {
			if j.err != nil {
				return nil, j.err
			}
			j.cur.asked, j.cur.sync = true, true
			j.wakeFlusher()
			j.wait.Wait()
		}
		if j.pos == j.o.firstPos() { // else a waiter has appended
			break
		}
	}
	j.quiet = true
	var files []FileInfo
	for _, f := range j.data {
		files = append(files, FileInfo{Name: f.name, as: f.name, Size: f.size, Header: Header{f.version, f.id}})
	}
	return files, nil
}
