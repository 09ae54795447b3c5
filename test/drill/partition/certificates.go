//go:build linux

package partition

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/saranga-mq/saranga/raftfsm"
)

// certificates makes an authority and a certificate for each member, which names the address the others dial.
func (w *world) certificates() (map[string]raftfsm.TLS, error) {
	dir := filepath.Join(w.dir, "tls")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := filepath.Join(dir, "ca.pem")
	if err := issue(ca, "", root, root, rootKey, rootKey); err != nil {
		return nil, err
	}
	out := map[string]raftfsm.TLS{}
	for i, m := range memberNames {
		host, _, err := net.SplitHostPort(w.raft[m].reach)
		if err != nil {
			return nil, err
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), Subject: pkix.Name{CommonName: m}, IPAddresses: []net.IP{net.ParseIP(host)},
			NotBefore: root.NotBefore, NotAfter: root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		files := raftfsm.TLS{Certificate: filepath.Join(dir, m+".pem"), Key: filepath.Join(dir, m+".key"), CA: ca}
		if err := issue(files.Certificate, files.Key, leaf, root, key, rootKey); err != nil {
			return nil, err
		}
		out[m] = files
	}
	return out, nil
}

// issue signs a certificate and writes it, and its key if that has a file.
func issue(file, keyFile string, c, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil || keyFile == "" {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
}
