package crash

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

var (
	rounds = flag.Int("rounds", 20, "how often the broker is killed")
	swaps  = flag.Int("swaps", 2, "how often the broker is swapped for one of the other kind")
	seed   = flag.Uint64("seed", 0, "seed of all that is random; 0 takes a new one")
	soak   = flag.Bool("soak", false, "look at the files with real Artemis, too, every now and then")
)

//go:embed testdata/broker.xml
var brokerXML string

// startMost bounds the start of Saranga on what a crash has left.
const startMost = 10 * time.Second

// A bench is one instance that brokers are started on in turn, with the ledger of what it must hold.
type bench struct {
	t         *testing.T
	seed      uint64
	rnd       *rand.Rand
	instance  peers.Instance
	saranga   peers.Saranga
	artemis   peers.Artemis
	addresses []Address
	java      *javaLoad // nil: without

	round   int
	last    *Round // whose end has not been seen
	resend  []resend
	history *History

	slowest time.Duration // start of Saranga
	counts  struct{ units, answered, deliveries, seen, branches int }
}

// newBench creates an instance with the command of a broker.
func newBench(t *testing.T, create peers.Broker) *bench {
	b := &bench{t: t, seed: *seed, addresses: goAddresses, last: &Round{}}
	if b.seed == 0 {
		b.seed = rand.Uint64N(1_000_000_000)
	}
	t.Logf("seed %d (-seed %d does the same choices again)", b.seed, b.seed)
	b.rnd = rand.New(rand.NewPCG(b.seed, 0))
	b.saranga = peers.UnderTest(t)
	b.instance = peers.NewInstance(t, create, peers.CreateOptions{})
	if err := b.instance.WriteEtc("broker.xml", strings.ReplaceAll(brokerXML, "@PORT@", strconv.Itoa(b.instance.Port))); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) config() client.Config {
	b.t.Helper()
	cfg, err := client.ParseURL(b.instance.URL())
	if err != nil {
		b.t.Fatal(err)
	}
	cfg.User, cfg.Password = b.instance.User, b.instance.Password
	return cfg
}

func (b *bench) queues() []string {
	var all []string
	for _, a := range b.addresses {
		all = append(all, a.Queues...)
	}
	return append(all, "DLQ", "ExpiryQueue")
}

// fail ends the test and says how to get there again.
func (b *bench) fail(format string, args ...any) {
	b.t.Helper()
	b.t.Fatalf("seed %d, round %d: %s", b.seed, b.round, fmt.Sprintf(format, args...))
}

// start starts a broker on the instance, within the bound if it is Saranga.
func (b *bench) start(broker peers.Broker) *peers.Process {
	b.t.Helper()
	p, err := peers.Start(b.t.Context(), broker, b.instance, filepath.Join(b.instance.Dir, broker.Name()+".out"))
	if err != nil {
		b.fail("%v", err)
	}
	b.t.Cleanup(p.Kill)
	if broker.Name() == b.saranga.Name() {
		b.slowest = max(b.slowest, p.StartTook)
		if p.StartTook > startMost {
			b.fail("the start took %v", p.StartTook)
		}
	}
	return p
}

// artemisPatience is how long Artemis may take to show what it has, once it is up.
const artemisPatience = 10 * time.Second

// look reads everything the broker holds and judges the round before.
func (b *bench) look(p *peers.Process) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if b.round == 0 {
		if err := createQueues(ctx, b.config(), b.addresses); err != nil {
			b.fail("%v", err)
		}
	}
	o, bad := b.observe(ctx, p)
	// Artemis may end a browser's receive before what stands behind a large message, and messages that became due are nowhere
	// for a moment while it starts: what it does not show now it has to show soon.
	for end := time.Now().Add(artemisPatience); len(bad) > 0 && p.Broker.Name() == b.artemis.Name() && time.Now().Before(end); {
		b.t.Logf("round %d: artemis does not show everything yet, %d complaints: %s, …", b.round, len(bad), bad[0])
		time.Sleep(200 * time.Millisecond)
		o, bad = b.observe(ctx, p)
	}
	for _, q := range b.queues() {
		b.counts.seen += len(o.Queues[q])
	}
	b.counts.branches += len(o.Branches)
	if len(bad) > 0 {
		const most = 30
		if len(bad) > most {
			bad = append(bad[:most], fmt.Sprintf("… and %d more", len(bad)-most))
		}
		b.fail("after the start of %s:\n%s\noutput of the broker:\n%s", p.Broker.Name(), strings.Join(bad, "\n"), p.Tail())
	}
}

// observe looks at what the broker has and tells what is wrong with it.
func (b *bench) observe(ctx context.Context, p *peers.Process) (*Observation, []string) {
	b.t.Helper()
	o, err := observe(ctx, b.config(), b.queues())
	if err != nil {
		b.fail("%v\n%s", err, p.Tail())
	}
	b.last.After, b.last.Branches = o.After(), o.Branches
	var bad []string
	for _, v := range b.last.Check() {
		bad = append(bad, v.String())
	}
	bad = append(bad, o.Problems...)
	for _, q := range b.queues() {
		bad = append(bad, Order(q, o.Queues[q])...)
	}
	return o, bad
}

