package security

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// Classes of the login modules that are built in.
const (
	modulePackage = "org.apache.activemq.artemis.spi.core.security.jaas."

	PropertiesLoginModule          = modulePackage + "PropertiesLoginModule"
	GuestLoginModule               = modulePackage + "GuestLoginModule"
	TextFileCertificateLoginModule = modulePackage + "TextFileCertificateLoginModule"
	ExternalCertificateLoginModule = modulePackage + "ExternalCertificateLoginModule"
)

func newModule(config ModuleConfig, dir string, log hclog.Logger) (loginModule, error) {
	o := moduleOptions{config.Options, dir}
	switch config.Class {
	case PropertiesLoginModule:
		return newPropertiesModule(o, log)
	case GuestLoginModule:
		return newGuestModule(o), nil
	case TextFileCertificateLoginModule:
		return newTextFileCertificateModule(o, log)
	case ExternalCertificateLoginModule:
		return externalCertificateModule{}, nil
	}
	return nil, fmt.Errorf("not available; there are %s, %s, %s and %s", PropertiesLoginModule, GuestLoginModule,
		TextFileCertificateLoginModule, ExternalCertificateLoginModule)
}

// moduleOptions are the options of a login module.
type moduleOptions struct {
	values map[string]string
	dir    string
}

func (o moduleOptions) text(name, otherwise string) string {
	if value, ok := o.values[name]; ok {
		return value
	}
	return otherwise
}

func (o moduleOptions) is(name string) bool { return strings.EqualFold(o.values[name], "true") }

// path is the place of a file that an option names: below baseDir, else below the folder of login.config.
func (o moduleOptions) path(name, otherwise string) string {
	file := o.text(name, otherwise)
	dir := o.text("baseDir", o.dir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.dir, dir)
	}
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

func lastDot(class string) int { return strings.LastIndexByte(class, '.') }
