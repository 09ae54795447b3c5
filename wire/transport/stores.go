package transport

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// StoreOptions say where keys or trusted certificates are.
//
// Type is one of JKS and PKCS12 (which of the two it is, the file tells, as in Java), PEM (private key and
// certificates in one file), PEMCFG (a properties file: source.key and source.cert name the files, relative ones from
// its folder) and PEMCA (certificates only). JCEKS and PKCS11 are refused.
type StoreOptions struct {
	Path        string
	Password    string
	KeyPassword string // of the key in it; for PKCS12 and PEM, Password is tried too
	Type        string
	Alias       string // of the entry to use; empty is the first one
}

// maxStore bounds a store file.
const maxStore = 16 << 20

// An entry of a store: a key with its chain, or a trusted certificate alone.
type storeEntry struct {
	alias string
	key   crypto.PrivateKey
	chain []*x509.Certificate
}

// loadKeys returns the certificates that an end shows of itself.
func loadKeys(o StoreOptions) ([]tls.Certificate, error) {
	entries, err := readStore(o)
	if err != nil {
		return nil, fmt.Errorf("key store %s: %w", o.Path, err)
	}
	var aliases []string
	for _, e := range entries {
		if o.Alias != "" && !strings.EqualFold(o.Alias, e.alias) {
			aliases = append(aliases, e.alias)
			continue
		}
		if e.key == nil {
			continue
		}
		if len(e.chain) == 0 {
			return nil, fmt.Errorf("key store %s: there is no certificate for the key", o.Path)
		}
		c := tls.Certificate{PrivateKey: e.key, Leaf: e.chain[0]}
		for _, x := range e.chain {
			c.Certificate = append(c.Certificate, x.Raw)
		}
		return []tls.Certificate{c}, nil
	}
	if o.Alias != "" {
		return nil, fmt.Errorf("key store %s: no key with keyStoreAlias=%s, there are: %s", o.Path, o.Alias, strings.Join(aliases, ", "))
	}
	return nil, fmt.Errorf("key store %s: there is no private key in it", o.Path)
}

// loadTrust returns the certificates an end trusts. Of an entry with a key it is the leaf, as in Java.
func loadTrust(o StoreOptions) (*x509.CertPool, error) {
	entries, err := readStore(o)
	if err != nil {
		return nil, fmt.Errorf("trust store %s: %w", o.Path, err)
	}
	pool, n := x509.NewCertPool(), 0
	for _, e := range entries {
		if len(e.chain) > 0 {
			pool.AddCert(e.chain[0])
			n++
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("trust store %s: there is no trusted certificate in it", o.Path)
	}
	return pool, nil
}

func readStore(o StoreOptions) ([]storeEntry, error) {
	data, err := readStoreFile(o.Path)
	if err != nil {
		return nil, err
	}
	switch kind := strings.ToUpper(o.Type); kind {
	case "JKS", "PKCS12", "":
		if bytes.HasPrefix(data, []byte{0xfe, 0xed, 0xfe, 0xed}) {
			return readJKS(data, o)
		}
		if bytes.HasPrefix(data, []byte{0xce, 0xce, 0xce, 0xce}) {
			return nil, errors.New("it is a JCEKS store, which is not supported: convert it with keytool -importkeystore -deststoretype PKCS12")
		}
		return readPKCS12(data, o)
	case "PEM":
		return readPEM(data)
	case "PEMCA":
		return readPEMCA(data)
	case "PEMCFG":
		return readPEMConfig(data, filepath.Dir(o.Path))
	default:
		return nil, fmt.Errorf("type %s is not supported: use PKCS12, JKS, PEM, PEMCFG or PEMCA", kind)
	}
}

func readStoreFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxStore {
		return nil, fmt.Errorf("%d bytes are more than a store can have (%d)", info.Size(), maxStore)
	}
	return os.ReadFile(path)
}

