package pair

import "testing"

// TestSharedStore: the backup takes over when the primary is killed, gives way when it comes back, and does not take over when it is
// stopped in good order.
func TestSharedStore(t *testing.T) {
	for _, who := range []struct{ name, primary, backup string }{
		{"SarangaArtemis", "saranga", "artemis"},
		{"ArtemisSaranga", "artemis", "saranga"},
		{"SarangaSaranga", "saranga", "saranga"},
	} {
		t.Run(who.name, func(t *testing.T) {
			share(t, newPair(t, who.primary, who.backup, "", "", "--shared-store", "--data", t.TempDir()+"/shared"))
		})
	}
}

func share(t *testing.T, p pair) {
	l := newLedger(t)
	p.primary.start()
	p.primary.serves()
	p.backup.start()
	p.backup.says("AMQ221109")
	if p.backup.open() {
		t.Error("the backup serves")
	}
	l.produce(p.primary, "a")
	l.more(200)
	l.consume(p.primary, 50)
	p.primary.kill()
	l.halt()
	p.backup.serves()

	l.produce(p.backup, "b")
	l.more(100)
	p.backup.forget()
	p.primary.start()
	p.backup.says("AMQ221008")
	l.halt()
	p.primary.serves()
	p.backup.says("AMQ221109")
	l.produce(p.primary, "c")
	l.more(100)
	l.halt()
	l.check(p.primary)

	p.primary.stop()
	if p.backup.open() {
		t.Error("the backup serves after the primary was stopped in good order")
	}
	p.backup.stop()
}
