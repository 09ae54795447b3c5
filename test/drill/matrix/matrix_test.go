package matrix

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/drill"
	"github.com/saranga-mq/saranga/test/drill/lab"
)

var (
	soak = flag.Bool("soak", false, "all legs")
	seed = flag.Uint64("seed", 0, "seed of the first leg, the others count up from it; 0: one that nobody knows before")
)

// session is how long a lock manager's session lives without its node, on a tree of nodes.
const session = 6 * time.Second

// pairs are the products of primary and backup.
var pairs = []struct {
	name            string
	primary, backup lab.Product
}{
	{"ArtemisArtemis", lab.Artemis, lab.Artemis},
	{"ArtemisSaranga", lab.Artemis, lab.Saranga},
	{"SarangaArtemis", lab.Saranga, lab.Artemis},
	{"SarangaSaranga", lab.Saranga, lab.Saranga},
}

// ways are how a pair decides who is active. Short are the pairs that are drilled without -soak.
var ways = []struct {
	name   string
	short  string
	policy func(l *leg, primary, backup lab.Product) lab.Policy
}{
	{"File", "SarangaArtemis", func(l *leg, _, _ lab.Product) lab.Policy { return lab.FileManager(l.folder("locks")) }},
	{"ZooKeeper", "ArtemisSaranga", func(l *leg, _, _ lab.Product) lab.Policy {
		return lab.StartZooKeeper(l.t, l.folder("zookeeper")).Policy("pair", session)
	}},
	{"Endpoint", "SarangaArtemis", func(l *leg, _, _ lab.Product) lab.Policy {
		return lab.StartMembers(l.t, l.dir).Policy("pair", session)
	}},
	{"Embedded", "SarangaSaranga", func(l *leg, primary, backup lab.Product) lab.Policy {
		return lab.NewMembers(l.t, l.dir).Embedded(primary, backup, session)
	}},
	{"Voting", "ArtemisSaranga", func(*leg, lab.Product, lab.Product) lab.Policy { return lab.Voting() }},
	{"SharedStore", "SarangaSaranga", func(l *leg, _, _ lab.Product) lab.Policy {
		return lab.SharedStore(l.folder("shared"), "--failover-on-shutdown")
	}},
}

// folder is one in the leg's.
func (l *leg) folder(name string) string {
	l.t.Helper()
	dir := filepath.Join(l.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		l.t.Fatal(err)
	}
	return dir
}

// TestMatrix plays the legs.
func TestMatrix(t *testing.T) {
	next := *seed
	if next == 0 {
		next = 1 + rand.Uint64N(1_000_000_000)
	}
	for _, pair := range pairs {
		for _, way := range ways {
			if !*soak && way.short != pair.name || way.name == "Embedded" && pair.name == "ArtemisArtemis" {
				continue
			}
			seed := next
			next++
			t.Run(pair.name+way.name, func(t *testing.T) {
				t.Parallel()
				l := &leg{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 0)), dir: t.ArtifactDir(), waits: lab.Announced}
				switch way.name {
				case "SharedStore":
					l.shared, l.waits = true, lab.Waiting
				case "Voting":
				case "Embedded":
					l.leased, l.founds = true, true
				default:
					l.leased = true
				}
				l.pair = lab.NewPair(t, l.dir, pair.primary, pair.backup, way.policy(l, pair.primary, pair.backup))
				// Clients that connect again by themselves, and clients that the drill does it for.
				dialers := []drill.Dialer{admin, drill.Core{User: admin.User, Password: admin.Password, Reconnect: true, Others: l.pair.URLs()}}
				if seed%2 == 1 {
					dialers[0], dialers[1] = dialers[1], dialers[0]
				}
				l.play(dialers)
			})
		}
	}
}