// work lets clients work for a while and then ends the broker, by kill -9 or in good order, while they do.
func (b *bench) work(p *peers.Process, kill bool, least, most time.Duration) {
	b.t.Helper()
	b.round++
	before, inDoubt := b.last.Next()
	stored := map[string]bool{}
	for c := range before {
		stored[c.Message] = true
	}
	for _, u := range b.last.Units { // gone again means it was there
		for _, c := range u.Acks {
			stored[c.Message] = true
		}
	}
	for i := range b.resend {
		b.resend[i].stored = stored[b.resend[i].id]
	}
	b.history = NewHistory(before, inDoubt)
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	load := startLoad(ctx, b.config(), b.history, fmt.Sprintf("r%d", b.round), b.rnd.Uint64(), inDoubt, b.resend)
	if b.java != nil {
		b.java.start(b)
	}
	select {
	case <-time.After(least + time.Duration(b.rnd.Int64N(int64(most-least)))):
	case <-p.Exited():
		b.fail("the broker ended by itself:\n%s", p.Tail())
	}
	b.history.Down()
	if kill {
		p.Kill()
	} else if err := p.Stop(); err != nil {
		b.fail("%v\n%s", err, p.Tail())
	}
	if b.java != nil {
		b.java.stop(b)
	}
	b.resend = load.Wait()
	if s := b.history.Surprises(); len(s) > 0 {
		b.fail("clients met errors before the end:\n%s\noutput of the broker:\n%s", strings.Join(s, "\n"), p.Tail())
	}
	if ctx.Err() != nil {
		b.fail("clients did not notice that the broker is gone")
	}
	b.last = b.history.Round(before)
	units, answered, deliveries := b.history.Counts()
	b.counts.units += units
	b.counts.answered += answered
	b.counts.deliveries += deliveries
}

// compactFiles has the journals rewritten by the command of Saranga, while no broker runs.
func (b *bench) compactFiles() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, b.saranga.Binary, "data", "compact", "--instance", b.instance.Dir).CombinedOutput(); err != nil {
		b.fail("data compact: %v\n%s", err, out)
	}
}

// printFiles has the data files printed by a broker that does not run.
func (b *bench) printFiles(broker peers.Broker) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	out, err := printData(ctx, b, broker)
	if err != nil {
		b.fail("data print of %s: %v\n%s", broker.Name(), err, tail(out))
	}
	if complaint := complaintIn(out); complaint != "" {
		b.fail("data print of %s says %q", broker.Name(), complaint)
	}
}

func printData(ctx context.Context, b *bench, broker peers.Broker) (string, error) {
	var cmd *exec.Cmd
	if broker.Name() == b.saranga.Name() {
		cmd = exec.CommandContext(ctx, b.saranga.Binary, "data", "print", "--instance", b.instance.Dir)
	} else {
		// Its command makes files, so it gets a copy.
		copied := filepath.Join(b.t.TempDir(), "data")
		if err := os.CopyFS(copied, os.DirFS(filepath.Join(b.instance.Dir, "data"))); err != nil {
			return "", err
		}
		data := func(name string) string { return filepath.Join(copied, name) }
		cmd = b.artemis.Tool(ctx, "data", "print", "--bindings", data("bindings"), "--journal", data("journal"), "--paging", data("paging"), "--large-messages", data("large-messages"))
	}
	cmd.Dir = b.instance.Dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// complaintIn finds what a print of data files says when it doesn't like what it reads.
func complaintIn(out string) string {
	for line := range strings.Lines(out) {
		for _, word := range []string{"Exception", "AMQ22", "at org.apache", "WARN", "ERROR", "rror:"} {
			if strings.Contains(line, word) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// finish completes the branches in doubt, consumes everything and checks that nothing is left, in queues and accounts.
func (b *bench) finish(p *peers.Process) {
	b.t.Helper()
	b.look(p)
	before, inDoubt := b.last.Next()
	h := NewHistory(before, inDoubt)
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	conn, err := client.Dial(ctx, b.config())
	if err != nil {
		b.fail("%v", err)
	}
	defer conn.Close()
	w := &worker{Load: &Load{ctx: ctx, h: h}, conn: conn}
	if err := w.open(client.SessionOptions{XA: true}); err != nil {
		b.fail("%v", err)
	}
	for i, u := range inDoubt {
		if err := w.complete(u, i%2 == 0); err != nil {
			b.fail("complete %s: %v", u.Name, err)
		}
	}
	err = drain(ctx, b.config(), b.queues(), func(c Copy) {
		h.Delivered(c)
		h.Begin(&Unit{Name: "drain", Acks: []Copy{c}, May: Applied})
	})
	if err != nil {
		b.fail("%v", err)
	}
	b.last = h.Round(before)
	b.look(p)
	if n := len(b.last.After); n != 0 {
		b.fail("%d messages are left: %v", n, slices.Collect(maps.Keys(b.last.After)))
	}
	manage, err := conn.NewManagement(ctx, "")
	if err != nil {
		b.fail("%v", err)
	}
	for _, a := range b.addresses {
		size, err := manage.Attribute(ctx, client.AddressResource(a.Name), "AddressSize")
		if err != nil {
			b.fail("%v", err)
		}
		if size.Text() != "0" {
			b.fail("address %s counts %s bytes when it is empty", a.Name, size.Text())
		}
	}
	if b.java != nil {
		if b.java.units == 0 {
			b.fail("the JMS clients did nothing")
		}
		b.t.Logf("%d of the units are of JMS clients", b.java.units)
	}
	b.t.Logf("seed %d: %d lives, %d units of work, %d outcomes written down, %d deliveries, %d messages and %d branches in doubt found again; slowest start of Saranga %v",
		b.seed, b.round, b.counts.units, b.counts.answered, b.counts.deliveries, b.counts.seen, b.counts.branches, b.slowest.Round(time.Millisecond))
}
