package quorum

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/test/peers"
)

// TestCreatedPairs: what the create command lays out for a replicated pair starts and pairs as it is, and with what a real Artemis lays out. There is no lock
// manager: the backup takes over when nobody in the cluster, where is nobody else, has seen its primary.
func TestCreatedPairs(t *testing.T) {
	for _, c := range []struct {
		name            string
		primary, backup peers.Broker
		static          bool
	}{
		{"SarangaSaranga", peers.UnderTest(t), peers.UnderTest(t), true},
		{"SarangaArtemis", peers.UnderTest(t), peers.RealArtemis(t), true},
		{"ArtemisSaranga", peers.RealArtemis(t), peers.UnderTest(t), true},
		{"Discovery", peers.UnderTest(t), peers.UnderTest(t), false},
		{"DiscoveryArtemis", peers.RealArtemis(t), peers.UnderTest(t), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			flags := func(other string, more ...string) []string {
				all := cluster(other, append(more, "--replicated")...)
				if !c.static {
					all = append(all[:4:4], all[6:]...)
				}
				return all
			}
			p := broker(t, "primary", c.primary, peers.NewInstance(t, c.primary, peers.CreateOptions{Flags: flags(nobody)}))
			b := broker(t, "backup", c.backup, peers.NewInstance(t, c.backup, peers.CreateOptions{Flags: flags(p.instance.URL(), "--backup")}))
			if c.static { // the address of the backup was not known before
				p.edit("broker.xml", nobody+"<", b.instance.URL()+"<")
			}
			x := texts{t, map[string]bool{}}
			p.start()
			p.serves()
			x.put(p, 50)
			b.start()
			b.says(synced)
			b.says(announced)
			x.put(p, 50)
			p.kill()
			b.serves()
			x.take(b)
			b.stop()
		})
	}
}

// What is written for the same flags is what a real Artemis writes.
func TestCreatedPolicies(t *testing.T) {
	elements := regexp.MustCompile(`(?s)<(ha-policy|cluster-connections|broadcast-groups|discovery-groups)>.*</(ha-policy|cluster-connections|broadcast-groups|discovery-groups)>`)
	comments := regexp.MustCompile(`(?s)<!--.*?-->`)
	for name, flags := range map[string][]string{
		"primary":          cluster("tcp://h:1,tcp://i:2", "--replicated"),
		"backup":           cluster("tcp://h:1", "--replicated", "--backup"),
		"discovery":        {"--cluster-user", "cu", "--cluster-password", "cp", "--replicated"},
		"discovery backup": {"--cluster-user", "cu", "--cluster-password", "cp", "--replicated", "--slave"},
		"shared store":     cluster("tcp://h:1", "--shared-store", "--failover-on-shutdown"),
	} {
		var got []string
		for _, b := range []peers.Broker{peers.UnderTest(t), peers.RealArtemis(t)} {
			text, err := os.ReadFile(peers.NewInstance(t, b, peers.CreateOptions{Flags: flags}).Etc("broker.xml"))
			if err != nil {
				t.Fatal(err)
			}
			found := elements.FindString(comments.ReplaceAllString(string(text), ""))
			if !strings.Contains(found, "<ha-policy>") {
				t.Fatalf("%s: no policy in\n%s", name, text)
			}
			got = append(got, strings.Join(strings.Fields(found), ""))
		}
		if got[0] != got[1] {
			t.Errorf("%s:\n got %s\nwant %s", name, got[0], got[1])
		}
	}
}
