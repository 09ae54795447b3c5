//go:build linux

package partition

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/saranga-mq/saranga/test/peers"
)

const (
	user     = "admin"
	password = "admin"
)

// broker lays out a half of the pair.
func (w *world) broker(ctx context.Context, name, other string) error {
	dir := filepath.Join(w.dir, name)
	i, err := w.setup.broker(name).Create(ctx, dir, peers.CreateOptions{Flags: []string{
		"--clustered", "--cluster-user", "cluster", "--cluster-password", "cluster", "--name", name, "--staticCluster", "tcp://" + w.core[other].reach,
	}})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(i.Etc("broker.xml"))
	if err != nil {
		return err
	}
	xml, err := w.configure(string(text), name)
	if err != nil {
		return err
	}
	if err := i.WriteEtc("broker.xml", xml); err != nil {
		return err
	}
	w.nodes[name] = newProcess(w.fabric, w.dir, name, func() *exec.Cmd { return w.setup.run(name, dir) })
	return nil
}

// configure makes a broker's configuration that of a half of the pair.
func (w *world) configure(xml, name string) (string, error) {
	ms := func(element string, of int64) string { return fmt.Sprintf("<%s>%d</%s>", element, of, element) }
	properties := `<property key="namespace" value="pair"/>`
	if !w.plan.Embedded {
		properties += `<property key="connect-string" value="` + w.connectString() + `"/>`
	}
	if w.plan.Session != defaultSession {
		properties += fmt.Sprintf(`<property key="session-ms" value="%d"/>`, w.plan.Session.Milliseconds())
	}
	manager := "<manager><properties>" + properties + "</properties></manager>"
	role := "<primary>" + manager + "</primary>"
	if name == "b" {
		role = fmt.Sprintf("<backup><allow-failback>%v</allow-failback>%s</backup>", w.plan.Failback, manager)
	}
	ttl := w.plan.TTL.Milliseconds()
	for _, x := range []struct{ old, new string }{ // regular expressions
		{`<acceptor name="artemis">tcp://[^?<]*`, `<acceptor name="artemis">tcp://` + w.core[name].listen},
		{`<connector name="artemis">tcp://[^<]*<`, `<connector name="artemis">tcp://` + w.core[name].reach + "<"},
		{"<acceptors>", "<ha-policy><replication>" + role + "</replication></ha-policy>\n<acceptors>"},
		{"<connector-ref>artemis</connector-ref>", "<connector-ref>artemis</connector-ref>" + ms("check-period", ttl/4) + ms("connection-ttl", ttl) +
			ms("call-timeout", ttl) + ms("retry-interval", 500)},
		// A message that comes back often must not leave its queue.
		{`<address-setting match="#">`, `<address-setting match="#"><max-delivery-attempts>-1</max-delivery-attempts>`},
		// Files small enough to be rolled in a round.
		{"<journal-file-size>[^<]*<", "<journal-file-size>1M<"},
	} {
		old := regexp.MustCompile(x.old)
		if !old.MatchString(xml) {
			return "", fmt.Errorf("there is no %q in the broker.xml that create makes", x.old)
		}
		xml = old.ReplaceAllLiteralString(xml, x.new)
	}
	return xml, nil
}
