package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// TLSOptions are the TLS parameters of an acceptor or connector URL, under Artemis' names.
type TLSOptions struct {
	Enabled        bool         // sslEnabled
	KeyStore       StoreOptions // keyStorePath, keyStorePassword, keyStoreType, keyStoreAlias, keyPassword
	TrustStore     StoreOptions // trustStorePath, trustStorePassword, trustStoreType
	NeedClientAuth bool         // the client must have a certificate; wins over WantClientAuth
	WantClientAuth bool         // the client is asked for a certificate
	CipherSuites   []string     // enabledCipherSuites; empty: Go's defaults. They concern TLS 1.2 and older.
	Protocols      []string     // enabledProtocols: TLSv1, TLSv1.1, TLSv1.2, TLSv1.3; empty: 1.2 and 1.3
	VerifyHost     bool         // the peer's certificate must name the peer's host
	TrustAll       bool         // any certificate of the peer will do
	CRLPath        string       // certificate revocation lists for the peer's certificates, PEM or DER
	SNIHost        string       // acceptor: expression that a given SNI must match; connector: the SNI to send
	DefaultContext bool         // connector: useDefaultSslContext, the system's roots instead of the trust store
	AutoReload     bool         // sslAutoReload: stores are read again when their files have changed
}

// reloadCheck is how often, at most, the files of an identity with AutoReload are looked at.
const reloadCheck = time.Second

// An identity is the key, the trusted authorities and the rules of one end, loaded from the stores of its options.
type identity struct {
	opts     TLSOptions
	log      hclog.Logger
	ciphers  []uint16
	min, max uint16
	sni      *regexp.Regexp

	mu      sync.Mutex
	loaded  loaded
	files   map[string]fileStamp
	checked time.Time
}

type loaded struct {
	certificates []tls.Certificate
	trusted      *x509.CertPool // nil: the system's
	revoked      *revocationLists
}

type fileStamp struct {
	modified time.Time
	size     int64
}

func newIdentity(o TLSOptions, log hclog.Logger) (*identity, error) {
	id := &identity{opts: o, log: log}
	var err error
	if id.min, id.max, err = versions(o.Protocols); err != nil {
		return nil, err
	}
	if id.ciphers, err = cipherSuites(o.CipherSuites, log); err != nil {
		return nil, err
	}
	if err := id.load(); err != nil {
		return nil, err
	}
	return id, nil
}

