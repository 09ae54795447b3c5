package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// Folder is the property with the path of the folder; it is required.
const Folder = "locks-folder"

// Kind is this manager for quorum.New.
func Kind() quorum.Kind {
	return quorum.Kind{
		Classes:    []string{quorum.ClassFile},
		Properties: []string{Folder},
		New: func(p quorum.Properties) (quorum.Manager, error) {
			dir, err := p.Text(Folder)
			if err != nil {
				return nil, err
			}
			info, err := os.Stat(dir)
			if err == nil && !info.IsDir() {
				err = fmt.Errorf("%s is not a folder", dir)
			}
			if err != nil {
				return nil, fmt.Errorf("property %q: %w; the folder has to exist", Folder, err)
			}
			return &Manager{dir: dir}, nil
		},
	}
}

// A Manager is the quorum.Manager of a folder.
type Manager struct {
	dir string

	mu    sync.Mutex
	locks map[string]*Lock // nil: not started
	longs map[string]*Long
}

// Start implements quorum.Manager; it does not wait.
func (m *Manager) Start(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks == nil {
		m.locks, m.longs = map[string]*Lock{}, map[string]*Long{}
	}
	return nil
}

// Stop implements quorum.Manager.
func (m *Manager) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.locks {
		l.close()
	}
	for _, l := range m.longs {
		l.close()
	}
	m.locks, m.longs = nil, nil
}

// Unavailable implements quorum.Manager: never.
func (m *Manager) Unavailable() <-chan struct{} { return nil }

// Lock implements quorum.Manager. It makes the file if it is not there.
func (m *Manager) Lock(id string) (quorum.Lock, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.locks[id]; ok {
		return l, nil
	}
	f, err := m.open(id, id)
	if err != nil {
		return nil, err
	}
	l := &Lock{id: id, f: f}
	m.locks[id] = l
	return l, nil
}

// Long implements quorum.Manager. It makes the file if it is not there.
func (m *Manager) Long(id string) (quorum.Long, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.longs[id]; ok {
		return l, nil
	}
	f, err := m.open(id, "ML:"+id)
	if err != nil {
		return nil, err
	}
	l := &Long{id: id, f: f}
	m.longs[id] = l
	return l, nil
}

// open opens a file of the folder, with m.mu held. It is opened once and stays open until Stop.
func (m *Manager) open(id, name string) (*os.File, error) {
	if m.locks == nil {
		return nil, quorum.ErrNotStarted
	}
	if id == "" || id == "." || id == ".." || strings.ContainsAny(id, "/\x00") {
		return nil, fmt.Errorf("%w: %q is no file name", quorum.ErrBadID, id)
	}
	f, err := os.OpenFile(filepath.Join(m.dir, name), os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w: %w", quorum.ErrUnavailable, err)
	}
	return f, nil
}
