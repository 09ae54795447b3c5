package curator

import (
	"math"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// Keys of the manager's properties.
const (
	keyConnect    = "connect-string"  // required
	keyNamespace  = "namespace"       // none
	keySession    = "session-ms"      // the store's default: 18000 for ZooKeeper
	keyPercent    = "session-percent" // 33
	keyConnection = "connection-ms"   // 8000
	keyRetries    = "retries"         // 1; negative: for ever
	keyRetryPause = "retries-ms"      // 1000
)

// Properties are the properties of Artemis' manager.
type Properties struct {
	Connect        string        // servers, as ZooKeeper's clients write them
	SessionTimeout time.Duration // asked for; the store may grant another. 0: not given
	// SessionPercent is which part of the granted time the session may be without a connection before it is taken as
	// lost, 0 to 100. 0 is taken as 100: Curator would then wait for the store's word.
	SessionPercent    int
	ConnectionTimeout time.Duration // how long an operation waits for a connection
	Options
}

// ParseProperties reads and checks them.
func ParseProperties(p quorum.Properties) (Properties, error) {
	q := Properties{Options: Options{Namespace: p[keyNamespace]}}
	var err error
	if q.Connect, err = p.Text(keyConnect); err != nil {
		return q, err
	}
	number := func(key string, def, lo int) (n int) {
		if err == nil {
			hi := math.MaxInt32
			if key == keyPercent {
				hi = 100
			}
			n, err = p.Int(key, def, lo, hi)
		}
		return n
	}
	ms := func(key string, def, lo int) time.Duration {
		return time.Duration(number(key, def, lo)) * time.Millisecond
	}
	q.SessionTimeout = ms(keySession, 0, 1)
	q.SessionPercent = number(keyPercent, 33, 0)
	q.ConnectionTimeout = ms(keyConnection, 8000, 0)
	q.Retries = number(keyRetries, 1, math.MinInt32)
	q.RetryPause = ms(keyRetryPause, 1000, 0)
	return q, err
}

// Kind is a manager with Artemis' class names and properties, over the sessions that connect makes.
func Kind(open func(Properties) (*Manager, error)) quorum.Kind {
	return quorum.Kind{
		Classes:    []string{quorum.ClassCurator, quorum.ClassCuratorOld},
		Properties: []string{keyConnect, keyNamespace, keySession, keyPercent, keyConnection, keyRetries, keyRetryPause},
		New: func(p quorum.Properties) (quorum.Manager, error) {
			q, err := ParseProperties(p)
			if err != nil {
				return nil, err
			}
			m, err := open(q)
			if err != nil {
				return nil, err
			}
			return m, nil
		},
	}
}