func readJKS(data []byte, o StoreOptions) ([]storeEntry, error) {
	data, err := openJKS(data, o.Password)
	if err != nil {
		return nil, err
	}
	ks := keystore.New(keystore.WithOrderedAliases())
	if err := ks.Load(bytes.NewReader(data), []byte(o.Password)); err != nil {
		return nil, err
	}
	var entries []storeEntry
	for _, alias := range ks.Aliases() {
		e := storeEntry{alias: alias}
		if ks.IsTrustedCertificateEntry(alias) {
			t, err := ks.GetTrustedCertificateEntry(alias)
			if err != nil {
				return nil, fmt.Errorf("entry %s: %w", alias, err)
			}
			cert, err := x509.ParseCertificate(t.Certificate.Content)
			if err != nil {
				return nil, fmt.Errorf("entry %s: %w", alias, err)
			}
			entries = append(entries, storeEntry{alias: alias, chain: []*x509.Certificate{cert}})
			continue
		}
		chain, err := ks.GetPrivateKeyEntryCertificateChain(alias)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", alias, err)
		}
		for _, c := range chain {
			cert, err := x509.ParseCertificate(c.Content)
			if err != nil {
				return nil, fmt.Errorf("entry %s: %w", alias, err)
			}
			e.chain = append(e.chain, cert)
		}
		if o.KeyPassword != "" && (o.Alias == "" || strings.EqualFold(o.Alias, alias)) {
			k, err := ks.GetPrivateKeyEntry(alias, []byte(o.KeyPassword))
			if err != nil {
				return nil, fmt.Errorf("entry %s: keyPassword is wrong: %w", alias, err)
			}
			if e.key, err = x509.ParsePKCS8PrivateKey(k.PrivateKey); err != nil {
				return nil, fmt.Errorf("entry %s: %w", alias, err)
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func readPKCS12(data []byte, o StoreOptions) ([]storeEntry, error) {
	key, leaf, more, err := pkcs12.DecodeChain(data, o.Password)
	if err == nil && o.Alias == "" {
		return []storeEntry{{key: key, chain: append([]*x509.Certificate{leaf}, more...)}}, nil
	}
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return nil, err
	}
	if trusted, err := pkcs12.DecodeTrustStore(data, o.Password); err == nil {
		var entries []storeEntry
		for _, c := range trusted {
			entries = append(entries, storeEntry{chain: []*x509.Certificate{c}})
		}
		return entries, nil
	}
	return readPKCS12Entries(data, o, err)
}

// readPKCS12Entries reads a file with several keys, or with a name to look for.
func readPKCS12Entries(data []byte, o StoreOptions, cause error) ([]storeEntry, error) {
	// The only function of the package that tells the names of entries.
	blocks, err := pkcs12.ToPEM(data, o.Password) //lint:ignore SA1019 see above
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	var certs []*x509.Certificate
	var entries []storeEntry
	for _, b := range blocks {
		if b.Type == "CERTIFICATE" {
			c, err := x509.ParseCertificate(b.Bytes)
			if err != nil {
				return nil, err
			}
			certs = append(certs, c)
			continue
		}
		key, err := parseKey(b.Bytes)
		if err != nil {
			return nil, err
		}
		entries = append(entries, storeEntry{alias: b.Headers["friendlyName"], key: key})
	}
	for i := range entries {
		entries[i].chain = chainOf(entries[i].key, certs)
	}
	return entries, nil
}

func readPEM(data []byte) ([]storeEntry, error) {
	var key crypto.PrivateKey
	var certs []*x509.Certificate
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			break
		}
		switch {
		case b.Type == "CERTIFICATE":
			c, err := x509.ParseCertificate(b.Bytes)
			if err != nil {
				return nil, err
			}
			certs = append(certs, c)
		case b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != "":
			return nil, errors.New("the private key is encrypted, which is not supported for PEM: decrypt it with openssl pkey, or use PKCS12")
		case strings.HasSuffix(b.Type, "PRIVATE KEY"):
			if key != nil {
				return nil, errors.New("there is more than one private key")
			}
			var err error
			if key, err = parseKey(b.Bytes); err != nil {
				return nil, err
			}
		}
	}
	if key == nil && len(certs) == 0 {
		return nil, errors.New("there is no PEM block in it")
	}
	if key == nil {
		return trustedEntries(certs), nil
	}
	chain := chainOf(key, certs)
	if chain == nil && len(certs) > 0 {
		return nil, errors.New("no certificate belongs to the private key")
	}
	return []storeEntry{{key: key, chain: chain}}, nil
}

func readPEMCA(data []byte) ([]storeEntry, error) {
	entries, err := readPEM(data)
	if err == nil && len(entries) == 1 && entries[0].key != nil {
		return trustedEntries(entries[0].chain), nil
	}
	return entries, err
}

func trustedEntries(certs []*x509.Certificate) []storeEntry {
	var entries []storeEntry
	for _, c := range certs {
		entries = append(entries, storeEntry{chain: []*x509.Certificate{c}})
	}
	return entries
}

// readPEMConfig reads the properties file of the type PEMCFG: source.key and source.cert, each with any suffix.
func readPEMConfig(data []byte, dir string) ([]storeEntry, error) {
	var sources []byte
	found := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || strings.HasPrefix(line, "#") || !(strings.HasPrefix(name, "source.key") || strings.HasPrefix(name, "source.cert")) {
			continue
		}
		path := strings.TrimSpace(value)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		part, err := readStoreFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sources, found = append(append(sources, part...), '\n'), true
	}
	if !found {
		return nil, errors.New("neither source.key nor source.cert is set in it")
	}
	return readPEM(sources)
}

func parseKey(der []byte) (crypto.PrivateKey, error) {
	if k, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return k, nil
	}
	if k, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return k, nil
	}
	k, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return nil, errors.New("the private key has an unknown form")
	}
	return k, nil
}

// chainOf finds the key's certificate and, from it on, the issuers.
func chainOf(key crypto.PrivateKey, certs []*x509.Certificate) []*x509.Certificate {
	var chain []*x509.Certificate
	for _, c := range certs {
		if samePublicKey(key, c) {
			chain = append(chain, c)
			break
		}
	}
	for len(chain) > 0 && len(chain) <= len(certs) {
		last := chain[len(chain)-1]
		if bytes.Equal(last.RawIssuer, last.RawSubject) {
			break
		}
		next := -1
		for i, c := range certs {
			if bytes.Equal(c.RawSubject, last.RawIssuer) && last.CheckSignatureFrom(c) == nil {
				next = i
				break
			}
		}
		if next < 0 {
			break
		}
		chain = append(chain, certs[next])
	}
	return chain
}

func samePublicKey(key crypto.PrivateKey, c *x509.Certificate) bool {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k.PublicKey.Equal(c.PublicKey)
	case *ecdsa.PrivateKey:
		return k.PublicKey.Equal(c.PublicKey)
	case ed25519.PrivateKey:
		return k.Public().(ed25519.PublicKey).Equal(c.PublicKey)
	}
	return false
}
