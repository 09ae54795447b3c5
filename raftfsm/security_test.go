package raftfsm

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// authority makes certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// issue writes certificate, key and the trusted authority into dir.
func (a *authority) issue(dir, host string, trusted *authority) TLS {
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	files := TLS{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")}
	for name, b := range map[string][]byte{
		files.Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		files.Key:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
		files.CA:          trusted.pem,
	} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return files
}

// Members talk by mutual TLS; whoever has no certificate of the authority is refused, on both services.
func TestMutualTLS(t *testing.T) {
	l := newLab(t, 3)
	ca, other := newAuthority(t, "group"), newAuthority(t, "somebody else")
	l.config = func(id string, c *Config) {
		dir := filepath.Join(l.dir, "tls-"+id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c.TLS = ca.issue(dir, "127.0.0.1", ca)
	}
	l.startAll()
	c := l.connect(l.member(l.followers()[0]), 1, time.Minute)
	c.must(create("/x", "", tree.Persistent))

	address := l.peers[0].Address
	good := ca.issue(t.TempDir(), "127.0.0.1", ca)
	tool, err := Connect(long(t), "lab", address, good)
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Close()
	if s, err := tool.Status(long(t)); err != nil || s.Member != "a" || len(s.Members) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, files := range map[string]TLS{
		"no TLS":                {},
		"a foreign certificate": other.issue(t.TempDir(), "127.0.0.1", ca),
		"a foreign authority":   ca.issue(t.TempDir(), "127.0.0.1", other),
	} {
		if tool, err := Connect(long(t), "lab", address, files); err == nil {
			tool.Close()
			t.Errorf("%s: let in", name)
		}
	}
	// A certificate of the authority for another host does not make its owner this member.
	impostor := ca.issue(t.TempDir(), "elsewhere.example.com", ca)
	creds, err := loadCredentials(impostor, systemClock{}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	fake, err := tls.Listen("tcp", "127.0.0.1:0", creds.server())
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if c, err := fake.Accept(); err == nil {
			_ = c.(*tls.Conn).Handshake()
			c.Close()
		}
	})
	if tool, err := Connect(long(t), "lab", fake.Addr().String(), good); err == nil {
		tool.Close()
		t.Error("an impostor was believed")
	}
	fake.Close()
	serving.Wait()
}

// setClock is a clock that is set by hand.
type setClock struct{ at time.Time }

func (c *setClock) Now() time.Time { return c.at }

// Changed files are used from the next connection on; what cannot be used leaves what was there.
func TestCredentialsReload(t *testing.T) {
	dir := t.TempDir()
	first, second := newAuthority(t, "first"), newAuthority(t, "second")
	files := first.issue(dir, "127.0.0.1", first)
	clock, warned := &setClock{time.Now()}, 0
	c, err := loadCredentials(files, clock, func(error) { warned++ })
	if err != nil {
		t.Fatal(err)
	}
	before := c.current()
	second.issue(dir, "10.0.0.1", second)
	if err := os.Chtimes(files.CA, time.Now(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if c.current() != before {
		t.Error("the files were looked at again within a second")
	}
	clock.at = clock.at.Add(2 * time.Second)
	after := c.current()
	if after == before || bytes.Equal(after.certificate.Certificate[0], before.certificate.Certificate[0]) {
		t.Error("the changed certificate is not used")
	}
	if err := os.WriteFile(files.Key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	clock.at = clock.at.Add(2 * time.Second)
	if c.current() != after || warned != 1 {
		t.Errorf("a broken key: warned %d times", warned)
	}
}

// logged collects log lines.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// Strangers are refused with a line in the log, and too many of them at once are closed.
func TestStrangers(t *testing.T) {
	l := newLab(t, 1)
	var log logged
	l.config = func(_ string, c *Config) {
		c.Log = hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: &log})
		c.Clock = &steppingClock{at: time.Now()}
	}
	l.startAll()
	address := l.peers[0].Address
	for name, c := range map[string]struct{ sent, log string }{
		"another protocol": {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "not the hello of a member"},
		"another version":  {"SRNGRAFT\x07\x01\x01x\x01y", "version 7"},
		"another cluster":  {string(hello{serviceRPC, "other", "a"}.append(nil)), `this is a member of cluster \"lab\", not of \"other\"`},
		"another service":  {string(hello{9, "lab", "a"}.append(nil)), "unknown service 9"},
		"an odd frame":     {string(hello{serviceRPC, "lab", "b"}.append(nil)) + "\xff\xff\xff\xff", "malformed frame: length 4294967295"},
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.WriteString(conn, c.sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: not closed", name)
		}
		conn.Close()
		until(t, name+" is logged", func() bool { return log.has(c.log) })
	}
	if _, err := Connect(long(t), "other", address, TLS{}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `cluster "lab"`) {
		t.Errorf("another cluster: %v", err)
	}
	var idle []net.Conn
	for range maxStrangers + 1 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	last := idle[maxStrangers]
	_ = last.SetReadDeadline(time.Now().Add(3 * time.Second)) // less than strangerTimeout
	if _, err := last.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		t.Errorf("one stranger too many: %v", err)
	}
}

// steppingClock moves on by a second per look, so that no complaint is left out of the log.
type steppingClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *steppingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(time.Second)
	return c.at
}

// Proposals of a later version would end every member that applies them; the leader refuses them.
func TestLaterCommandIsRefused(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	m := l.member(l.followers()[0])
	later, err := (&tree.Command{Session: 1, Owner: 1, Caller: tree.Caller{Chroot: tree.ClientRoot}, Op: &tree.Sync{Path: "/"}}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	later[0] = 99
	address, _ := m.leader()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := m.links.ask(ctx, address, kindPropose, later); !errors.Is(err, ErrRefused) {
		t.Errorf("a command of version 99: %v", err)
	}
	// If it is in the log all the same, the member ends instead of going on with another state than the others.
	l.member(l.leader()).raft.Load().Apply(later, time.Second)
	// Two: the third cannot know that it is committed without them.
	until(t, "a majority has ended", func() bool {
		ended := 0
		for _, m := range l.all() {
			if err := m.Err(); err != nil {
				ended++
				if !errors.Is(err, tree.ErrUnknownCommand) {
					t.Fatal(err)
				}
			}
		}
		return ended >= 2
	})
}
