package zookeeper

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/curator"
)

// Kind is this manager for quorum.New.
func Kind(log hclog.Logger) quorum.Kind {
	const timeout = 18 * time.Second // as in Artemis
	return curator.Kind(func(p curator.Properties) (*curator.Manager, error) {
		servers, root, err := ParseConnect(p.Connect)
		if err != nil {
			return nil, err
		}
		o := Options{
			Servers:           servers,
			Root:              root,
			Timeout:           cmp.Or(p.SessionTimeout, timeout),
			Percent:           p.SessionPercent,
			ConnectionTimeout: p.ConnectionTimeout,
			Log:               log,
		}
		p.Log = log
		return curator.New(p.Options, func(ctx context.Context) (curator.Session, error) {
			s, err := Connect(ctx, o)
			if err != nil {
				return nil, err
			}
			return s, nil
		})
	})
}
