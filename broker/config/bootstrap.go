package config

import (
	"reflect"
	"strings"
)

// Bootstrap is bootstrap.xml.
type Bootstrap struct {
	// JAAS is nil when a security manager is named instead.
	JAAS            *JAASSecurity `cfg:"jaas-security"`
	SecurityManager *Plugin       `cfg:"security-manager"`
	Server          Server        `cfg:"server,required"`
	Web             *Web          `cfg:"web"`
}

// JAASSecurity names realms of login.config.
type JAASSecurity struct {
	Domain string `cfg:"@domain,required"`
	// CertificateDomain is for connections with a client certificate; empty is Domain.
	CertificateDomain string `cfg:"@certificate-domain"`
}

// Server says where broker.xml is.
type Server struct {
	Configuration string `cfg:"@configuration,required"`
}

// BasicSecurityManager keeps users and roles in the bindings journal.
const BasicSecurityManager = "org.apache.activemq.artemis.spi.core.security.ActiveMQBasicSecurityManager"

// Web is the embedded web server.
type Web struct {
	Path                 string       `cfg:"@path,required"`
	RootRedirectLocation string       `cfg:"@rootRedirectLocation"`
	Customizer           string       `cfg:"@customizer"`
	WebContentEnabled    bool         `cfg:"@webContentEnabled"`
	MaxThreads           int          `cfg:"@maxThreads"`
	MinThreads           int          `cfg:"@minThreads"`
	IdleThreadTimeout    int          `cfg:"@idleThreadTimeout"` // ms
	ScanPeriod           int          `cfg:"@scanPeriod"`        // s
	MaxRequestHeader     int          `cfg:"@maxRequestHeaderSize"`
	MaxResponseHeader    int          `cfg:"@maxResponseHeaderSize"`
	CompressionEnabled   bool         `cfg:"@compressionEnabled"`
	CompressionLevel     int          `cfg:"@compressionLevel"`
	Bindings             []WebBinding `cfg:"binding"`
	RequestLog           *RequestLog  `cfg:"request-log"`
	// The old form has one binding and its apps here; Bindings includes it.
	Bind               string   `cfg:"@bind"`
	ClientAuth         bool     `cfg:"@clientAuth"`
	PasswordCodec      string   `cfg:"@passwordCodec"`
	KeyStorePath       string   `cfg:"@keyStorePath"`
	KeyStorePassword   string   `cfg:"@keyStorePassword" secret:"true"`
	TrustStorePath     string   `cfg:"@trustStorePath"`
	TrustStorePassword string   `cfg:"@trustStorePassword" secret:"true"`
	Apps               []WebApp `cfg:"app"`
}

func (w *Web) defaults() { w.MaxThreads, w.MinThreads, w.IdleThreadTimeout = 200, 8, 60000 }

func (w *Web) decoded(*node) {
	if w.Bind != "" {
		b := WebBinding{URI: w.Bind, ClientAuth: w.ClientAuth, PasswordCodec: w.PasswordCodec,
			KeyStorePath: w.KeyStorePath, KeyStorePassword: w.KeyStorePassword,
			TrustStorePath: w.TrustStorePath, TrustStorePassword: w.TrustStorePassword, Apps: w.Apps}
		b.defaults()
		w.Bindings = append([]WebBinding{b}, w.Bindings...)
	}
}

// WebBinding is one port of the web server.
type WebBinding struct {
	Name                 string   `cfg:"@name"`
	URI                  string   `cfg:"@uri,required"`
	ClientAuth           bool     `cfg:"@clientAuth"`
	PasswordCodec        string   `cfg:"@passwordCodec"`
	KeyStorePath         string   `cfg:"@keyStorePath"`
	KeyStorePassword     string   `cfg:"@keyStorePassword" secret:"true"`
	KeyStoreType         string   `cfg:"@keyStoreType"`
	TrustStorePath       string   `cfg:"@trustStorePath"`
	TrustStorePassword   string   `cfg:"@trustStorePassword" secret:"true"`
	TrustStoreType       string   `cfg:"@trustStoreType"`
	IncludedTLSProtocols []string `cfg:"@includedTLSProtocols"`
	ExcludedTLSProtocols []string `cfg:"@excludedTLSProtocols"`
	IncludedCipherSuites []string `cfg:"@includedCipherSuites"`
	ExcludedCipherSuites []string `cfg:"@excludedCipherSuites"`
	SNIHostCheck         bool     `cfg:"@sniHostCheck"`
	SNIRequired          bool     `cfg:"@sniRequired"`
	SSLAutoReload        bool     `cfg:"@sslAutoReload"`
	HTTP2                bool     `cfg:"@http2"`
	Apps                 []WebApp `cfg:"app"`
}

func (b *WebBinding) defaults() { b.SNIHostCheck = true }

