package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

// addTLSAcceptor gives an instance a second acceptor, with a new certificate, and returns its port.
func addTLSAcceptor(i peers.Instance) (port int, err error) {
	const password = "bench-store"
	if port, err = peers.FreePort(); err != nil {
		return 0, err
	}
	store, err := newKeyStore(password)
	if err != nil {
		return 0, fmt.Errorf("TLS acceptor: %w", err)
	}
	if err := os.WriteFile(i.Etc("bench.p12"), store, 0o600); err != nil {
		return 0, fmt.Errorf("TLS acceptor: %w", err)
	}
	xml, err := os.ReadFile(i.Etc("broker.xml"))
	if err != nil {
		return 0, fmt.Errorf("TLS acceptor: %w", err)
	}
	const end = "</acceptors>"
	before, after, found := strings.Cut(string(xml), end)
	if !found {
		return 0, errors.New("TLS acceptor: broker.xml has no acceptors")
	}
	acceptor := fmt.Sprintf(`<acceptor name="tls">tcp://127.0.0.1:%d?protocols=CORE;sslEnabled=true;keyStoreType=PKCS12;keyStorePath=%s;keyStorePassword=%s</acceptor>`,
		port, i.Etc("bench.p12"), password)
	return port, i.WriteEtc("broker.xml", before+acceptor+"\n"+end+after)
}

// newKeyStore is a PKCS#12 store with a self-signed certificate of this host.
func newKeyStore(password string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return pkcs12.Modern.Encode(key, certificate, nil, password)
}

// withTLS lets a client connect to the TLS acceptor.
func withTLS(c client.Config, port int) client.Config {
	host := c.Hosts[0]
	host.Port = port
	host.TLS = transport.TLSOptions{Enabled: true, TrustAll: true}
	c.Hosts = []transport.ConnectorOptions{host}
	return c
}
