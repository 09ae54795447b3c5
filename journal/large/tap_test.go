package large

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// unmeasured is a file system that cannot tell the size of one file.
type unmeasured struct {
	fs.FS
	name string
}

func (u unmeasured) Stat(name string) (fs.Info, error) {
	if strings.HasSuffix(name, u.name) {
		return fs.Info{}, syscall.EIO
	}
	return u.FS.Stat(name)
}

// silent is a tap that is told of nothing.
type silent struct{ Tap }

// A body whose size cannot be read is not an empty one: there is no synchronisation, and no load, without it.
func TestUnreadableBody(t *testing.T) {
	l, m, _, _ := newFolder(t)
	for id := range int64(3) {
		write(t, l, id+1, true, content(100)).Release()
	}
	l.fsys = unmeasured{m, "2.msg"}
	if _, err := l.Get(2); !errors.Is(err, syscall.EIO) {
		t.Errorf("the body's message is loaded: %v", err)
	}
	err := l.Attach(silent{}, func(bodies []*Body) { t.Errorf("%d bodies are to be copied", len(bodies)) })
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "2") {
		t.Errorf("attached: %v", err)
	}
	if l.tap != nil || len(l.bodies) != 0 {
		t.Errorf("left: tap %v, %d bodies held", l.tap, len(l.bodies))
	}
	l.fsys = m
	var ids []int64
	if err := l.Attach(silent{}, func(bodies []*Body) {
		for _, b := range bodies {
			ids = append(ids, b.ID())
			defer l.release(b)
		}
	}); err != nil || !slices.Equal(ids, []int64{1, 2, 3}) {
		t.Errorf("bodies %v, %v", ids, err)
	}
	l.Detach()
}
