package security

import (
	"crypto/x509"
	"slices"
	"strings"
)

// Credentials are what a client shows when it opens a session or connection.
type Credentials struct {
	User             string // "" is no user
	Password         string // "" is no password
	PeerCertificates []*x509.Certificate
	Remote           string // address and port of the peer, for messages and for the slow-down of failed logins
	// Domain is the realm that the acceptor asks for (securityDomain); "" is the default realm.
	Domain string
}

// SubjectDN is the subject of the leaf certificate as Artemis prints it, "unavailable" without one.
func (c Credentials) SubjectDN() string {
	if len(c.PeerCertificates) == 0 {
		return "unavailable"
	}
	return DistinguishedName(c.PeerCertificates[0])
}

// Principal is who a client turned out to be. It is a value that nobody changes after login.
type Principal struct {
	User  string   // the validated user
	Roles []string // sorted

	all bool // every permission: the cluster user and the broker itself
}

// Internal is the principal of the broker's own sessions: it may do everything.
func Internal(user string) Principal { return Principal{User: user, all: true} }

// HasRole says whether the principal has the role.
func (p Principal) HasRole(role string) bool { return slices.Contains(p.Roles, role) }

// String is the form of audit messages: user(role1,role2).
func (p Principal) String() string { return p.User + "(" + strings.Join(p.Roles, ",") + ")" }

// AuthenticationError is a refused login. Its text is the one that clients of Artemis see; the cause is for the
// operator's log only.
type AuthenticationError struct {
	User      string
	Remote    string
	SubjectDN string
	Cluster   bool // the cluster user with a wrong password
	Cause     error
}

func (e *AuthenticationError) Error() string {
	if e.Cluster {
		return "AMQ229099: Unable to authenticate cluster user: " + e.User
	}
	return "AMQ229031: Unable to validate user from " + orNull(e.Remote) + ". Username: " + orNull(e.User) +
		"; SSL certificate subject DN: " + e.SubjectDN
}

func (e *AuthenticationError) Unwrap() error { return e.Cause }

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}
