package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// An haNode is one half of a pair for high availability. Its acceptor is open only while it is the active one, so what it has
// come to is read from what it prints: both brokers use the same codes.
type haNode struct {
	broker   peers.Broker
	instance peers.Instance
	log      string
	from     int64 // where what the present process printed begins
	cmd      *exec.Cmd
	exited   chan struct{} // closed when the process was reaped
}

// Codes that both brokers print.
const (
	codeActive = "AMQ221007" // the server is active
	codeSynced = "AMQ221024" // the backup has everything
	codeFile   = "AMQ221025" // the active node begins to send a file to its backup
)

// start starts the process and does not wait for anything.
func (n *haNode) start() error {
	out, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.instance.Dir, err)
	}
	defer out.Close()
	i, err := out.Stat()
	if err != nil {
		return fmt.Errorf("start %s: %w", n.instance.Dir, err)
	}
	n.from = i.Size()
	if s, ok := n.broker.(peers.Saranga); ok {
		n.cmd = exec.Command(s.Binary, "run", "--instance", n.instance.Dir)
	} else {
		n.cmd = exec.Command(filepath.Join(n.instance.Dir, "bin", "artemis"), "run")
	}
	n.cmd.Stdout, n.cmd.Stderr = out, out
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", n.instance.Dir, err)
	}
	cmd, exited := n.cmd, make(chan struct{})
	n.exited = exited
	go func() {
		_ = cmd.Wait() // what matters is that it has ended
		close(exited)
	}()
	return nil
}

func (n *haNode) runs() bool {
	if n.exited == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

// kill ends the process as a crash would.
func (n *haNode) kill() {
	if n.runs() {
		_ = n.cmd.Process.Kill()
		<-n.exited
	}
}

// said tells how often the present process has printed a text.
func (n *haNode) said(text string) int {
	f, err := os.Open(n.log)
	if err != nil {
		return 0
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := f.Seek(n.from, 0); err != nil {
		return 0
	}
	if _, err := b.ReadFrom(f); err != nil {
		return 0
	}
	return bytes.Count(b.Bytes(), []byte(text))
}

// says waits until the present process has printed a text, and returns about when.
func (n *haNode) says(ctx context.Context, text string) (time.Time, error) {
	for n.said(text) == 0 {
		if !n.runs() {
			return time.Time{}, fmt.Errorf("%s ended before it said %s:\n%s", n.instance.Dir, text, n.tail())
		}
		if !pause(ctx, 5*time.Millisecond) {
			return time.Time{}, fmt.Errorf("%s did not say %s: %w\n%s", n.instance.Dir, text, context.Cause(ctx), n.tail())
		}
	}
	return time.Now(), nil
}

// serves waits until the acceptor takes connections.
func (n *haNode) serves(ctx context.Context) error {
	for {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", n.instance.Port), time.Second)
		if err == nil {
			return c.Close()
		}
		if !n.runs() {
			return fmt.Errorf("%s ended before it served:\n%s", n.instance.Dir, n.tail())
		}
		if !pause(ctx, 5*time.Millisecond) {
			return fmt.Errorf("%s does not serve: %w\n%s", n.instance.Dir, context.Cause(ctx), n.tail())
		}
	}
}

// tail is the end of what the node printed.
func (n *haNode) tail() string {
	text, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4<<10):])
}

// usage is what the process has used.
func (n *haNode) usage() (peers.Usage, error) {
	if !n.runs() {
		return peers.Usage{}, fmt.Errorf("%s does not run:\n%s", n.instance.Dir, n.tail())
	}
	return peers.ReadUsage(n.cmd.Process.Pid)
}

// sequence is the node's activation sequence, -1 without one: it rises whenever a node becomes active or goes on without its
// backup.
func (n *haNode) sequence() int64 {
	b, err := os.ReadFile(filepath.Join(n.instance.Dir, "data", "journal", "server.activation.sequence"))
	if err != nil || len(b) < 8 {
		return -1
	}
	return int64(binary.BigEndian.Uint64(b))
}