// WebApp is one application of a binding.
type WebApp struct {
	Name string `cfg:"@name"`
	URL  string `cfg:"@url"`
	WAR  string `cfg:"@war"`
}

// RequestLog is the access log of the web server.
type RequestLog struct {
	Filename               string `cfg:"@filename,required"`
	Append                 bool   `cfg:"@append"`
	Extended               bool   `cfg:"@extended"`
	LogCookies             bool   `cfg:"@logCookies"`
	LogTimeZone            string `cfg:"@logTimeZone"`
	FilenameDateFormat     string `cfg:"@filenameDateFormat"`
	RetainDays             int    `cfg:"@retainDays"`
	IgnorePaths            string `cfg:"@ignorePaths"`
	LogDateFormat          string `cfg:"@logDateFormat"`
	LogLocale              string `cfg:"@logLocale"`
	LogLatency             bool   `cfg:"@logLatency"`
	LogServer              bool   `cfg:"@logServer"`
	PreferProxiedForAddres bool   `cfg:"@preferProxiedForAddress"`
	Format                 string `cfg:"@format"`
}

// bootstrap reads bootstrap.xml.
func (p *parser) bootstrap(file, text string) *Bootstrap {
	b := &Bootstrap{}
	root, err := p.tree(file, text)
	if err != nil {
		p.add(err)
		return b
	}
	if root.name != "broker" || root.space != schemaNS {
		p.fail(root.at, root.name, "the root element is not broker", `write <broker xmlns="`+schemaNS+`">`)
		return b
	}
	d := p.schemaDecoder(file)
	d.decode(root, reflect.ValueOf(b).Elem(), "")
	if p.tool {
		return b
	}
	if b.Web != nil {
		p.warn(NoEffect, root.child("web").at, "web", "has no effect: the console isn't built yet", "")
	}
	if m := b.SecurityManager; m != nil && m.ClassName != BasicSecurityManager {
		p.fail(root.child("security-manager").at, "security-manager", "class "+m.ClassName+" needs Java", "use jaas-security or "+BasicSecurityManager)
	}
	return b
}

// schemaDecoder returns a decoder for bootstrap.xml and management.xml, whose
// passwords may be masked with the default codec.
func (p *parser) schemaDecoder(file string) *decoder {
	d := &decoder{report: p.report, seen: map[string]position{}, space: schemaNS, origin: file}
	codec, err := NewCodec("", p.lookup)
	if err != nil {
		p.fail(position{file: file}, "", err.Error(), "shorten the key")
		codec, _ = NewCodec("", nil)
	}
	d.unmask = func(text string) (string, error) { return codec.Unmask(text, nil) }
	return d
}

// managementXML is management.xml as the file has it.
type managementXML struct {
	Connector     *anything         `cfg:"connector"`
	Authorisation *ManagementAccess `cfg:"authorisation"`
}

// anything is an element whose content doesn't matter.
type anything struct{}

// ManagementAccess is the authorisation part of management.xml: who may call
// which operation of which object.
type ManagementAccess struct {
	// AllowList are objects that everybody may use.
	AllowList []ObjectMatch `cfg:"allowlist/entry|whitelist/entry"`
	// DefaultAccess counts for objects that no RoleAccess matches.
	DefaultAccess []MethodAccess `cfg:"default-access/access"`
	RoleAccess    []ObjectAccess `cfg:"role-access/match"`
}

// ObjectMatch selects objects by domain and one key. Key is name=value or
// name=*, or empty for all of the domain.
type ObjectMatch struct {
	Domain string `cfg:"@domain,required"`
	Key    string `cfg:"@key"`
}

// MethodAccess lets roles call methods; Method may end in *.
type MethodAccess struct {
	Method string   `cfg:"@method,required"`
	Roles  []string `cfg:"@roles,required"`
}

// ObjectAccess is access to selected objects.
type ObjectAccess struct {
	Domain string         `cfg:"@domain,required"`
	Key    string         `cfg:"@key"`
	Access []MethodAccess `cfg:"access"`
}

// management reads management.xml. It returns nil if the file says nothing about
// access.
func (p *parser) management(file, text string) *ManagementAccess {
	root, err := p.tree(file, text)
	if err != nil {
		p.add(err)
		return nil
	}
	if root.name != "management-context" || root.space != schemaNS {
		p.fail(root.at, root.name, "the root element is not management-context", `write <management-context xmlns="`+schemaNS+`">`)
		return nil
	}
	if c := root.child("connector"); c != nil {
		if !p.tool {
			p.warn(NoEffect, c.at, "connector", "has no effect: there is no JMX over RMI", "")
		}
		c.attrs, c.children, c.text = nil, nil, strings.TrimSpace("")
	}
	x := &managementXML{}
	p.schemaDecoder(file).decode(root, reflect.ValueOf(x).Elem(), "")
	return x.Authorisation
}
