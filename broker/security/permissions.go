package security

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Setting gives permissions on the addresses of one match (security-setting). Settings of different matches do not
// merge: for each address the most specific match alone counts, and what it does not grant is denied.
type Setting struct {
	Match string
	Roles map[Permission][]string // role-mapping already applied
}

// allows says whether the setting grants the permission to one of the roles.
func (s *Setting) allows(p Permission, roles []string) bool {
	if s == nil {
		return false
	}
	for _, granted := range s.Roles[p] {
		for _, role := range roles {
			if granted == role {
				return true
			}
		}
	}
	return false
}

// Permissions decides what a principal may do on addresses and queues. A check of an address that was asked for
// before takes no lock and does not allocate; changing the settings takes effect for the next check. All methods are
// safe for concurrent use.
type Permissions struct {
	enabled   bool
	wildcards Wildcards
	cacheSize int

	changing sync.Mutex // held while replacing settings
	settings atomic.Pointer[settings]
}

// PermissionsOptions configure [NewPermissions].
type PermissionsOptions struct {
	Disabled  bool // security-enabled=false: everything is allowed
	Wildcards Wildcards
	CacheSize int // authorization-cache-size: addresses whose setting is remembered; 0: none
}

// settings is one generation: immutable but for the cache.
type settings struct {
	byMatch map[string]*Setting
	exact   map[string]*Setting            // addresses and FQQNs
	queues  map[string]map[string]*Setting // by address and queue: the exact matches that are FQQNs
	wild    []wildSetting                  // most specific first
	cache   resolved
}

// NewPermissions makes the permissions of the settings. The last of several settings with the same match counts. The
// error wraps [ErrMatch].
func NewPermissions(o PermissionsOptions, list []Setting) (*Permissions, error) {
	p := &Permissions{enabled: !o.Disabled, wildcards: o.Wildcards.orDefault(), cacheSize: o.CacheSize}
	if err := p.Replace(list); err != nil {
		return nil, err
	}
	return p, nil
}

// Replace puts the given settings in the place of all others.
func (p *Permissions) Replace(list []Setting) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	byMatch := make(map[string]*Setting, len(list))
	for _, s := range list {
		byMatch[s.Match] = &s
	}
	return p.install(byMatch)
}

// Put adds a setting, or replaces the one with the same match.
func (p *Permissions) Put(s Setting) error {
	return p.change(func(byMatch map[string]*Setting) { byMatch[s.Match] = &s })
}

// Remove drops the setting with exactly this match, if there is one.
func (p *Permissions) Remove(match string) error {
	return p.change(func(byMatch map[string]*Setting) { delete(byMatch, match) })
}

func (p *Permissions) change(edit func(map[string]*Setting)) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	byMatch := make(map[string]*Setting)
	for match, s := range p.settings.Load().byMatch {
		byMatch[match] = s
	}
	edit(byMatch)
	return p.install(byMatch)
}

func (p *Permissions) install(byMatch map[string]*Setting) error {
	next := &settings{byMatch: byMatch, exact: make(map[string]*Setting), queues: make(map[string]map[string]*Setting)}
	next.cache.limit = p.cacheSize
	for match, s := range byMatch {
		if p.wildcards.isWild(match) {
			pattern, err := p.wildcards.compile(match)
			if err != nil {
				return err
			}
			next.wild = append(next.wild, wildSetting{pattern, s})
			continue
		}
		next.exact[match] = s
		if address, queue, ok := strings.Cut(match, "::"); ok {
			if next.queues[address] == nil {
				next.queues[address] = make(map[string]*Setting)
			}
			next.queues[address][queue] = s
		}
	}
	p.wildcards.sort(next.wild)
	p.settings.Store(next)
	return nil
}

// Clear forgets which setting applies to which address.
func (p *Permissions) Clear() {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.install(p.settings.Load().byMatch) // has compiled before
}

// Settings are all settings, sorted by match.
func (p *Permissions) Settings() []Setting {
	var list []Setting
	for _, s := range p.settings.Load().byMatch {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Match, b.Match) })
	return list
}

// For is the setting that applies to an address, the zero Setting when none does.
func (p *Permissions) For(address string) Setting {
	if s := p.settings.Load().find(bareAddress(address), ""); s != nil {
		return *s
	}
	return Setting{}
}

// Allowed says whether the principal has the permission. Of an FQQN in address only the address counts. A queue, which
// may be "" or an FQQN too, matters when a match is exactly "address::queue": that replaces the match of the address.
func (p *Permissions) Allowed(who Principal, permission Permission, address, queue string) bool {
	if !p.enabled || who.all {
		return true
	}
	if len(who.Roles) == 0 {
		return false
	}
	return p.settings.Load().find(bareAddress(address), bareQueue(queue)).allows(permission, who.Roles)
}

// Check is [Permissions.Allowed] with the error for the client, a *[PermissionError].
func (p *Permissions) Check(who Principal, permission Permission, address, queue string) error {
	if p.Allowed(who, permission, address, queue) {
		return nil
	}
	return &PermissionError{who.User, permission, bareAddress(address), bareQueue(queue)}
}

// Enabled is false with security-enabled=false.
func (p *Permissions) Enabled() bool { return p.enabled }

func bareAddress(address string) string {
	bare, _, _ := strings.Cut(address, "::")
	return bare
}

func bareQueue(queue string) string {
	if _, bare, ok := strings.Cut(queue, "::"); ok {
		return bare
	}
	return queue
}

func (s *settings) find(address, queue string) *Setting {
	if queue != "" && len(s.queues) > 0 {
		if setting := s.queues[address][queue]; setting != nil {
			return setting
		}
	}
	if setting := s.exact[address]; setting != nil {
		return setting
	}
	if setting, ok := s.cache.get(address); ok {
		return setting
	}
	var found *Setting
	for _, w := range s.wild {
		if w.pattern.MatchString(address) {
			found = w.Setting
			break
		}
	}
	s.cache.put(address, found)
	return found
}
