package lock

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// State is the first byte of server.lock.
type State byte

// The states. NotStarted is never written: it is what a file that cannot be read counts as.
const (
	FirstTime   State = '0' // the file was just made
	NotStarted  State = 'N'
	FailingBack State = 'F' // a primary wants the lock
	Live        State = 'L' // a broker is active, or has crashed
	Paused      State = 'P' // stopped in good order
)

// UUID is a node's id.
type UUID [16]byte

func (u UUID) String() string {
	var b [36]byte
	hex.Encode(b[0:], u[0:4])
	hex.Encode(b[9:], u[4:6])
	hex.Encode(b[14:], u[6:8])
	hex.Encode(b[19:], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// NewUUID makes a time-based UUID with a random node.
func NewUUID(now time.Time) (UUID, error) {
	var u UUID
	if _, err := rand.Read(u[8:]); err != nil {
		return u, fmt.Errorf("make a node id: %w", err)
	}
	const gregorian = 0x01b21dd213814000 // 1582-10-15 in units of 100 ns before 1970
	t := uint64(now.UnixNano()/100) + gregorian
	binary.BigEndian.PutUint32(u[0:], uint32(t))
	binary.BigEndian.PutUint16(u[4:], uint16(t>>32))
	binary.BigEndian.PutUint16(u[6:], uint16(t>>48)&0x0fff|0x1000)
	u[8] = u[8]&0x3f | 0x80
	u[10] |= 1 // a multicast address is nobody's
	return u, nil
}

const (
	serverLock  = "server.lock"
	primaryLock = "serverlock.1"
	backupLock  = "serverlock.2"

	idOffset = 3
)

// Node is the locks and the identity of a broker's data. Its methods may be called from any goroutine.
type Node struct {
	mu      sync.Mutex // of state
	state   *File
	primary *File
	backup  *File
	name    string
	id      UUID
	touched time.Time // modification time of server.lock after our last write
}

// Open opens the lock files in dir, makes those that are not there, and gives the node an id if it has none.
func Open(dir string) (*Node, error) {
	n := &Node{name: filepath.Join(dir, serverLock)}
	var err error
	if n.state, err = OpenFile(n.name); err == nil {
		if n.primary, err = OpenFile(filepath.Join(dir, primaryLock)); err == nil {
			n.backup, err = OpenFile(filepath.Join(dir, backupLock))
		}
	}
	if err == nil {
		// Under the state's lock: two nodes that start on an empty folder get one id.
		err = n.locked(func() error { return n.init(dir) })
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) init(dir string) error {
	f := n.state.f
	i, err := f.Stat()
	if err != nil {
		return err
	}
	changed := false
	if i.Size() < idOffset {
		if _, err := f.WriteAt([]byte{byte(FirstTime), '0', '0'}, 0); err != nil {
			return fmt.Errorf("write %s: %w", n.name, err)
		}
		changed = true
	}
	if i.Size() >= idOffset+int64(len(n.id)) {
		if _, err := f.ReadAt(n.id[:], idOffset); err != nil {
			return fmt.Errorf("read %s: %w", n.name, err)
		}
	} else {
		if n.id, err = NewUUID(time.Now()); err != nil {
			return err
		}
		if _, err := f.WriteAt(n.id[:], idOffset); err != nil {
			return fmt.Errorf("write %s: %w", n.name, err)
		}
		changed = true
	}
	if changed {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("sync %s: %w", n.name, err)
		}
	}
	return n.remember()
}

// ID is the node's id.
func (n *Node) ID() UUID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// Reload reads the id again: another node of a shared store may have written it after Open.
func (n *Node) Reload() error {
	return n.locked(func() error {
		if _, err := n.state.f.ReadAt(n.id[:], idOffset); err != nil {
			return fmt.Errorf("read the node id in %s: %w", n.name, err)
		}
		return nil
	})
}

// SetID gives the node another id: a replica takes the primary's.
func (n *Node) SetID(id UUID) error {
	return n.locked(func() error {
		if _, err := n.state.f.WriteAt(id[:], idOffset); err != nil {
			return fmt.Errorf("write %s: %w", n.name, err)
		}
		n.id = id
		return n.state.f.Sync()
	})
}

// State reads the state; NotStarted when it cannot be read.
func (n *Node) State() (State, error) {
	s := NotStarted
	err := n.locked(func() error {
		var b [1]byte
		if _, err := n.state.f.ReadAt(b[:], 0); err != nil {
			return fmt.Errorf("read %s: %w", n.name, err)
		}
		s = State(b[0])
		return nil
	})
	return s, err
}

// SetState writes and syncs the state.
func (n *Node) SetState(s State) error {
	return n.locked(func() error {
		if _, err := n.state.f.WriteAt([]byte{byte(s)}, 0); err != nil {
			return fmt.Errorf("write %s: %w", n.name, err)
		}
		if err := n.state.f.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", n.name, err)
		}
		return n.remember()
	})
}

// locked runs f with the state's lock, which others hold only for moments.
func (n *Node) locked(f func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := n.state.lock(ctx, 10*time.Millisecond, 100*time.Millisecond); err != nil {
		return fmt.Errorf("state of %s: %w", n.name, err)
	}
	return errors.Join(f(), n.state.Unlock())
}

func (n *Node) remember() error {
	i, err := os.Stat(n.name)
	if err == nil {
		n.touched = i.ModTime()
	}
	return err
}

// Primary is the lock that the active broker holds.
func (n *Node) Primary() *File { return n.primary }

// Backup is the lock that the one backup of a shared store holds.
func (n *Node) Backup() *File { return n.backup }

// Start is what a primary does before it loads: it announces that it wants the lock, and waits for it until the context
// ends.
func (n *Node) Start(ctx context.Context) error {
	if err := n.SetState(FailingBack); err != nil {
		return err
	}
	return n.primary.Lock(ctx)
}

// Activated records that the broker is active.
func (n *Node) Activated() error { return n.SetState(Live) }

// Stop lets go of the primary lock. In good order, and when no backup is to take over, paused is set; otherwise the
// state stays as it is and says that this broker died.
func (n *Node) Stop(paused bool) error {
	var err error
	if paused {
		err = n.SetState(Paused)
	}
	if n.primary.Held() {
		err = errors.Join(err, n.primary.Unlock())
	}
	return err
}

// ErrLost: somebody else has become active on our data.
var ErrLost = errors.New("the primary lock is lost")

// Check tells whether the broker may still be active: the lock is held, and nobody has touched server.lock after us while it
// says that a broker is active, which is how a backup announces that it takes over. To be called every 2 s.
func (n *Node) Check() error {
	if !n.primary.Held() {
		return ErrLost
	}
	if err := n.primary.Reassert(); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	s, err := n.State()
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	i, err := os.Stat(n.name)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s is gone", ErrLost, n.name)
	}
	if err != nil {
		return err
	}
	if s == Live && i.ModTime().After(n.touched) {
		return fmt.Errorf("%w: %s was changed by another process", ErrLost, n.name)
	}
	return nil
}

// Touch announces, by server.lock's modification time, that a backup takes over. The time is later than it was even if the wall
// clock is behind that of the node which wrote last. Java sees milliseconds.
func (n *Node) Touch(now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, err := os.Stat(n.name)
	if err != nil {
		return err
	}
	now = now.Truncate(time.Millisecond)
	if least := i.ModTime().Truncate(time.Millisecond).Add(time.Millisecond); now.Before(least) {
		now = least
	}
	if err := os.Chtimes(n.name, now, now); err != nil {
		return err
	}
	return n.remember()
}

// Close closes the files, which lets go of all locks.
func (n *Node) Close() error {
	var err error
	for _, f := range []*File{n.state, n.primary, n.backup} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
