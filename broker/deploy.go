package broker

import (
	"reflect"
	"slices"
)

// DeployDivert makes a divert of the configuration be there and be like this: it is created, changed in place without a
// message being missed or diverted twice, or left alone. One that management has stored is left alone, too. It reports
// whether it changed something.
func (b *Broker) DeployDivert(cfg DivertConfig) (bool, error) {
	return b.deployDivert(cfg, false)
}

// RestoreDivert is DeployDivert for a divert that was found in StoredConfigs; it replaces one of the configuration.
func (b *Broker) RestoreDivert(cfg DivertConfig) (bool, error) {
	return b.deployDivert(cfg, true)
}

func (b *Broker) deployDivert(cfg DivertConfig, stored bool) (bool, error) {
	b.admin.Lock()
	defer b.admin.Unlock()
	f, err := b.parseFilter(cfg.Filter)
	if err != nil {
		return false, err
	}
	if cfg.RoutingName == "" {
		cfg.RoutingName = cfg.Name
	}
	b.mu.RLock()
	old := b.diverts[cfg.Name]
	b.mu.RUnlock()
	if old != nil && (old.stored && !stored || old.stored == stored && sameDivert(old.cfg, cfg)) {
		return false, nil
	}
	a := b.Address(cfg.Address)
	if a == nil {
		if a, err = b.createAddress(cfg.Address, MulticastSet|AnycastSet, true, false); err != nil {
			return false, err
		}
	}
	b.swapDivert(old, &Divert{b: b, cfg: cfg, filter: f, stored: stored}, a)
	return true, nil
}

// sameDivert compares two diverts; a nil map of properties is an empty one.
func sameDivert(x, y DivertConfig) bool {
	if len(x.TransformerProps) == 0 && len(y.TransformerProps) == 0 {
		x.TransformerProps, y.TransformerProps = nil, nil
	}
	return reflect.DeepEqual(x, y)
}

// swapDivert puts a divert under an address, in the place of an old one, which may be nil or of another address. Called
// with admin held.
func (b *Broker) swapDivert(old, d *Divert, a *Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.diverts[d.cfg.Name] = d
	bindings := slices.Clone(a.bindings)
	if i := slices.IndexFunc(bindings, func(x Binding) bool { return old != nil && x == Binding(old) }); i >= 0 {
		bindings[i] = d
	} else {
		bindings = append(bindings, d)
	}
	a.bindings = bindings
	if old != nil && old.cfg.Address != d.cfg.Address {
		if was := b.addresses[old.cfg.Address]; was != nil {
			was.bindings = removeBinding(was.bindings, old)
		}
	}
	b.changed()
}

// Stored tells whether management made the divert, so that it outlives a restart.
func (d *Divert) Stored() bool { return d.stored }
