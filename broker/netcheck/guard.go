package netcheck

// An Action is what a Guard wants to be done.
type Action uint8

const (
	Nothing Action = iota
	Stop           // the network is gone
	Start          // it is back
)

// A Guard decides when a service stops and starts with the network. It starts only what it has stopped.
type Guard struct{ stopped bool }

// Step takes the outcome of a check and whether the service runs.
func (g *Guard) Step(healthy, running bool) Action {
	switch {
	case !healthy && running:
		return Stop
	case healthy && !running && g.stopped:
		return Start
	case healthy && running:
		g.stopped = false
	}
	return Nothing
}

// Stopped notes that the service was stopped because Step said so.
func (g *Guard) Stopped() { g.stopped = true }

// Started notes that it was started because Step said so. After a start that failed it is not called: the next check tries
// again.
func (g *Guard) Started() { g.stopped = false }
