package security

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// etc makes a folder with users and roles.
func etc(t *testing.T) string {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "users"), "admin = secret\nbob = bob\nCN\\=client,\\ O\\=Org = x\n")
	writeFile(t, filepath.Join(dir, "roles"), "amq = admin,bob\nviewer = bob, admin\nguests = guest\n")
	writeFile(t, filepath.Join(dir, "dns"), "alice = CN=alice, O=Org\nserver = /CN=server[0-9]+, .*/\nbad = /(/\n")
	writeFile(t, filepath.Join(dir, "dnroles"), "amq = alice\ncluster = server\n")
	return dir
}

func properties(flag Flag) ModuleConfig {
	return ModuleConfig{PropertiesLoginModule, flag, map[string]string{usersFileOption: "users", rolesFileOption: "roles", "reload": "true"}}
}

func guest(flag Flag, options ...string) ModuleConfig {
	m := ModuleConfig{GuestLoginModule, flag, map[string]string{}}
	for i := 0; i < len(options); i += 2 {
		m.Options[options[i]] = options[i+1]
	}
	return m
}

func textFile(flag Flag) ModuleConfig {
	return ModuleConfig{TextFileCertificateLoginModule, flag, map[string]string{dnUsersFileOption: "dns", dnRolesFileOption: "dnroles"}}
}

func external(flag Flag) ModuleConfig { return ModuleConfig{ExternalCertificateLoginModule, flag, nil} }

// certificate makes a certificate for a name.
func certificate(t *testing.T, name pkix.Name) []*x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: name, NotAfter: epoch.AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return []*x509.Certificate{cert}
}

