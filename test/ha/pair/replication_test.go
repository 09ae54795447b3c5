package pair

import "testing"

// Policies with voting. A primary looks for whoever took its place before it becomes active.
const (
	votingPrimary = "<replication><primary><check-for-active-server>true</check-for-active-server></primary></replication>"
	votingBackup  = "<replication><backup><allow-failback>true</allow-failback></backup></replication>"
)

// fileManager is the lock manager on a folder.
func fileManager(dir string) string {
	return `<manager><class-name>org.apache.activemq.artemis.lockmanager.file.FileBasedLockManager</class-name><properties><property key="locks-folder" value="` + dir + `"/></properties></manager>`
}

// TestVoting, TestFileManager: pairs of all kinds, with messages that were there before the backup and messages that come while it is
// synchronised.
func TestVoting(t *testing.T) {
	matrix(t, func(*testing.T) (string, string) { return votingPrimary, votingBackup })
}

func TestFileManager(t *testing.T) {
	matrix(t, func(t *testing.T) (string, string) {
		m := fileManager(t.TempDir())
		return "<replication><primary>" + m + "</primary></replication>", "<replication><backup><allow-failback>true</allow-failback>" + m + "</backup></replication>"
	})
}

func matrix(t *testing.T, policies func(*testing.T) (primary, backup string)) {
	for _, who := range []struct{ name, primary, backup string }{
		{"SarangaArtemis", "saranga", "artemis"},
		{"ArtemisSaranga", "artemis", "saranga"},
		{"SarangaSaranga", "saranga", "saranga"},
	} {
		for _, end := range []struct {
			name string
			do   func(*node)
		}{{"Kill", (*node).kill}, {"Stop", (*node).stop}} {
			t.Run(who.name+end.name, func(t *testing.T) {
				primary, backup := policies(t)
				takeOver(t, newPair(t, who.primary, who.backup, primary, backup), end.do)
			})
		}
	}
}

// takeOver ends the primary under load: the backup has everything and serves. The primary comes back as its backup, and, as it asks
// for that, becomes active again.
func takeOver(t *testing.T, p pair, end func(*node)) {
	l := newLedger(t)
	p.primary.start()
	p.primary.serves()
	l.produce(p.primary, "a")
	l.more(300)
	p.backup.start()
	p.backup.says(synced)
	p.backup.says(announced)
	l.more(300)
	l.consume(p.primary, 100)
	l.more(50)
	if p.backup.open() {
		t.Error("the backup serves")
	}
	end(p.primary)
	l.halt()
	p.backup.serves()
	l.produce(p.backup, "b")
	l.more(200)

	p.backup.forget()
	p.primary.start()
	p.primary.serves()
	l.halt()
	p.backup.says(announced)
	l.produce(p.primary, "c")
	l.more(200)
	l.halt()
	l.check(p.primary)
	p.backup.stop()
	p.primary.stop()
}
