package transport

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// listSkew is how long a list is taken after its next update was due, as in Java.
const listSkew = 15 * time.Minute

// revocationLists are the lists of crlPath.
type revocationLists struct {
	lists []*x509.RevocationList
}

func loadRevocationLists(path string) (*revocationLists, error) {
	data, err := readStoreFile(path)
	if err != nil {
		return nil, fmt.Errorf("crlPath: %w", err)
	}
	r := &revocationLists{}
	if !bytes.Contains(data, []byte("-----BEGIN")) {
		l, err := x509.ParseRevocationList(data)
		if err != nil {
			return nil, fmt.Errorf("crlPath %s: %w", path, err)
		}
		r.lists = append(r.lists, l)
		return r, nil
	}
	for b, rest := pem.Decode(data); b != nil; b, rest = pem.Decode(rest) {
		l, err := x509.ParseRevocationList(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("crlPath %s: %w", path, err)
		}
		r.lists = append(r.lists, l)
	}
	if len(r.lists) == 0 {
		return nil, fmt.Errorf("crlPath %s: there is no revocation list in it", path)
	}
	return r, nil
}

// check accepts the peer if one of its chains has, for each certificate below the root, a list of the issuer that does
// not name it. As in Java, a certificate whose issuer gave no list, or none that is still current, is refused.
func (r *revocationLists) check(chains [][]*x509.Certificate) error {
	err := errors.New("no chain of certificates")
	for _, chain := range chains {
		if err = r.checkChain(chain); err == nil {
			return nil
		}
	}
	return err
}

func (r *revocationLists) checkChain(chain []*x509.Certificate) error {
	for i := range len(chain) - 1 {
		cert, issuer := chain[i], chain[i+1]
		listed := false
		for _, l := range r.lists {
			if !bytes.Equal(l.RawIssuer, issuer.RawSubject) || l.CheckSignatureFrom(issuer) != nil {
				continue
			}
			if !l.NextUpdate.IsZero() && time.Since(l.NextUpdate) > listSkew {
				continue
			}
			listed = true
			for _, e := range l.RevokedCertificateEntries {
				if e.SerialNumber.Cmp(cert.SerialNumber) == 0 {
					return fmt.Errorf("certificate %s was revoked on %s", cert.Subject, e.RevocationTime.Format("2006-01-02"))
				}
			}
		}
		if !listed {
			return fmt.Errorf("certificate %s: crlPath has no current list of its issuer %s", cert.Subject, issuer.Subject)
		}
	}
	return nil
}
