package management

import (
	"fmt"
	"strings"
)

// An AuditLevel says which audit logger a line is for.
type AuditLevel uint8

// Audit loggers.
const (
	AuditBase     AuditLevel = iota // org.apache.activemq.audit.base: every call
	AuditResource                   // …audit.resource: what was changed
	AuditMessage                    // …audit.message: each message
)

// Audit takes audit lines. Implementations are safe for concurrent use and must not block for long.
type Audit interface {
	// Enabled tells whether lines of a level are wanted; they are built only then.
	Enabled(AuditLevel) bool
	// Log takes a line: "AMQ601264: User …".
	Log(AuditLevel, string)
}

// audit notes a call.
func (g *Registry) audit(c Caller, r Resource, method string, args []any) {
	a := g.env.Audit
	if a == nil || !a.Enabled(AuditBase) {
		return
	}
	id, doing := auditEvent(method)
	line := fmt.Sprintf("AMQ%d: User %s is %s on target resource: %s", id, c, doing, r.Name)
	if args != nil {
		line += " with parameters: " + auditArgs(method, args)
	}
	a.Log(AuditBase, line)
}

// auditArgs are the arguments of a call as text; passwords are hidden.
func auditArgs(method string, args []any) string {
	texts := make([]string, len(args))
	for i, v := range args {
		texts[i] = javaText(v)
		if (method == "addUser" || method == "resetUser") && i == 1 || method == "sendMessage" && i == 5 {
			texts[i] = "****"
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// audited notes the outcome of an operation that changes something.
func (g *Registry) audited(c Caller, r Resource, o *Operation, args []any, err error) {
	a := g.env.Audit
	if a == nil || !a.Enabled(AuditResource) {
		return
	}
	e, ok := outcomes[o.Name]
	if !ok {
		return
	}
	_, subject, _ := strings.Cut(r.Name, ".")
	if r.Name == "broker" && len(args) > 0 {
		subject = javaText(args[0])
	}
	if err != nil {
		if e.failure != 0 {
			a.Log(AuditResource, fmt.Sprintf("AMQ%d: User %s failed to %s %s", e.failure, c, e.failed, subject))
		}
		return
	}
	a.Log(AuditResource, fmt.Sprintf("AMQ%d: User %s %s %s", e.success, c, e.done, subject))
}

type auditOutcome struct {
	success, failure int
	done, failed     string
}

// outcomes are the lines for operations by their names.
var outcomes = map[string]auditOutcome{
	"createAddress":     {601701, 601702, "successfully created address:", "create address:"},
	"updateAddress":     {601703, 601704, "successfully updated address:", "update address:"},
	"deleteAddress":     {601705, 601706, "successfully deleted address:", "delete address:"},
	"createQueue":       {601707, 601708, "successfully created queue:", "create queue:"},
	"deployQueue":       {601707, 601708, "successfully created queue:", "create queue:"},
	"updateQueue":       {601709, 601710, "successfully updated queue:", "update queue:"},
	"destroyQueue":      {601711, 601712, "successfully deleted queue:", "delete queue:"},
	"removeMessages":    {601713, 601714, "has removed messages from queue:", "remove messages from queue:"},
	"removeAllMessages": {601713, 601714, "has removed messages from queue:", "remove messages from queue:"},
	"removeMessage":     {601713, 601714, "has removed a message from queue:", "remove a message from queue:"},
	"pause":             {601719, 601720, "has paused queue", "pause queue"},
	"resume":            {601721, 601722, "has resumed queue", "resume queue"},
	"sendMessage":       {601723, 601724, "sent a message to", "send a message to"},
	"browse":            {601725, 601726, "browsed messages of queue:", "browse messages of queue:"},
	"purge":             {601751, 601752, "has purged address", "purge address"},
}

// auditEvent is the id of a method's line and what it says the user does.
func auditEvent(method string) (id int, doing string) {
	id, ok := auditIDs[method]
	if !ok {
		id = 601717
	}
	words := spaced(method)
	switch {
	case strings.HasPrefix(method, "get"):
		return id, "getting" + strings.TrimPrefix(words, "get")
	case strings.HasPrefix(method, "is"):
		return id, "querying " + method
	case strings.HasPrefix(method, "list"):
		return id, "listing" + strings.TrimPrefix(words, "list")
	}
	return id, "calling " + method
}

// spaced is a method's name as words: getMessageCount is "get message count".
func spaced(method string) string {
	var b strings.Builder
	for i, r := range method {
		if i > 0 && r >= 'A' && r <= 'Z' && !(method[i-1] >= 'A' && method[i-1] <= 'Z') {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