func TestJAAS(t *testing.T) {
	dir := etc(t)
	client := certificate(t, pkix.Name{CommonName: "client", Organization: []string{"Org"}})
	alice := certificate(t, pkix.Name{CommonName: "alice", Organization: []string{"Org"}})
	server := certificate(t, pkix.Name{CommonName: "server12", Organization: []string{"Org"}})
	admin := Credentials{User: "admin", Password: "secret"}
	wrong := Credentials{User: "admin", Password: "Secret"}
	none := Credentials{}
	with := func(c Credentials, certs []*x509.Certificate) Credentials {
		c.PeerCertificates = certs
		return c
	}
	for _, c := range []struct {
		name    string
		modules []ModuleConfig
		login   Credentials
		want    string // user(roles), or part of the error
	}{
		{"password", []ModuleConfig{properties(Required)}, admin, "admin(amq)"},
		{"blank before a name in roles", []ModuleConfig{properties(Required)}, Credentials{User: "bob", Password: "bob"}, "bob(amq,viewer)"},
		{"wrong password", []ModuleConfig{properties(Required)}, wrong, "Password does not match for user: admin"},
		{"unknown user", []ModuleConfig{properties(Required)}, Credentials{User: "eve", Password: "x"}, "User does not exist: eve"},
		{"no user", []ModuleConfig{properties(Required)}, none, "User is null"},
		{"guest after password", []ModuleConfig{properties(Sufficient), guest(Sufficient)}, admin, "admin(amq)"},
		{"guest instead", []ModuleConfig{properties(Sufficient), guest(Sufficient)}, none, "guest(guests)"},
		{"guest for a wrong password", []ModuleConfig{properties(Sufficient), guest(Sufficient)}, wrong, "guest(guests)"},
		{"guest only without password", []ModuleConfig{properties(Sufficient), guest(Sufficient, "credentialsInvalidate", "true")}, wrong, "Password does not match"},
		{"guest without password", []ModuleConfig{guest(Sufficient, "credentialsInvalidate", "TRUE")}, none, "guest(guests)"},
		{"every module ignores", []ModuleConfig{guest(Sufficient, "credentialsInvalidate", "true")}, admin, "no login module accepts"},
		{"own guest", []ModuleConfig{guest(Required, "org.apache.activemq.jaas.guest.user", "g", "org.apache.activemq.jaas.guest.role", "r,s")}, none, "g(r,s)"},
		{"required fails, sufficient passes", []ModuleConfig{properties(Required), guest(Sufficient)}, none, "User is null"},
		{"requisite fails", []ModuleConfig{properties(Requisite), guest(Required)}, none, "User is null"},
		{"optional fails beside required", []ModuleConfig{properties(Optional), guest(Required)}, none, "guest(guests)"},
		{"optional alone fails", []ModuleConfig{properties(Optional)}, none, "User is null"},
		{"two required", []ModuleConfig{guest(Required), properties(Required)}, admin, "guest(amq,guests)"},
		{"certificate by DN", []ModuleConfig{textFile(Required)}, with(none, alice), "alice(amq)"},
		{"certificate by expression", []ModuleConfig{textFile(Required)}, with(none, server), "server(cluster)"},
		{"unknown certificate", []ModuleConfig{textFile(Required)}, with(none, client), "No user for client certificate: CN=client, O=Org"},
		{"no certificate", []ModuleConfig{textFile(Required)}, admin, "Client certificates not found"},
		{"external", []ModuleConfig{external(Required)}, with(none, client), "CN=client, O=Org()"},
		{"external without certificate", []ModuleConfig{external(Required)}, admin, "no login module accepts"},
		{"external first, password optional", []ModuleConfig{external(Required), properties(Optional)}, with(admin, client), "CN=client, O=Org(amq)"},
	} {
		r, err := NewJAAS("activemq", c.modules, dir, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		p, err := r.Login(context.Background(), c.login)
		got := p.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBadRealms(t *testing.T) {
	for name, modules := range map[string][]ModuleConfig{
		"has no login module":    nil,
		`flag "needed"`:          {{GuestLoginModule, "needed", nil}},
		"not available":          {{"com.example.MyModule", Required, nil}},
		"textfiledn.user is mis": {{TextFileCertificateLoginModule, Required, nil}},
		"password codec com.ex":  {{PropertiesLoginModule, Required, map[string]string{passwordCodecOption: "com.example.C"}}},
	} {
		if _, err := NewJAAS("x", modules, "", nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

func TestNormalise(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "dns"), "alice = CN=alice,O=\"Org\"\n")
	writeFile(t, filepath.Join(dir, "dnroles"), "")
	login := Credentials{PeerCertificates: certificate(t, pkix.Name{CommonName: "alice", Organization: []string{"Org"}})}
	for _, normalise := range []string{"false", "true"} {
		m := textFile(Required)
		m.Options["normalise"] = normalise
		r, err := NewJAAS("x", []ModuleConfig{m}, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Login(context.Background(), login); (err == nil) != (normalise == "true") {
			t.Errorf("normalise=%s: %v", normalise, err)
		}
	}
}

func TestReload(t *testing.T) {
	dir := etc(t)
	users := filepath.Join(dir, "users")
	r, err := NewJAAS("x", []ModuleConfig{properties(Required)}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	fixed := properties(Required)
	delete(fixed.Options, "reload")
	once, err := NewJAAS("x", []ModuleConfig{fixed}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	login := func(realm *JAAS, password string) error {
		_, err := realm.Login(context.Background(), Credentials{User: "admin", Password: password})
		return err
	}
	check := func(step string, err error, accepted bool) {
		t.Helper()
		if (err == nil) != accepted {
			t.Errorf("%s: %v", step, err)
		}
	}
	check("before", login(r, "secret"), true)
	check("before", login(once, "secret"), true)
	writeFile(t, users, "admin = secre2\n") // same size, in the same tick of the clock
	check("old password", login(r, "secret"), false)
	check("new password", login(r, "secre2"), true)
	check("without reload", login(once, "secret"), true)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(users, old, old); err != nil {
		t.Fatal(err)
	}
	check("older file", login(r, "secre2"), true)
	if err := writeSecretFile(users, []byte("admin = secre3\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(users, old, old); err != nil {
		t.Fatal(err)
	}
	check("another file of the same time and size", login(r, "secre3"), true)
	if err := os.Remove(users); err != nil {
		t.Fatal(err)
	}
	err = login(r, "secre3")
	check("without the file", err, false)
	if !errors.As(err, new(unavailable)) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	writeFile(t, users, "admin = x\n")
	check("with the file again", login(r, "x"), true)
	writeFile(t, users, "admin = \\u1\n")
	check("damaged file", login(r, "x"), false)
}

func TestAnonymous(t *testing.T) {
	dir := etc(t)
	for _, c := range []struct {
		modules []ModuleConfig
		want    string
	}{
		{[]ModuleConfig{properties(Required)}, ""},
		{[]ModuleConfig{properties(Sufficient), guest(Sufficient, "org.apache.activemq.jaas.guest.user", "admin", "org.apache.activemq.jaas.guest.role", "amq")}, "admin(amq)"},
	} {
		r, err := NewJAAS("x", c.modules, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := r.Anonymous()
		if ok != (c.want != "") || ok && p.String() != c.want {
			t.Errorf("%v, %v, want %q", p, ok, c.want)
		}
	}
}

func TestBaseDir(t *testing.T) {
	o := moduleOptions{map[string]string{"f": "file", "a": "/abs/file"}, "/etc/x"}
	for _, c := range []struct{ base, name, want string }{
		{"", "f", "/etc/x/file"},
		{"", "a", "/abs/file"},
		{"", "missing", "/etc/x/user"},
		{"/other", "f", "/other/file"},
		{"sub", "f", "/etc/x/sub/file"},
	} {
		delete(o.values, "baseDir")
		if c.base != "" {
			o.values["baseDir"] = c.base
		}
		if got := o.path(c.name, "user"); got != c.want {
			t.Errorf("%s below %q: %s, want %s", c.name, c.base, got, c.want)
		}
	}
}
