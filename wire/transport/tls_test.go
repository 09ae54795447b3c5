package transport

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// An authority issues the certificates of a test and writes them in every kind of store.
type authority struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

const password = "changeit"

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	})
	return a
}

func (a *authority) issue(t testing.TB, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) server(t testing.TB, name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	return a.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func certPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

func keyPEM(t testing.TB, key crypto.PrivateKey) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// keyStores writes the identity in every kind and returns the parameters for each.
func (a *authority) keyStores(t testing.TB, cert *x509.Certificate, key *ecdsa.PrivateKey) map[string]map[string]string {
	t.Helper()
	p12, err := pkcs12.Modern.Encode(key, cert, []*x509.Certificate{a.cert}, password)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	ks := keystore.New()
	chain := []keystore.Certificate{{Type: "X509", Content: cert.Raw}, {Type: "X509", Content: a.cert.Raw}}
	if err := ks.SetPrivateKeyEntry("broker", keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: der, CertificateChain: chain}, []byte("keysecret")); err != nil {
		t.Fatal(err)
	}
	var jks bytes.Buffer
	if err := ks.Store(&jks, []byte(password)); err != nil {
		t.Fatal(err)
	}
	pemFile := append(keyPEM(t, key), certPEM(cert)...)
	a.write(t, "only-key.pem", keyPEM(t, key))
	a.write(t, "only-cert.pem", certPEM(cert))
	config := "# identity of the broker\nsource.key=only-key.pem\nsource.cert = " + filepath.Join(a.dir, "only-cert.pem") + "\n"
	return map[string]map[string]string{
		"PEM":                 {"keyStorePath": a.write(t, "id.pem", pemFile), "keyStoreType": "PEM"},
		"PEMCFG":              {"keyStorePath": a.write(t, "id.pemcfg", []byte(config)), "keyStoreType": "PEMCFG"},
		"PKCS12":              {"keyStorePath": a.write(t, "id.p12", p12), "keyStorePassword": password, "keyStoreType": "PKCS12"},
		"PKCS12 without type": {"keyStorePath": filepath.Join(a.dir, "id.p12"), "keyStorePassword": password},
		"JKS": {"keyStorePath": a.write(t, "id.jks", jks.Bytes()), "keyStorePassword": password, "keyPassword": "keysecret",
			"keyStoreAlias": "broker"},
	}
}

func (a *authority) trustStores(t testing.TB) map[string]map[string]string {
	t.Helper()
	p12, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{a.cert}, password)
	if err != nil {
		t.Fatal(err)
	}
	ks := keystore.New()
	if err := ks.SetTrustedCertificateEntry("ca", keystore.TrustedCertificateEntry{
		CreationTime: time.Now(), Certificate: keystore.Certificate{Type: "X509", Content: a.cert.Raw}}); err != nil {
		t.Fatal(err)
	}
	var jks bytes.Buffer
	if err := ks.Store(&jks, []byte(password)); err != nil {
		t.Fatal(err)
	}
	return map[string]map[string]string{
		"PEMCA":  {"trustStorePath": a.write(t, "ca.pem", certPEM(a.cert)), "trustStoreType": "PEMCA"},
		"PEM":    {"trustStorePath": filepath.Join(a.dir, "ca.pem"), "trustStoreType": "PEM"},
		"PKCS12": {"trustStorePath": a.write(t, "ca.p12", p12), "trustStorePassword": password, "trustStoreType": "PKCS12"},
		"JKS":    {"trustStorePath": a.write(t, "ca.jks", jks.Bytes()), "trustStorePassword": password},
	}
}

func with(maps ...map[string]string) map[string]string {
	m := map[string]string{"sslEnabled": "true"}
	for _, x := range maps {
		for k, v := range x {
			m[k] = v
		}
	}
	return m
}

// dialTLS connects to the server with a connector's parameters and a handler that sends what it gets to a channel.
func dialTLS(t testing.TB, s *server, host string, params map[string]string) (*Conn, *framed, chan []byte, error) {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.acceptor.Addr())
	o, err := ParseConnector("netty", host, 0, params)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Sscan(port, &o.Port)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := (&Dialer{}).Dial(ctx, o)
	if err != nil {
		return nil, nil, nil, err
	}
	got := make(chan []byte, 100)
	h := newFramed(func(_ *framed, p []byte) error { got <- bytes.Clone(p); return nil })
	c.Output().Lock()
	c.Output().Append([]byte("ARTEMIS"))
	c.Output().Unlock()
	c.Start(h)
	t.Cleanup(func() {
		c.Close(nil)
		h.waitClosed2(t)
	})
	return c, h, got, nil
}

