package matrix

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/drill"
	"github.com/saranga-mq/saranga/test/drill/lab"
)

// A leg is one pair with one way to decide.
type leg struct {
	t       *testing.T
	seed    uint64
	rnd     *rand.Rand
	dir     string
	pair    lab.Pair
	waits   string // what a node says when it is ready to take over
	shared  bool   // the store is
	leased  bool   // activation sequences count
	founds  bool   // the lock manager's members are the nodes
	stored  *stock
	run     *drill.Run
	marks   []mark
	cuts    int // how often the backup was killed until that was in the middle of a synchronisation
	clients *os.File
}

// A mark is when something was done to the pair.
type mark struct {
	what string
	at   drill.Time
}

// play plays the leg.
func (l *leg) play(dialers []drill.Dialer) {
	p := l.pair
	p.Primary.Start()
	if l.founds { // a group of members begins when all of them are there once
		p.Backup.Start()
		p.Backup.Says(l.waits)
		p.Backup.Kill()
	}
	p.Primary.Serves()
	l.stored = store(l.t, p.Primary)
	l.work(dialers)
	defer l.end()

	l.mark("sync")
	l.synchronise()
	l.pause()
	sequence := p.Primary.Sequence()

	l.mark("kill")
	p.Primary.Kill()
	p.Backup.Serves()
	l.more(200)
	l.activated(p.Backup, &sequence)
	l.pause()

	l.mark("failback")
	p.Backup.Forget()
	p.Primary.Start()
	if l.shared {
		p.Backup.Says(lab.GivesWay)
	}
	p.Primary.Serves()
	p.Backup.ComesBack(l.waits)
	l.more(200)
	l.activated(p.Primary, &sequence)
	l.pause()

	l.mark("stop")
	p.Primary.Stop()
	p.Backup.Serves()
	l.more(200)
	l.activated(p.Backup, &sequence)
}

// work starts the clients.
func (l *leg) work(dialers []drill.Dialer) {
	l.t.Helper()
	var err error
	if l.clients, err = os.Create(filepath.Join(l.dir, "clients.log")); err != nil {
		l.t.Fatal(err)
	}
	var mu sync.Mutex
	w := drill.Workload{URLs: l.pair.URLs(), Dialers: dialers, Streams: streams, Log: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(l.clients, "%s %s\n", time.Now().Format("15:04:05.000"), line)
	}}
	ctx, cancel := context.WithTimeout(l.t.Context(), lab.Patience)
	defer cancel()
	if l.run, err = w.Start(ctx); err != nil {
		l.t.Fatal(err)
	}
}

// streams are those of the drill; the backup has to keep up on a busy machine.
var streams = []drill.Stream{
	{Name: "durable", Producers: 2},
	{Name: "repeats", Repeats: true, Consumers: 2},
	{Name: "transactions", Mode: drill.Transacted},
	{Name: "xa", Mode: drill.XA, Rate: 20},
	{Name: "large", Size: 256 << 10, Rate: 4},
	{Name: "topic", Subscriptions: 2},
}

// mark notes that something is about to be done.
func (l *leg) mark(what string) {
	l.t.Log(what)
	l.marks = append(l.marks, mark{what, drill.Time(time.Since(l.run.Began()) / drill.Tick)})
}

// more waits for so many more acknowledgements.
func (l *leg) more(n uint64) {
	l.t.Helper()
	want := l.run.Progress().Acknowledged + n
	lab.Until(l.t, fmt.Sprint(n, " more acknowledged"), func() bool { return l.run.Progress().Acknowledged >= want })
}

// pause lets the clients work for a while that nobody knows before.
func (l *leg) pause() { l.more(100 + l.rnd.Uint64N(200)) }

// activated checks that the node's activation is the one after the last.
func (l *leg) activated(n *lab.Node, sequence *int64) {
	l.t.Helper()
	got := n.Sequence()
	if l.leased && got != *sequence+1 {
		l.t.Errorf("the %s is active with sequence %d, want %d", n.Process.Name, got, *sequence+1)
	}
	*sequence = got
}

// synchronise starts the backup, kills it in the middle of the synchronisation, and starts it again.
func (l *leg) synchronise() {
	l.t.Helper()
	p := l.pair
	if l.shared { // there is none
		p.Backup.Start()
		p.Backup.Says(l.waits)
		p.Backup.Kill()
	} else {
		const tries = 5
		for done := false; !done; l.cuts++ {
			if l.cuts == tries {
				l.t.Fatalf("%d synchronisations were done when the backup was killed", tries)
			}
			p.Primary.Forget()
			p.Backup.Start()
			sent := 1 + l.rnd.IntN(8)
			lab.Until(l.t, fmt.Sprintf("the primary to send %d files", sent), func() bool { return p.Primary.Process.Said(lab.Sending) >= sent })
			p.Backup.Kill()
			done = p.Backup.Process.Said(lab.Synced) == 0
		}
	}
	l.more(50)
	p.Backup.Start()
	p.Backup.Says(l.waits)
	if p.Backup.Open() {
		l.t.Error("the backup serves")
	}
}

// switches is how often the active node changed when a leg has been played.
const switches = 3

// end has the clients end, and judges.
func (l *leg) end() {
	defer l.clients.Close()
	until := drill.Time(time.Since(l.run.Began()) / drill.Tick)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.t.Context()), lab.Patience)
	defer cancel()
	if l.t.Failed() { // the pair is in no state to say more
		cancel()
	}
	history, err := l.run.Stop(ctx)
	if l.t.Failed() {
		said, _ := os.ReadFile(l.clients.Name())
		l.t.Logf("clients:\n%s", said)
		return
	}
	if err != nil {
		l.t.Error(err)
	}
	history.Switches = switches
	v := drill.Check(history)
	if !v.OK() {
		said, _ := os.ReadFile(l.clients.Name())
		l.t.Errorf("%v\nclients:\n%s", v, said)
	}
	l.stored.check(l.t, l.pair.Backup)
	l.t.Logf("seed %d: %s", l.seed, l.facts(history, v, until))
}

// outages are the longest times without an acknowledged send after each mark, up to the next.
func (l *leg) outages(h *drill.History, until drill.Time) string {
	var times []drill.Time
	for _, p := range h.Producers {
		for i := range p.Len() {
			if s := p.At(i); s.Outcome == drill.Acknowledged && s.Answered < until {
				times = append(times, s.Answered)
			}
		}
	}
	slices.Sort(times)
	longest := make([]drill.Time, len(l.marks))
	for i, to := range append(times, until)[1:] {
		from := times[i]
		for j := len(l.marks) - 1; j >= 0; j-- {
			if to > l.marks[j].at {
				longest[j] = max(longest[j], to-from)
				break
			}
		}
	}
	var list []string
	for i, m := range l.marks {
		list = append(list, fmt.Sprintf("%s %.2f s", m.what, longest[i].Duration().Seconds()))
	}
	return strings.Join(list, ", ")
}

// facts are the counts of a leg.
func (l *leg) facts(h *drill.History, v *drill.Verdict, until drill.Time) string {
	name, _ := strings.CutPrefix(l.t.Name(), "TestMatrix/")
	return fmt.Sprintf("%s: %d sent, %d acknowledged, %d unknown, %d received, %d redelivered, %d lost, %d duplicated; longest time without service: %s; %d synchronisations cut short",
		name, v.Sent, v.Acknowledged, v.Unknown, v.Received, v.Redelivered, v.Broken[drill.Lost], v.Broken[drill.Duplicate], l.outages(h, until), l.cuts)
}
