package lab

import (
	"fmt"
	"strings"
	"testing"
)

// A Policy is how a pair decides which node is active.
type Policy struct {
	Primary, Backup           string   // contents of ha-policy; empty: what flags of the create command make
	PrimaryFlags, BackupFlags []string // of the create command
}

// FileManager is a lock manager on a folder.
func FileManager(dir string) Policy {
	m := `<manager><class-name>org.apache.activemq.artemis.lockmanager.file.FileBasedLockManager</class-name>` + properties("locks-folder", dir) + "</manager>"
	return Managed(m, m, true)
}

// Managed is replication with lock managers.
func Managed(primary, backup string, failback bool) Policy {
	return Policy{
		Primary: "<replication><primary>" + primary + "</primary></replication>",
		Backup:  fmt.Sprintf("<replication><backup><allow-failback>%v</allow-failback>%s</backup></replication>", failback, backup),
	}
}

// properties are those of a manager.
func properties(list ...string) string {
	var b strings.Builder
	for i := 0; i < len(list); i += 2 {
		fmt.Fprintf(&b, `<property key="%s" value="%s"/>`, list[i], list[i+1])
	}
	return "<properties>" + b.String() + "</properties>"
}

// Voting is replication with the legacy voting. A primary looks for whoever took its place before it becomes active.
func Voting() Policy {
	return Policy{
		Primary: "<replication><primary><check-for-active-server>true</check-for-active-server></primary></replication>",
		Backup:  "<replication><backup><allow-failback>true</allow-failback></backup></replication>",
	}
}

// SharedStore has both nodes use one folder.
func SharedStore(dir string, more ...string) Policy {
	flags := append([]string{"--shared-store", "--data", dir}, more...)
	return Policy{PrimaryFlags: flags, BackupFlags: append([]string{"--backup"}, flags...)}
}

// A Pair is a primary and a backup that know each other.
type Pair struct{ Primary, Backup *Node }

// nobody is where no broker is.
const nobody = "tcp://127.0.0.1:1"

// NewPair lays out two instances in a folder.
func NewPair(t testing.TB, dir string, primary, backup Product, p Policy) Pair {
	t.Helper()
	create := func(name string, product Product, other string, flags []string, policy string) *Node {
		t.Helper()
		flags = append([]string{"--clustered", "--cluster-user", "cu", "--cluster-password", "cp", "--name", name, "--staticCluster", other}, flags...)
		n := NewNode(t, dir, name, product, flags...)
		if policy != "" {
			n.Edit("<acceptors>", "<ha-policy>"+policy+"</ha-policy>\n<acceptors>")
		}
		return n
	}
	var out Pair
	out.Primary = create("primary", primary, nobody, p.PrimaryFlags, p.Primary)
	out.Backup = create("backup", backup, out.Primary.Instance.URL(), p.BackupFlags, p.Backup)
	out.Primary.Edit(nobody+"<", out.Backup.Instance.URL()+"<")
	return out
}

// URLs are those of both.
func (p Pair) URLs() []string { return []string{p.Primary.Instance.URL(), p.Backup.Instance.URL()} }
