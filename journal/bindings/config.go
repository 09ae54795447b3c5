package bindings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/wire/buf"
)

// securityPermissions is how many role lists a SECURITY_SETTING has; older ones lack the last two.
const securityPermissions = 12

// TypeOf is the user type of a stored setting's record.
func TypeOf(k broker.ConfigKind) byte {
	return [...]byte{
		broker.AddressSettingConfig:  TypeAddressSetting,
		broker.SecuritySettingConfig: TypeSecurity,
		broker.DivertConfigKind:      TypeDivert,
		broker.UserConfig:            TypeUser,
		broker.RoleConfig:            TypeRole,
		broker.ConnectorConfig:       TypeConnector,
		broker.KeyValueConfig:        TypeKeyValue,
	}[k]
}

// AppendConfig appends the payload of a setting's record.
func AppendConfig(dst []byte, c *broker.StoredConfig) []byte {
	switch c.Kind {
	case broker.AddressSettingConfig:
		return buf.AppendSS(buf.AppendSS(dst, c.Key), c.JSON)
	case broker.SecuritySettingConfig:
		dst = buf.AppendSS(dst, c.Key)
		for i := range securityPermissions {
			roles := buf.Of("")
			if i < len(c.Roles) {
				roles.V = c.Roles[i]
			}
			dst = buf.AppendNSS(dst, roles)
		}
		return dst
	case broker.DivertConfigKind:
		return appendDivert(dst, &c.Divert)
	case broker.RoleConfig:
		dst = buf.AppendInt32(buf.AppendSTR(dst, c.Key), int32(len(c.Roles)))
		for _, role := range c.Roles {
			dst = buf.AppendSTR(dst, role)
		}
		return dst
	case broker.KeyValueConfig:
		id, key, _ := strings.Cut(c.Key, "\x00")
		dst = buf.AppendSTR(buf.AppendSTR(dst, id), key)
	default: // user and connector
		dst = buf.AppendSTR(dst, c.Key)
	}
	return buf.AppendSTR(dst, c.Text)
}

// ReadConfig reads a setting's record. ok is false for a type that is no setting this broker knows: it is kept as it is.
func ReadConfig(userType byte, payload []byte) (c broker.StoredConfig, ok bool, err error) {
	r := buf.NewReader(payload)
	switch userType {
	case TypeAddressSetting:
		c = broker.StoredConfig{Kind: broker.AddressSettingConfig, Key: r.SS(), JSON: r.SS()}
	case TypeSecurity:
		c = broker.StoredConfig{Kind: broker.SecuritySettingConfig, Key: r.SS()}
		for i := range securityPermissions {
			if i >= securityPermissions-2 && r.Len() == 0 {
				break
			}
			c.Roles = append(c.Roles, r.NSS().V)
		}
	case TypeDivert:
		c = broker.StoredConfig{Kind: broker.DivertConfigKind, Divert: readDivert(&r)}
		c.Key = c.Divert.Name
	case TypeUser:
		c = broker.StoredConfig{Kind: broker.UserConfig, Key: r.STR(), Text: r.STR()}
	case TypeRole:
		c = broker.StoredConfig{Kind: broker.RoleConfig, Key: r.STR()}
		for range r.Count(4) {
			c.Roles = append(c.Roles, r.STR())
		}
	case TypeConnector:
		c = broker.StoredConfig{Kind: broker.ConnectorConfig, Key: r.STR(), Text: r.STR()}
	case TypeKeyValue:
		c = broker.StoredConfig{Kind: broker.KeyValueConfig, Key: r.STR() + "\x00" + r.STR(), Text: r.STR()}
	default:
		return c, false, nil
	}
	if r.Err() != nil {
		return c, true, fmt.Errorf("setting of type %d: %w", userType, r.Err())
	}
	return c, true, nil
}

func appendDivert(dst []byte, d *broker.DivertConfig) []byte {
	for _, s := range []string{d.Name, d.Address, d.ForwardAddress, d.RoutingName} {
		dst = buf.AppendNSTR(dst, optional(s))
	}
	dst = buf.AppendBool01(dst, d.Exclusive)
	dst = buf.AppendNSTR(dst, optional(d.Filter))
	dst = buf.AppendInt8(dst, int8(d.RoutingType))
	dst = buf.AppendNSTR(dst, optional(d.TransformerClass))
	if d.TransformerClass == "" {
		return dst
	}
	dst = buf.AppendInt32(dst, int32(len(d.TransformerProps)))
	for _, k := range slices.Sorted(maps.Keys(d.TransformerProps)) {
		dst = buf.AppendNSTR(buf.AppendNSTR(dst, buf.Of(k)), buf.Of(d.TransformerProps[k]))
	}
	return dst
}

