package security

import (
	"fmt"
	"regexp"
	"strings"
)

// RBAC decides about management messages by permissions on pseudo addresses: management-message-rbac=true. The right
// is view for methods that only look, edit for all others, and the address is <prefix>.<resource>.<method>, for
// example "mops.queue.orders.pause".
type RBAC struct {
	prefix string
	view   *regexp.Regexp
}

// Defaults of management-rbac-prefix and view-permission-method-match-pattern.
const (
	DefaultRBACPrefix  = "mops"
	DefaultViewPattern = "^(get|is|count|list|browse|query).*$"
)

// NewRBAC makes the rules; "" stands for the defaults. pattern is a regular expression that a whole method name matches.
func NewRBAC(prefix, pattern string) (*RBAC, error) {
	view, err := regexp.Compile(`\A(?:` + orDefault(pattern, DefaultViewPattern) + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("view-permission-method-match-pattern: %w", err)
	}
	return &RBAC{orDefault(prefix, DefaultRBACPrefix), view}, nil
}

// Permission is the right that a method needs. Methods have their Java names: getMessageCount, pause.
func (r *RBAC) Permission(method string) Permission {
	if r.view.MatchString(method) {
		return View
	}
	return Edit
}

// Address is the address on which the right is needed. resource is the name of the managed resource ("queue.orders");
// method "" stands for the resource as a whole.
func (r *RBAC) Address(resource, method string) string {
	parts := []string{r.prefix, resource, method}
	if method == "" {
		parts = parts[:2]
	}
	return strings.Join(parts, ".")
}

// Check refuses a method with a *[PermissionError].
func (r *RBAC) Check(p *Permissions, who Principal, resource, method string) error {
	return p.Check(who, r.Permission(method), r.Address(resource, method), "")
}