func (h *framed) waitClosed2(t testing.TB) {
	select {
	case <-h.closed:
	case <-time.After(10 * time.Second):
		t.Error("connection does not end")
	}
}

// exchange sends a payload and waits for its echo, or for the connection's end.
func exchange(t testing.TB, c *Conn, h *framed, got chan []byte, payload []byte) error {
	t.Helper()
	send(c, payload)
	c.Output().Flush()
	select {
	case p := <-got:
		if !bytes.Equal(p, payload) {
			t.Fatalf("echo of %d bytes differs", len(payload))
		}
		return nil
	case err := <-h.closed:
		h.closed <- err
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("no echo within 10 s")
	}
	return nil
}

func TestTLSStores(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.server(t, "broker.example")
	for kind, keys := range a.keyStores(t, cert, key) {
		for trustKind, trust := range a.trustStores(t) {
			t.Run(kind+", trusted by "+trustKind, func(t *testing.T) {
				// Both ends have the same identity, and check each other.
				s := serve(t, Config{}, with(keys, trust, map[string]string{"needClientAuth": "true"}), func(c *Conn) Handler {
					if subject := c.PeerCertificates()[0].Subject.String(); subject != "CN=broker.example" {
						t.Errorf("peer is %s", subject)
					}
					return newFramed(echo)
				})
				c, h, got, err := dialTLS(t, s, "127.0.0.1", with(keys, trust))
				if err != nil {
					t.Fatal(err)
				}
				for _, size := range []int{0, 1000, 100_000, 3 << 20} {
					if err := exchange(t, c, h, got, make([]byte, size)); err != nil {
						t.Fatal(err)
					}
				}
				if !c.TLS() {
					t.Error("the connection does not say that it is encrypted")
				}
			})
		}
	}
}

