package raftfsm

import "time"

// Clock tells the time. A time that it gives must have a monotonic reading if the wall clock of the machine can jump.
type Clock interface{ Now() time.Time }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }
