package management

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
)

// DefaultVersion is what getVersion answers unless the environment says otherwise: the release whose management this is.
const DefaultVersion = "2.40.0"

// Environment is what the registry manages. Broker and Config are required.
type Environment struct {
	Broker  *broker.Broker
	Config  *config.Config // as it was loaded
	Version string         // "": DefaultVersion
	Log     hclog.Logger   // nil: none

	Settings AddressSettings         // nil: address settings cannot be changed
	Access   *security.Permissions   // nil: everything is allowed
	Auth     *security.Authenticator // nil: no logins are counted
	Users    security.Users          // nil: users cannot be managed
	RBAC     *security.RBAC          // management messages need view and edit permissions too; nil: they do not
	Audit    Audit                   // nil: no audit lines

	Acceptors func() []Acceptor // in order; nil: none
	Node      Node
}

// AddressSettings are the address settings in force. Implementations are safe for concurrent use.
type AddressSettings interface {
	// Find returns the settings that apply to an address, the most specific first.
	Find(address string) []*config.AddressSetting
	// Put adds the setting of a match or replaces it. It takes effect with Broker.SettingsChanged.
	Put(match string, s *config.AddressSetting) error
	// Remove removes the setting of a match.
	Remove(match string)
}

// Node is what the rest of the node can tell and do. A nil function stands for a broker that is alone and cannot do it.
type Node struct {
	HAPolicy            func() string
	Backup              func() bool
	ReplicaSync         func() bool
	ActivationSequence  func() int64
	Topology            func() []TopologyMember // nil: none
	ClusterConnections  func() []string
	BrokerConnections   func() []Object
	DiskStoreUsage      func() float64 // used share of the disk, 0…1
	ConfigurationStatus func() any     // the part "configuration" of the status
	JAASStatus          func() any     // the part "jaas"
	WebServerStarted    func() bool

	ReloadConfiguration func() error
	ForceFailover       func() error
	FreezeReplication   func() error
	ScaleDown           func(connector string) error
	AddConnector        func(name, url string) error
	RemoveConnector     func(name string) error
	CreateBridge        func(json string) error
	DestroyBridge       func(name string) error
	ExportConfiguration func() error
	RestartWebServer    func() error
}

// TopologyMember is a member of the network. Primary and Backup are host:port, empty for none.
type TopologyMember struct{ NodeID, Primary, Backup string }

// Acceptor is something that lets clients in.
type Acceptor interface {
	Name() string
	Factory() string        // name of the Java class
	Params() map[string]any // as configured
	ExtraParams() map[string]any
	Started() bool
	Start() error
	Stop() error
	Reload() error // reads certificates again
}

// A Registry resolves names of resources and calls them. It is safe for concurrent use.
type Registry struct {
	env      Environment
	b        *broker.Broker
	counters counters

	mu                       sync.Mutex
	failoverOnServerShutdown bool
}

// New makes a registry.
func New(env Environment) *Registry {
	if env.Version == "" {
		env.Version = DefaultVersion
	}
	if env.Log == nil {
		env.Log = hclog.NewNullLogger()
	}
	g := &Registry{env: env, b: env.Broker}
	g.counters.init(env.Config)
	return g
}

// Resource is something that can be managed.
type Resource struct {
	Name  string // "queue.orders"
	Class *Class

	g      *Registry
	target any
}

func errNoResource(name string) error {
	return fmt.Errorf("AMQ229067: Cannot find resource with name %s", name)
}

// Resource returns a resource by its name.
func (g *Registry) Resource(name string) (Resource, error) {
	r := Resource{Name: name, g: g}
	kind, rest, _ := strings.Cut(name, ".")
	switch kind {
	case "broker":
		if rest == "" && !strings.HasSuffix(name, ".") {
			r.Class, r.target = serverClass(), g
			return r, nil
		}
	case "address":
		if a := g.b.Address(rest); a != nil {
			r.Class, r.target = addressClass(), address{g, a}
			return r, nil
		}
	case "queue":
		if q := g.b.Queue(rest); q != nil {
			r.Class, r.target = queueClass(), queue{g, q}
			return r, nil
		}
	case "divert":
		for _, d := range g.b.Diverts() {
			if d.Name() == rest {
				r.Class, r.target = divertClass(), d
				return r, nil
			}
		}
	case "acceptor":
		for _, a := range g.acceptors() {
			if a.Name() == rest {
				r.Class, r.target = acceptorClass(), a
				return r, nil
			}
		}
	}
	return Resource{}, errNoResource(name)
}

// Names returns the names of all resources.
func (g *Registry) Names() []string {
	names := []string{"broker"}
	for _, a := range g.b.Addresses() {
		names = append(names, "address."+a.Name())
	}
	for _, q := range g.b.Queues() {
		names = append(names, "queue."+q.Name())
	}
	for _, d := range g.b.Diverts() {
		names = append(names, "divert."+d.Name())
	}
	for _, a := range g.acceptors() {
		names = append(names, "acceptor."+a.Name())
	}
	return names
}

func (g *Registry) acceptors() []Acceptor {
	if g.env.Acceptors == nil {
		return nil
	}
	return g.env.Acceptors()
}

// Get reads an attribute.
func (r Resource) Get(c Caller, name string) (any, error) {
	a := r.Class.Attribute(name)
	if a == nil {
		return nil, fmt.Errorf("no attribute %s", name)
	}
	r.g.audit(c, r, a.Getter(), nil)
	return a.get(r.target), nil
}

// Set writes an attribute.
func (r Resource) Set(c Caller, name string, v any) error {
	a := r.Class.Attribute(name)
	if a == nil || a.set == nil {
		return fmt.Errorf("no attribute %s that can be set", name)
	}
	v, ok := a.Type.convert(v)
	if !ok || v == nil && primitive(a.Type) {
		return fmt.Errorf("attribute %s is of type %s", name, a.Type)
	}
	r.g.audit(c, r, a.Setter(), []any{v})
	return a.set(r.target, v)
}

// Invoke calls an operation. Arguments are as JSON has them (numbers may be json.Number or Go integers). A method that
// reads or sets an attribute is an operation too.
func (r Resource) Invoke(c Caller, name string, args []any) (any, error) {
	o, converted := r.Class.choose(name, args)
	if o == nil {
		if a := r.Class.getter(name); a != nil && len(args) == 0 {
			return r.Get(c, a.Name)
		}
		if a := r.Class.setter(name); a != nil && len(args) == 1 {
			if v, ok := a.Type.convert(args[0]); ok && (v != nil || !primitive(a.Type)) {
				return nil, r.Set(c, a.Name, v)
			}
		}
		return nil, noOperation(name, len(args))
	}
	r.g.audit(c, r, name, converted)
	v, err := o.do(r.target, &Call{Caller: c, args: converted})
	r.g.audited(c, r, o, converted, err)
	if err != nil {
		return nil, plain(err)
	}
	return v, nil
}

// plain turns errors of the inside into the texts that clients get.
func plain(err error) error {
	if e, ok := err.(*broker.Error); ok && e.Text == "" {
		return fmt.Errorf("error %d", e.Code)
	}
	return err
}