// TestTLSRules is the matrix of golden/management/security/tls-and-limits.json and the rules of security.md 7.1.
func TestTLSRules(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.server(t, "broker.example")
	keys, trust := a.keyStores(t, cert, key)["PEM"], a.trustStores(t)["PEMCA"]
	other := newAuthority(t)
	otherCert, otherKey := other.server(t, "other.example")
	otherKeys := other.keyStores(t, otherCert, otherKey)["PEM"]
	cnCert, cnKey := a.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "localhost"}})
	cnKeys := map[string]string{"keyStoreType": "PEM", "keyStorePath": a.write(t, "cn.pem", append(keyPEM(t, cnKey), certPEM(cnCert)...))}
	crl := func(name string, next time.Time, revoked ...*x509.Certificate) map[string]string {
		l := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: next}
		for _, c := range revoked {
			l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: time.Now()})
		}
		der, err := x509.CreateRevocationList(rand.Reader, l, a.cert, a.key)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"crlPath": a.write(t, name, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))}
	}
	soon := time.Now().Add(time.Hour)
	p := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	need, noHost := p("needClientAuth", "true"), p("verifyHost", "false")
	for _, test := range []struct {
		name     string
		acceptor map[string]string
		host     string
		client   map[string]string
		refused  string // by either end
	}{
		{"plain", with(keys), "localhost", with(trust), ""},
		{"authority unknown", with(keys), "localhost", with(), "certificate signed by unknown authority"},
		{"trustAll", with(keys), "localhost", with(p("trustAll", "true")), ""},
		{"other host", with(otherKeys), "127.0.0.1", with(p("trustStorePath", filepath.Join(other.dir, "only-cert.pem"), "trustStoreType", "PEM")), ""},
		{"host by common name", with(cnKeys), "localhost", with(trust), ""},
		{"host not named", with(cnKeys), "127.0.0.1", with(trust), "cannot validate certificate for 127.0.0.1"},
		{"host not named, verifyHost=false", with(cnKeys), "127.0.0.1", with(trust, noHost), ""},
		{"enabledProtocols=TLSv1.2, client 1.3 only", with(keys, p("enabledProtocols", "TLSv1.2")), "localhost", with(trust, p("enabledProtocols", "TLSv1.3")), "protocol version not supported"},
		{"enabledProtocols=TLSv1.2", with(keys, p("enabledProtocols", "TLSv1.2")), "localhost", with(trust), ""},
		{"enabledCipherSuites", with(keys, p("enabledProtocols", "TLSv1.2", "enabledCipherSuites", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")), "localhost", with(trust), ""},
		{"no suite in common", with(keys, p("enabledProtocols", "TLSv1.2", "enabledCipherSuites", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")), "localhost",
			with(trust, p("enabledProtocols", "TLSv1.2", "enabledCipherSuites", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")), "handshake failure"},
		{"sniHost, matching", with(keys, p("sniHost", "good.*")), "localhost", with(trust, p("sniHost", "GOOD.host")), ""},
		{"sniHost, whole name must match", with(keys, p("sniHost", "good")), "localhost", with(trust, p("sniHost", "good.host")), "unrecognized name"},
		{"sniHost, other", with(keys, p("sniHost", "good.*")), "localhost", with(trust, p("sniHost", "bad.host")), "unrecognized name"},
		{"sniHost, no SNI", with(keys, p("sniHost", "good.*")), "127.0.0.1", with(trust), ""},
		{"needClientAuth, none given", with(keys, trust, need), "localhost", with(trust), "certificate required"},
		{"needClientAuth, foreign one", with(keys, trust, need), "localhost", with(trust, otherKeys), "certificate"},
		{"needClientAuth, foreign one, trustAll", with(keys, trust, need, p("trustAll", "true")), "localhost", with(trust, otherKeys), ""},
		{"wantClientAuth, none given", with(keys, trust, p("wantClientAuth", "true")), "localhost", with(trust), ""},
		{"wantClientAuth, foreign one", with(keys, trust, p("wantClientAuth", "true")), "localhost", with(trust, otherKeys), "certificate"},
		{"need wins over want", with(keys, trust, need, p("wantClientAuth", "true")), "localhost", with(trust), "certificate required"},
		{"acceptor with verifyHost", with(keys, trust, need, p("verifyHost", "true")), "127.0.0.1", with(trust, keys), ""},
		{"acceptor with verifyHost, other", with(keys, trust, need, p("verifyHost", "true")), "127.0.0.1", with(trust, cnKeys), "EOF"},
		{"client's certificate revoked", with(keys, trust, need, crl("revoked", soon, cnCert)), "localhost", with(trust, cnKeys), "bad certificate"},
		{"client's certificate not revoked", with(keys, trust, need, crl("revoked", soon, cnCert)), "localhost", with(trust, keys), ""},
		{"list out of date", with(keys, trust, need, crl("old", time.Now().Add(-30*time.Minute), cnCert)), "localhost", with(trust, keys), "bad certificate"},
		{"server's certificate revoked", with(keys), "localhost", with(trust, crl("server", soon, cert)), "certificate CN=broker.example was revoked on"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, Config{}, test.acceptor, func(*Conn) Handler { return newFramed(echo) })
			c, h, got, err := dialTLS(t, s, test.host, test.client)
			if err == nil {
				err = exchange(t, c, h, got, []byte("hello"))
			}
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("got %v, want %q", err, test.refused)
			}
		})
	}
}

func TestTLSBadParameters(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.server(t, "broker.example")
	all := a.keyStores(t, cert, key)
	keys := all["PEM"]
	for _, test := range []struct {
		params map[string]string
		want   string
	}{
		{with(), "sslEnabled needs a key store: set keyStorePath"},
		{with(map[string]string{"keyStorePath": "nowhere.jks"}), "key store nowhere.jks: stat nowhere.jks: no such file or directory"},
		{with(all["PKCS12"], map[string]string{"keyStorePassword": "wrong"}), "id.p12: pkcs12: decryption password incorrect"},
		{with(all["JKS"], map[string]string{"keyStorePassword": "wrong"}), "id.jks: damaged, or the password is wrong"},
		{with(all["JKS"], map[string]string{"keyPassword": "wrong"}), "id.jks: entry broker: keyPassword is wrong"},
		{with(all["JKS"], map[string]string{"keyStoreAlias": "fred"}), "no key with keyStoreAlias=fred, there are: broker"},
		{with(keys, map[string]string{"keyStoreType": "PKCS11"}), "type PKCS11 is not supported: use PKCS12, JKS, PEM, PEMCFG or PEMCA"},
		{with(map[string]string{"keyStorePath": "testdata/keys.jceks"}), "it is a JCEKS store, which is not supported"},
		{with(keys, map[string]string{"trustStorePath": filepath.Join(a.dir, "only-key.pem"), "trustStoreType": "PEM"}), "there is no trusted certificate in it"},
		{with(map[string]string{"keyStorePath": filepath.Join(a.dir, "only-cert.pem"), "keyStoreType": "PEM"}), "there is no private key in it"},
		{with(keys, map[string]string{"sniHost": "("}), "sniHost=(: error parsing regexp"},
		{with(keys, map[string]string{"enabledProtocols": "TLSv1.1,TLSv1.3"}), "leaves out TLS 1.2"},
		{with(keys, map[string]string{"enabledProtocols": "TLSv4"}), `unknown TLS version "TLSv4"`},
		{with(keys, map[string]string{"enabledProtocols": "SSLv3"}), "none of them is supported"},
		{with(keys, map[string]string{"enabledCipherSuites": "ROT13"}), "enabledCipherSuites=ROT13: none of them is supported"},
		{with(keys, map[string]string{"crlPath": filepath.Join(a.dir, "id.jks")}), "crlPath " + filepath.Join(a.dir, "id.jks")},
	} {
		o, _, err := ParseAcceptor("artemis", "127.0.0.1", 0, test.params)
		if err != nil {
			t.Fatal(err)
		}
		acc, err := NewRemoting(Config{}).Listen(o)
		if err == nil {
			ctx, cancel := contextDone()
			acc.Stop(ctx)
			cancel()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "transport: acceptor artemis: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestStoresOfKeytool reads what keytool wrote.
func TestStoresOfKeytool(t *testing.T) {
	names := func(entries []storeEntry) string {
		var l []string
		for _, e := range entries {
			kind := "trusted"
			if e.key != nil {
				kind = "key"
			}
			l = append(l, fmt.Sprintf("%s %s %s", e.alias, kind, e.chain[0].Subject.CommonName))
		}
		return strings.Join(l, ", ")
	}
	for _, test := range []struct{ file, alias, want string }{
		{"keys.jks", "", "one key one.example, two key two.example"},
		{"keys.pkcs12", "", "one key one.example, two key two.example"},
		{"keys.pkcs12", "two", "one key one.example, two key two.example"},
		{"trust.jks", "", "ca trusted one.example"},
		{"trust.pkcs12", "", " trusted one.example"},
		{"single.p12", "", " key only.example"},
		{"single.p12", "only", "only key only.example"},
	} {
		got, err := readStore(StoreOptions{Path: "testdata/" + test.file, Password: password, KeyPassword: password, Type: "JKS", Alias: test.alias})
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		if n := names(got); n != test.want {
			t.Errorf("%s: %s, want %s", test.file, n, test.want)
		}
	}
	if got, err := readStore(StoreOptions{Path: "testdata/trust.jks", Type: "JKS"}); err != nil || names(got) != "ca trusted one.example" {
		t.Errorf("trust.jks without password: %v", err)
	}
	for _, file := range []string{"keys.jks", "keys.pkcs12"} {
		certs, err := loadKeys(StoreOptions{Path: "testdata/" + file, Password: password, KeyPassword: password, Alias: "two"})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if n := certs[0].Leaf.Subject.CommonName; n != "two.example" {
			t.Errorf("%s: alias two is %s", file, n)
		}
	}
}

func TestReload(t *testing.T) {
	a := newAuthority(t)
	first, firstKey := a.server(t, "first.example")
	path := a.write(t, "id.pem", append(keyPEM(t, firstKey), certPEM(first)...))
	peer := func(s *server) string {
		nc, err := tls.Dial("tcp", s.acceptor.Addr(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		return nc.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	for _, auto := range []bool{false, true} {
		a.write(t, "id.pem", append(keyPEM(t, firstKey), certPEM(first)...))
		s := serve(t, Config{}, with(map[string]string{"keyStorePath": path, "keyStoreType": "PEM", "sslAutoReload": fmt.Sprint(auto)}), func(*Conn) Handler { return nil })
		if n := peer(s); n != "first.example" {
			t.Fatalf("certificate of %s", n)
		}
		second, secondKey := a.server(t, "the.second.example")
		a.write(t, "id.pem", append(keyPEM(t, secondKey), certPEM(second)...))
		if auto {
			eventually(t, "the second certificate", func() bool { return peer(s) == "the.second.example" })
			a.write(t, "id.pem", []byte("broken"))
			eventually(t, "a line about the broken file", func() bool {
				peer(s)
				return strings.Contains(s.log.String(), "changed key or trust store cannot be read, the old one is still used")
			})
			if n := peer(s); n != "the.second.example" {
				t.Errorf("certificate of %s", n)
			}
			continue
		}
		if n := peer(s); n != "first.example" {
			t.Errorf("certificate of %s without reload", n)
		}
		if err := s.acceptor.Reload(); err != nil {
			t.Fatal(err)
		}
		if n := peer(s); n != "the.second.example" {
			t.Errorf("certificate of %s after Reload", n)
		}
	}
}

// TestTLSPeers: a TLS connection has the same bounds and rules as a plain one.
func TestTLSPeers(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.server(t, "broker.example")
	keys := with(a.keyStores(t, cert, key)["PEM"], map[string]string{"handshake-timeout": "1"})
	dial := func(s *server) *tls.Conn {
		nc := tls.Client(s.dial(t), &tls.Config{InsecureSkipVerify: true})
		if err := nc.Handshake(); err != nil {
			t.Fatal(err)
		}
		write(t, nc, []byte("ARTEMIS"))
		return nc
	}
	t.Run("silent before the handshake", func(t *testing.T) {
		s := serve(t, Config{}, keys, func(*Conn) Handler { return newFramed(echo) })
		expectEOF(t, s.dial(t))
		s.log.waitFor(t, ErrHandshakeTimeout.Error())
	})
	t.Run("plain client", func(t *testing.T) {
		s := serve(t, Config{}, keys, func(*Conn) Handler { return newFramed(echo) })
		nc := s.dial(t)
		write(t, nc, []byte("ARTEMIS\x00\x00\x00"))
		io.Copy(io.Discard, nc)
		s.log.waitFor(t, "TLS handshake: tls: first record does not look like a TLS handshake")
	})
	t.Run("end of stream", func(t *testing.T) {
		h := newFramed(echo)
		s := serve(t, Config{}, keys, func(*Conn) Handler { return h })
		nc := dial(s)
		write(t, nc, frame(nil))
		if _, err := readFrame(nc); err != nil {
			t.Fatal(err)
		}
		nc.Close()
		if err := h.waitClosed(t); err != io.EOF {
			t.Errorf("closed with %v", err)
		}
	})
	t.Run("close after flush", func(t *testing.T) {
		h := newFramed(func(h *framed, p []byte) error {
			send(h.c, make([]byte, 4<<20))
			h.c.CloseAfterFlush(nil)
			return nil
		})
		s := serve(t, Config{}, keys, func(*Conn) Handler { return h })
		nc := dial(s)
		write(t, nc, append(frame(nil), make([]byte, 100_000)...))
		if p, err := readFrame(nc); err != nil || len(p) != 4<<20 {
			t.Fatalf("got %d bytes, %v", len(p), err)
		}
		expectEOF(t, nc)
	})
	t.Run("stalled reader", func(t *testing.T) {
		h := newFramed(nil)
		ready := make(chan *Conn, 1)
		h.onFrame = func(h *framed, _ []byte) error { ready <- h.c; return nil }
		s := serve(t, Config{StallTimeout: 50 * time.Millisecond}, keys, func(*Conn) Handler { return h })
		write(t, dial(s), frame(nil))
		c := <-ready
		for range 20 {
			fill(c, 1<<20)
			c.Output().Flush()
		}
		if err := h.waitClosed(t); !errors.Is(err, ErrStalled) {
			t.Errorf("closed with %v", err)
		}
	})
}

func TestCipherSuiteWarning(t *testing.T) {
	log := &logBuffer{}
	ids, err := cipherSuites([]string{"TLS_DHE_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, hclog.New(&hclog.LoggerOptions{Output: log}))
	if err != nil || len(ids) != 1 || ids[0] != tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 {
		t.Errorf("%x, %v", ids, err)
	}
	if !strings.Contains(log.String(), "enabledCipherSuites=TLS_DHE_RSA_WITH_AES_128_CBC_SHA") {
		t.Errorf("log: %s", log)
	}
}

// FuzzStores reads damaged stores.
func FuzzStores(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := StoreOptions{Password: password, KeyPassword: password}
		if bytes.HasPrefix(data, []byte{0xfe, 0xed, 0xfe, 0xed}) {
			readJKS(data, o)
			o.Password = "" // so that changed ones are read too
			readJKS(data, o)
		}
		readPEM(data)
	})
}
