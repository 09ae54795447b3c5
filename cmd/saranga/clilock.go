package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/saranga-mq/saranga/journal/lock"
)

// lockInstance takes lock/cli.lock, which a broker holds while it runs, and tools while they work on its files.
func lockInstance(dir string) (*lock.File, error) {
	folder := filepath.Join(dir, "lock")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("lock the instance: %w", err)
	}
	l, err := lock.OpenFile(filepath.Join(folder, "cli.lock"))
	if err != nil {
		return nil, fmt.Errorf("lock the instance: %w", err)
	}
	switch err := l.TryLock(); {
	case errors.Is(err, lock.ErrHeld):
		l.Close()
		//lint:ignore ST1005 Artemis' own words
		return nil, fmt.Errorf("Error: There is another process using the server at %s. Cannot start the process!", folder)
	case err != nil:
		l.Close()
		return nil, fmt.Errorf("lock the instance: %w", err)
	}
	return l, nil
}