// load reads the stores. On an error what was loaded before stays.
func (id *identity) load() error {
	files := id.stamps()
	var l loaded
	var err error
	if id.opts.KeyStore.Path != "" {
		if l.certificates, err = loadKeys(id.opts.KeyStore); err != nil {
			return err
		}
	}
	if id.opts.TrustStore.Path != "" && !id.opts.DefaultContext {
		if l.trusted, err = loadTrust(id.opts.TrustStore); err != nil {
			return err
		}
	}
	if id.opts.CRLPath != "" {
		if l.revoked, err = loadRevocationLists(id.opts.CRLPath); err != nil {
			return err
		}
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	id.loaded, id.files = l, files
	return nil
}

func (id *identity) stamps() map[string]fileStamp {
	m := make(map[string]fileStamp)
	for _, path := range []string{id.opts.KeyStore.Path, id.opts.TrustStore.Path, id.opts.CRLPath} {
		if info, err := os.Stat(path); err == nil {
			m[path] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return m
}

// current is what is loaded, after a look at the files if they are to be followed. The look is part of a handshake, so
// that nothing runs while nobody connects.
func (id *identity) current() loaded {
	id.mu.Lock()
	look := id.opts.AutoReload && time.Since(id.checked) >= reloadCheck
	if look {
		id.checked = time.Now()
	}
	files := id.files
	id.mu.Unlock()
	if look && !sameStamps(files, id.stamps()) {
		if err := id.load(); err != nil {
			id.log.Warn("changed key or trust store cannot be read, the old one is still used", "error", err)
		} else {
			id.log.Info("key and trust stores were read again", "key store", id.opts.KeyStore.Path, "trust store", id.opts.TrustStore.Path)
		}
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.loaded
}

func sameStamps(a, b map[string]fileStamp) bool {
	if len(a) != len(b) {
		return false
	}
	for path, s := range a {
		if t, ok := b[path]; !ok || !s.modified.Equal(t.modified) || s.size != t.size {
			return false
		}
	}
	return true
}

// serverConfig is for all handshakes of an acceptor: it holds the keys of session tickets.
func (id *identity) serverConfig() *tls.Config {
	return &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		l := id.current()
		c := &tls.Config{MinVersion: id.min, MaxVersion: id.max, CipherSuites: id.ciphers, ClientCAs: l.trusted}
		if id.sni == nil || hello.ServerName == "" || id.sni.MatchString(hello.ServerName) {
			c.Certificates = l.certificates
		} // else no certificate: crypto/tls answers alert 112, unrecognized_name
		switch {
		case id.opts.NeedClientAuth && id.opts.TrustAll:
			c.ClientAuth = tls.RequireAnyClientCert
		case id.opts.NeedClientAuth:
			c.ClientAuth = tls.RequireAndVerifyClientCert
		case id.opts.WantClientAuth && id.opts.TrustAll:
			c.ClientAuth = tls.RequestClientCert
		case id.opts.WantClientAuth:
			c.ClientAuth = tls.VerifyClientCertIfGiven
		}
		c.VerifyConnection = l.verifyRevocation
		return c, nil
	}}
}

// clientConfig is for one handshake of a connector.
func (id *identity) clientConfig(host string) *tls.Config {
	l := id.current()
	c := &tls.Config{
		MinVersion:   id.min,
		MaxVersion:   id.max,
		CipherSuites: id.ciphers,
		Certificates: l.certificates,
		RootCAs:      l.trusted,
		ServerName:   host,
		// The certificate is verified below: crypto/tls cannot verify the chain without the host, nor the host
		// under another name than the SNI.
		InsecureSkipVerify: true,
	}
	if id.opts.SNIHost != "" {
		c.ServerName = id.opts.SNIHost
	}
	if id.opts.TrustAll {
		return c
	}
	c.VerifyConnection = func(s tls.ConnectionState) error {
		o := x509.VerifyOptions{Roots: l.trusted, Intermediates: x509.NewCertPool()}
		for _, cert := range s.PeerCertificates[1:] {
			o.Intermediates.AddCert(cert)
		}
		chains, err := s.PeerCertificates[0].Verify(o)
		if err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
		}
		if id.opts.VerifyHost {
			if err := verifyHost(s.PeerCertificates[0], host); err != nil {
				return err
			}
		}
		s.VerifiedChains = chains
		return l.verifyRevocation(s)
	}
	return c
}

func (l loaded) verifyRevocation(s tls.ConnectionState) error {
	if l.revoked == nil || len(s.VerifiedChains) == 0 {
		return nil
	}
	return l.revoked.check(s.VerifiedChains)
}

// checkPeer is what remains to be checked of an accepted connection after the handshake.
func (id *identity) checkPeer(c *Conn) error {
	if c.acceptor == nil || !id.opts.VerifyHost {
		return nil
	}
	certs := c.PeerCertificates()
	if len(certs) == 0 {
		return nil
	}
	host, _, err := net.SplitHostPort(c.RemoteAddr())
	if err != nil {
		return err
	}
	return verifyHost(certs[0], host)
}

// verifyHost checks that the certificate names the host. Like Java, and unlike Go, it takes the common name of a
// certificate that has no alternative names.
func verifyHost(cert *x509.Certificate, host string) error {
	err := cert.VerifyHostname(host)
	if err == nil || len(cert.DNSNames)+len(cert.IPAddresses)+len(cert.EmailAddresses)+len(cert.URIs) > 0 {
		return err
	}
	named := &x509.Certificate{DNSNames: []string{cert.Subject.CommonName}}
	if net.ParseIP(host) == nil && named.VerifyHostname(host) == nil {
		return nil
	}
	return err
}

// versions are the lowest and highest of the named protocol versions. JSSE can leave one out in the middle, crypto/tls
// cannot.
func versions(names []string) (lowest, highest uint16, err error) {
	known := map[string]uint16{"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}
	set := make(map[uint16]bool)
	for _, name := range names {
		v, ok := known[name]
		switch {
		case ok:
			set[v] = true
		case name == "SSLv2Hello" || name == "SSLv3":
			// A form of greeting that crypto/tls does not need, and a protocol that no current JVM speaks.
		default:
			return 0, 0, fmt.Errorf("enabledProtocols: unknown TLS version %q", name)
		}
	}
	if len(names) == 0 {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	if len(set) == 0 {
		return 0, 0, fmt.Errorf("enabledProtocols=%s: none of them is supported, use TLSv1.2,TLSv1.3", strings.Join(names, ","))
	}
	lowest, highest = tls.VersionTLS13, tls.VersionTLS10
	for v := range set {
		lowest, highest = min(lowest, v), max(highest, v)
	}
	for v := lowest; v <= highest; v++ {
		if !set[v] {
			return 0, 0, fmt.Errorf("enabledProtocols=%s leaves out %s: name all versions between the lowest and the highest",
				strings.Join(names, ","), tls.VersionName(v))
		}
	}
	return lowest, highest, nil
}

// cipherSuites are the ids of the named suites. Names that crypto/tls does not have are left out with a warning, as
// long as one remains.
func cipherSuites(names []string, log hclog.Logger) ([]uint16, error) {
	if len(names) == 0 {
		return nil, nil
	}
	known := make(map[string]uint16)
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		known[s.Name] = s.ID
	}
	var ids []uint16
	var missing []string
	for _, name := range names {
		if id, ok := known[name]; ok {
			ids = append(ids, id)
		} else {
			missing = append(missing, name)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("enabledCipherSuites=%s: none of them is supported", strings.Join(names, ","))
	}
	if len(missing) > 0 {
		log.Warn("cipher suites are not supported and left out", "enabledCipherSuites", strings.Join(missing, ","))
	}
	return ids, nil
}

// sniMatcher compiles the acceptor's sniHost: the whole name must match, in any case.
func sniMatcher(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	re, err := regexp.Compile(`(?i)\A(?:` + expr + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("sniHost=%s: %w", expr, err)
	}
	return re, nil
}

// forAcceptor checks what an acceptor needs.
func (id *identity) forAcceptor() (err error) {
	if len(id.loaded.certificates) == 0 {
		return errors.New("sslEnabled needs a key store: set keyStorePath")
	}
	if (id.opts.NeedClientAuth || id.opts.WantClientAuth) && id.loaded.trusted == nil && !id.opts.TrustAll {
		id.log.Warn("client certificates are checked against the system's authorities: trustStorePath is not set")
	}
	id.sni, err = sniMatcher(id.opts.SNIHost)
	return err
}
