package embedded

import (
	"context"
	"maps"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/curator"
)

// Kind is this manager for quorum.New, on the group of the member. root is the node that the endpoint's clients see as "/";
// "" is tree.ClientRoot.
func Kind(member Member, root string, log hclog.Logger) quorum.Kind {
	k := curator.Kind(func(p curator.Properties) (*curator.Manager, error) {
		o := Options{Root: root, Timeout: p.SessionTimeout, Percent: p.SessionPercent, ConnectionTimeout: p.ConnectionTimeout, Log: log}
		p.Log = log
		return curator.New(p.Options, func(ctx context.Context) (curator.Session, error) {
			s, err := Begin(ctx, member, o)
			if err != nil {
				return nil, err
			}
			return s, nil
		})
	})
	recipe := k.New
	k.New = func(p quorum.Properties) (quorum.Manager, error) {
		p = maps.Clone(p)
		if p == nil {
			p = quorum.Properties{}
		}
		p["connect-string"] = "the member in this process" // the recipe cannot be without
		return recipe(p)
	}
	return k
}
