package security

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// reloadable is the content of a properties file in the form that a login module needs. It is read at the first use
// and, when reload is set, again after the file has changed. While the file cannot be read nobody gets in by it.
type reloadable[T any] struct {
	path   string
	reload bool
	log    hclog.Logger
	build  func(*Properties) (T, error)

	mu     sync.Mutex
	loaded bool
	info   os.FileInfo
	at     time.Time // when info was taken
	value  T
}

// settled is how long before it was read a file must have been written for its time of change to be trusted: two
// writes in one tick of the file system's clock look alike.
const settled = time.Second

func (r *reloadable[T]) get() (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded && !r.reload {
		return r.value, nil
	}
	now := time.Now()
	info, err := os.Stat(r.path)
	if err != nil {
		return r.failed(err)
	}
	if r.loaded && os.SameFile(info, r.info) && info.ModTime().Equal(r.info.ModTime()) && info.Size() == r.info.Size() &&
		r.at.Sub(info.ModTime()) >= settled {
		return r.value, nil
	}
	properties, err := readPropertiesFile(r.path)
	if err != nil {
		return r.failed(err)
	}
	value, err := r.build(properties)
	if err != nil {
		return r.failed(fmt.Errorf("%s: %w", r.path, err))
	}
	r.loaded, r.info, r.at, r.value = true, info, now, value
	return value, nil
}

func (r *reloadable[T]) failed(err error) (T, error) {
	r.loaded = false
	r.log.Error("AMQ224085: Failed to load property PropsFile="+r.path, "reason", err)
	var none T
	return none, unavailable{err}
}

// textValues is the content of a users file: the last value of each key.
func textValues(p *Properties) (map[string]string, error) {
	values := make(map[string]string)
	for _, key := range p.Keys() {
		values[key], _ = p.Get(key)
	}
	return values, nil
}
