package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// javaAddresses are those of the JMS clients. The first subscription is a JMS one: client id and name.
var javaAddresses = []Address{
	{Name: "java.q", Queues: []string{"java.q"}},
	{Name: "java.topic", Queues: []string{"crash.sub", "java.sub.b"}, Topic: true},
}

// A javaLoad is the process of jms/Load.java, which outlives brokers.
type javaLoad struct {
	cmd      *exec.Cmd
	commands io.WriteCloser
	lines    chan string   // closed at the end of its output
	over     chan struct{} // closed when the clients of a round have ended
	bad      error         // a line that was not understood; read after over
	units    int           // begun
}

// withJava adds JMS clients to the load.
func (b *bench) withJava() {
	b.t.Helper()
	artemis := peers.RealArtemis(b.t)
	program := peers.CompileJava(b.t, artemis, "jms")
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	j := &javaLoad{cmd: program.Command(ctx, "crash.Load"), lines: make(chan string, 1000)}
	in, err := j.cmd.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := j.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	j.commands = in
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(j.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			j.lines <- s.Text()
		}
	}()
	b.t.Cleanup(func() {
		in.Close()
		cancel()
		for range j.lines {
		}
		<-read
		j.cmd.Wait()
	})
	b.java = j
	b.addresses = append(b.addresses[:len(b.addresses):len(b.addresses)], javaAddresses...)
}

// start lets the clients work on the broker.
func (j *javaLoad) start(b *bench) {
	b.t.Helper()
	if _, err := fmt.Fprintf(j.commands, "go %d r%d %d\n", b.instance.Port, b.round, b.rnd.Uint32()); err != nil {
		b.fail("the JMS program: %v", err)
	}
	j.over = make(chan struct{})
	h := b.history
	go func() {
		defer close(j.over)
		units := map[string]*Unit{}
		for line := range j.lines {
			if line == "O" {
				return
			}
			if err := note(h, units, line); err != nil && j.bad == nil {
				j.bad = fmt.Errorf("%q: %w", line, err)
			}
			j.units += strings.Count(line[:1], "B")
		}
		j.bad = errors.New("it has ended")
	}()
}

// stop waits until the clients have noticed that the broker is gone.
func (j *javaLoad) stop(b *bench) {
	b.t.Helper()
	select {
	case <-j.over:
	case <-time.After(time.Minute):
		b.fail("the JMS clients did not notice that the broker is gone")
	}
	if j.bad != nil {
		b.fail("the JMS program: %v", j.bad)
	}
}

// note writes a line of the program down, see Load.java.
func note(h *History, units map[string]*Unit, line string) error {
	words := strings.Split(line, " ")
	unit := func() (*Unit, error) {
		if len(words) < 3 || units[words[1]] == nil {
			return nil, errors.New("no such unit")
		}
		return units[words[1]], nil
	}
	states := func(s string) (States, error) {
		n, err := strconv.ParseUint(s, 10, 3)
		return States(n), err
	}
	switch words[0] {
	case "B":
		if len(words) != 4 {
			return errors.New("want four words")
		}
		may, err := states(words[3])
		if err != nil {
			return err
		}
		u := &Unit{Name: words[1], Atomic: words[2] == "1", May: may}
		units[u.Name] = u
		h.Begin(u)
	case "S":
		u, err := unit()
		if err != nil {
			return err
		}
		for _, a := range javaAddresses {
			if a.Name == words[2] {
				h.Send(u, a.copies(words[3])...)
				return nil
			}
		}
		return errors.New("no such address")
	case "A":
		u, err := unit()
		if err != nil {
			return err
		}
		h.Ack(u, Copy{words[2], words[3]})
	case "M":
		u, err := unit()
		if err != nil {
			return err
		}
		may, err := states(words[2])
		if err != nil {
			return err
		}
		h.Set(u, may)
	case "D":
		h.Delivered(Copy{words[1], words[2]})
	case "F":
		h.Failed("JMS client", errors.New(line[2:]))
	default:
		return errors.New("not understood")
	}
	return nil
}