func readDivert(r *buf.Reader) broker.DivertConfig {
	d := broker.DivertConfig{Name: r.NSTR().V, Address: r.NSTR().V, ForwardAddress: r.NSTR().V, RoutingName: r.NSTR().V,
		Exclusive: r.Bool(), Filter: r.NSTR().V, RoutingType: broker.DivertRouting(r.Int8())}
	d.TransformerClass, d.TransformerProps = readTransformer(r)
	return d
}

func readTransformer(r *buf.Reader) (class string, props map[string]string) {
	c := r.NSTR()
	if !c.Valid {
		return "", nil
	}
	for range r.Count(2) {
		k, v := r.NSTR(), r.NSTR()
		if props == nil {
			props = map[string]string{}
		}
		props[k.V] = v.V
	}
	return c.V, props
}

func optional(s string) buf.Null[string] { return buf.Null[string]{V: s, Valid: s != ""} }

// Bridge is a stored bridge. This broker does not run it yet; it is kept as it is and shown by `data print`.
type Bridge struct {
	Name, ParentName, QueueName, ForwardingAddress, Filter, DiscoveryGroup string

	HA                          buf.Null[bool]
	RetryInterval               buf.Null[int64]
	RetryIntervalMultiplier     buf.Null[float64]
	InitialConnectAttempts      buf.Null[int32]
	ReconnectAttempts           buf.Null[int32]
	ReconnectAttemptsOnSameNode buf.Null[int32]
	UseDuplicateDetection       buf.Null[bool]
	ConfirmationWindowSize      buf.Null[int32]
	ProducerWindowSize          buf.Null[int32]
	ClientFailureCheckPeriod    buf.Null[int64]
	User, Password              string
	ConnectionTTL               buf.Null[int64]
	MaxRetryInterval            buf.Null[int64]
	MinLargeMessageSize         buf.Null[int32]
	CallTimeout                 buf.Null[int64]
	Concurrency                 buf.Null[int32]
	ConfigurationManaged        buf.Null[bool]
	RoutingType                 int8
	TransformerClass            string
	TransformerProps            map[string]string
	StaticConnectors            []string
	PendingAckTimeout           buf.Null[int64]
	ClientID                    string
}

// ReadBridge reads the payload of a BRIDGE, whose fields stand in the order of the struct; the last two are opt.
func ReadBridge(payload []byte) (*Bridge, error) {
	r := buf.NewReader(payload)
	b := &Bridge{Name: r.NSTR().V, ParentName: r.NSTR().V, QueueName: r.NSTR().V, ForwardingAddress: r.NSTR().V,
		Filter: r.NSTR().V, DiscoveryGroup: r.NSTR().V, HA: r.NBool(), RetryInterval: r.NLong()}
	if r.Bool() {
		b.RetryIntervalMultiplier = buf.Of(r.Float64())
	}
	b.InitialConnectAttempts, b.ReconnectAttempts, b.ReconnectAttemptsOnSameNode = r.NInt(), r.NInt(), r.NInt()
	b.UseDuplicateDetection, b.ConfirmationWindowSize, b.ProducerWindowSize = r.NBool(), r.NInt(), r.NInt()
	b.ClientFailureCheckPeriod, b.User, b.Password = r.NLong(), r.NSTR().V, r.NSTR().V
	b.ConnectionTTL, b.MaxRetryInterval, b.MinLargeMessageSize, b.CallTimeout = r.NLong(), r.NLong(), r.NInt(), r.NLong()
	b.Concurrency, b.ConfigurationManaged, b.RoutingType = r.NInt(), r.NBool(), r.Int8()
	b.TransformerClass, b.TransformerProps = readTransformer(&r)
	for range r.Count(1) {
		b.StaticConnectors = append(b.StaticConnectors, r.NSTR().V)
	}
	if r.Len() > 0 {
		b.PendingAckTimeout = r.NLong()
	}
	if r.Len() > 0 {
		b.ClientID = r.NSTR().V
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("bridge: %w", r.Err())
	}
	return b, nil
}
