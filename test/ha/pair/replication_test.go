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

func lockManager(t *testing.T) (primary, backup string) {
	m := fileManager(t.TempDir())
	return "<replication><primary>" + m + "</primary></replication>", "<replication><backup><allow-failback>true</allow-failback>" + m + "</backup></replication>"
}

func voting(*testing.T) (primary, backup string) { return votingPrimary, votingBackup }

// TestVoting, TestFileManager: pairs of all kinds, with messages that were there before the backup and messages that come while it is
// synchronised.
func TestVoting(t *testing.T) { matrix(t, voting, -1) }

// The sequence rises with each activation: that of the primary, of the backup, and of the primary again.
func TestFileManager(t *testing.T) { matrix(t, lockManager, 3) }

// Policies are the contents of the two ha-policy elements.
type policies func(*testing.T) (primary, backup string)

func matrix(t *testing.T, policies policies, sequence int64) {
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
				takeOver(t, newPair(t, who.primary, who.backup, primary, backup), end.do, sequence)
			})
		}
	}
}

// takeOver ends the primary under load: the backup has everything and serves. The primary comes back as its backup, and, as it asks
// for that, becomes active again.
func takeOver(t *testing.T, p pair, end func(*node), sequence int64) {
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
	p.backup.comesBack()
	l.produce(p.primary, "c")
	l.more(200)
	l.halt()
	l.check(p.primary)
	if a, b := p.primary.sequence(), p.backup.sequence(); a != sequence || b != sequence {
		t.Errorf("activation sequences %d of the active node and %d of its replica, want %d", a, b, sequence)
	}
	p.backup.stop()
	p.primary.stop()
}

// TestBackupComesBack: the backup is killed under load; sends go on without it. It is synchronised again when it comes back, and takes
// over from a primary that is killed then.
func TestBackupComesBack(t *testing.T) {
	for _, x := range []struct {
		name     string
		policies policies
		sequence int64 // of the activation, and of going on without the replica
	}{{"Voting", voting, -1}, {"FileManager", lockManager, 2}} {
		t.Run(x.name, func(t *testing.T) {
			primary, backup := x.policies(t)
			p := newPair(t, "saranga", "saranga", primary, backup)
			l := newLedger(t)
			p.primary.start()
			p.primary.serves()
			p.backup.start()
			l.produce(p.primary, "a")
			p.backup.says(announced)
			l.more(200)
			p.backup.kill()
			l.more(200)
			if s := p.primary.sequence(); s != x.sequence {
				t.Errorf("activation sequence %d without the replica, want %d", s, x.sequence)
			}
			p.backup.start()
			p.backup.says(announced)
			l.more(200)
			p.primary.kill()
			l.halt()
			p.backup.serves()
			l.check(p.backup)
			p.backup.stop()
		})
	}
}
