package journal

// Tap sees every operation in stream order, under the append lock. It must only copy or queue it: the record's payload is
// a view of the write buffer. The record's N and position are those of the local file.
type Tap interface {
	Appended(Mark, *Record)
}

// Attach lets t see every operation from the next on. From then on a waiter is told only when Confirm has reached its
// mark, too. Operations before that need no confirmation.
func (j *Journal) Attach(t Tap) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tap = t
	j.gate()
}

// gate holds waiters for confirmation from here on. Called with mu held.
func (j *Journal) gate() {
	j.cmu.Lock()
	j.gated, j.lost, j.confirmed = true, false, max(j.confirmed, j.mark)
	j.cmu.Unlock()
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
	j.cmu.Unlock()
	j.complete()
}

// Detach stops the tap. Waiters that were not confirmed, and later ones, stay held until Release.
func (j *Journal) Detach() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tap = nil
	j.lose()
}

// lose makes later confirmations void. Called with mu held.
func (j *Journal) lose() {
	j.cmu.Lock()
	j.lost = true
	j.cmu.Unlock()
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

// Barrier stops all appends, waits until everything is synced and a running compaction has ended, begins a new file,
// calls f, and lets appends go on: the start of a synchronisation. files are those that hold everything before, oldest
// first; they are complete, and stay as they are while f runs or, if f calls Pin, longer. f may Attach a tap, which
// then sees exactly what files do not hold.
//
// Operations of waiters (Reserve) go on while Barrier waits, but not while f runs.
func (j *Journal) Barrier(f func(files []FileInfo) error) error {
	files, err := j.beginBarrier()
	if err == nil {
		err = f(files)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.barriers--
	j.pins--
	j.quiet = false
	j.wait.Broadcast()
	j.callHands()
	return err
}

func (j *Journal) beginBarrier() ([]FileInfo, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.barriers++
	j.pins++
	for j.busy || j.quiet || j.compaction != nil {
		if j.err != nil {
			return nil, j.err
		}
		j.wait.Wait()
	}
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
