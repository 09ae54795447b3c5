package raftfsm

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"
)

// credentials are a member's certificate and the authorities it trusts, read again when one of the files has changed. Safe for concurrent use.
type credentials struct {
	files TLS
	clock Clock
	warn  func(error) // when what is on disk now cannot be used: what was read before stays

	mu      sync.Mutex
	looked  time.Time
	stamps  [3]stamp
	present *material
}

// material is what one reading of the files gave.
type material struct {
	certificate tls.Certificate
	authorities *x509.CertPool
}

type stamp struct {
	size     int64
	modified time.Time
}

// lookEvery is the least time between two looks at the files.
const lookEvery = time.Second

func loadCredentials(files TLS, clock Clock, warn func(error)) (*credentials, error) {
	c := &credentials{files: files, clock: clock, warn: warn}
	m, err := c.read()
	if err != nil {
		return nil, err
	}
	c.present, c.looked, c.stamps = m, clock.Now(), c.look()
	return c, nil
}

func (c *credentials) read() (*material, error) {
	pair, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: load certificate %s with key %s: %w", c.files.Certificate, c.files.Key, err)
	}
	pem, err := os.ReadFile(c.files.CA)
	if err != nil {
		return nil, fmt.Errorf("tls: load authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls: %s holds no certificate in PEM form", c.files.CA)
	}
	return &material{pair, pool}, nil
}

func (c *credentials) look() (out [3]stamp) {
	for i, name := range []string{c.files.Certificate, c.files.Key, c.files.CA} {
		if info, err := os.Stat(name); err == nil {
			out[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return out
}

// current is what the files hold.
func (c *credentials) current() *material {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if now.Sub(c.looked) < lookEvery {
		return c.present
	}
	c.looked = now
	if stamps := c.look(); stamps != c.stamps {
		if m, err := c.read(); err != nil {
			c.warn(err)
		} else {
			c.present, c.stamps = m, stamps
		}
	}
	return c.present
}

// server is the configuration of the end that accepts.
func (c *credentials) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m := c.current()
			return &tls.Config{
				MinVersion:             tls.VersionTLS13,
				Certificates:           []tls.Certificate{m.certificate},
				ClientAuth:             tls.RequireAndVerifyClientCert,
				ClientCAs:              m.authorities,
				SessionTicketsDisabled: true, // so that a change of the authorities holds for every connection
			}, nil
		},
	}
}

// client is the configuration of the end that dials host.
func (c *credentials) client(host string) *tls.Config {
	m := c.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host,
		Certificates: []tls.Certificate{m.certificate}, RootCAs: m.authorities,
	}
}
