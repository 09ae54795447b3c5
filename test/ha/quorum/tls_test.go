package quorum

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// An authority signs the certificates of a group.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "quorum"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	var der []byte
	a.key, der = a.sign(a.cert, nil)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// sign makes a key and its certificate; the authority's own is signed by itself.
func (a *authority) sign(template *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, der
}

// issue writes what a member on this machine needs to where the create command expects it.
func (a *authority) issue(i peers.Instance) {
	a.t.Helper()
	key, der := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "member"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"node.example"},
	}, a.key)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"quorum.pem":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"quorum.key":    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
		"quorum-ca.pem": a.pem,
	} {
		if err := os.WriteFile(i.Etc(name), content, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

const tlsLine = "  tls: {certificate: etc/quorum.pem, key: etc/quorum.key, ca: etc/quorum-ca.pem}\n"

// TestMembersByTLS: members that listen on every address need TLS, and take nobody in whose certificate another authority has signed.
func TestMembersByTLS(t *testing.T) {
	s := newSite(t)
	ours, foreign := newAuthority(t), newAuthority(t)
	var nodes []*node
	for i := range 3 {
		n := s.witness(i)
		_, address, _ := strings.Cut(s.members[i], "=")
		_, number, _ := net.SplitHostPort(address)
		n.edit("saranga.yaml", "listen: "+address, "listen: 0.0.0.0:"+number)
		nodes = append(nodes, n)
	}
	a := nodes[0]
	a.start()
	if code := a.ended(); code != 1 || !a.said("saranga.yaml:5: quorum.listen: ") || !a.said("is not a loopback address: whoever reaches this port would be a member. Set tls") {
		t.Errorf("without TLS: exit code %d", code)
	}
	for _, n := range nodes {
		n.edit("saranga.yaml", "  members:\n", tlsLine+"  members:\n")
	}
	a.start()
	if code := a.ended(); code != 1 || !a.said("load certificate "+a.instance.Etc("quorum.pem")) {
		t.Errorf("without certificates: exit code %d", code)
	}
	for _, n := range nodes {
		ours.issue(n.instance)
		n.start()
	}
	a.shows("3 of 3 voters are present", "status")

	// Whoever has a certificate of another authority: as a tool, to join, and as the member that was there before.
	stranger := peers.Instance{Dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(stranger.Dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	foreign.issue(stranger)
	d := witness(t, "d", stranger.Dir)
	_, address, _ := strings.Cut(s.members[0], "=")
	join := []string{"--member", "d", "--listen", fmt.Sprintf("127.0.0.1:%d", port(t)), "--peer", address,
		"--tls-certificate", stranger.Etc("quorum.pem"), "--tls-key", stranger.Etc("quorum.key"), "--tls-ca", stranger.Etc("quorum-ca.pem")}
	if out, err := d.quorum("join", join...); err == nil || !strings.Contains(out, "certificate signed by unknown authority") {
		t.Errorf("join: %v\n%s", err, out)
	}
	if _, err := os.Stat(stranger.Etc("saranga.yaml")); err == nil {
		t.Error("a join that was refused has left a file")
	}
	c := nodes[2]
	c.stop()
	foreign.issue(c.instance)
	c.start()
	c.shows("NO MAJORITY", "status")
	a.shows("2 of 3 voters are present", "status")
	if out, err := a.quorum("status"); err != nil || !strings.Contains(out, "certificate signed by unknown authority") {
		t.Errorf("status: %v\n%s", err, out)
	}
	c.says("TLS")

	// With the right files, which are read again, it is a member, and so is whoever joins.
	ours.issue(c.instance)
	a.shows("3 of 3 voters are present", "status")
	ours.issue(stranger)
	if out, err := d.quorum("join", join...); err != nil {
		t.Fatalf("join: %v\n%s", err, out)
	}
	d.start()
	d.shows("4 of 4 voters are present", "status")
	for _, n := range append(nodes, d) {
		n.stop()
	}
}
