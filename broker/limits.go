package broker

// Limits bound what one user may have (resource-limit-setting). -1 is no limit, 0 is nothing at all.
type Limits struct {
	Sessions int // max-connections
	Queues   int // max-queues
}

func (b *Broker) limits(user string) Limits {
	if b.opts.Limits == nil {
		return Limits{-1, -1}
	}
	return b.opts.Limits(user)
}

// checkSessions refuses one session more of a user than he may have. Called with the registry lock held.
func (b *Broker) checkSessions(user string) error {
	limit := b.limits(user).Sessions
	if limit < 0 {
		return nil
	}
	n := 0
	for _, s := range b.sessions {
		if s.Principal.User == user {
			n++
		}
	}
	if n >= limit {
		return errorf(SessionCreationRejected, "AMQ229110: Too many sessions for user '%s'. Sessions allowed: %d.", user, limit)
	}
	return nil
}

// checkQueues refuses one queue more of a user than he may have. Called with admin held.
func (b *Broker) checkQueues(user string) error {
	limit := b.limits(user).Queues
	if limit < 0 {
		return nil
	}
	n := 0
	b.mu.RLock()
	for _, q := range b.queues {
		if q.owner() == user {
			n++
		}
	}
	b.mu.RUnlock()
	if n >= limit {
		return errorf(SecurityException, "AMQ229111: Too many queues created by user '%s'. Queues allowed: %d.", user, limit)
	}
	return nil
}

// owner is the user that the queue belongs to.
func (q *Queue) owner() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cfg.User
}
