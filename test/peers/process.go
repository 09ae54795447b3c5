package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a running broker. Its methods may be called from any goroutine.
type Process struct {
	Broker   Broker
	Instance Instance
	// StartTook is the time from starting the process to its acceptor taking a connection.
	StartTook time.Duration

	cmd    *exec.Cmd
	log    string
	exited chan struct{} // closed after the process was reaped
	err    error         // of the exit, valid once exited is closed
}

// startLimit bounds the wait for the acceptor: a JVM on a machine shared with other suites takes its time.
const startLimit = 90 * time.Second

// Start runs the broker on the instance and returns when its acceptor is open. Output is appended to the file log.
// When the process ends early or is not ready in time it is killed, and the error carries the end of its output.
func Start(ctx context.Context, b Broker, i Instance, log string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", b.Name(), err)
	}
	defer out.Close()
	fmt.Fprintf(out, "--- %s on %s, %s\n", b.Name(), i.Dir, time.Now().Format(time.RFC3339))
	p := &Process{Broker: b, Instance: i, cmd: b.command(i), log: log, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s on %s: %w", b.Name(), i.Dir, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.awaitAcceptor(ctx); err != nil {
		p.Kill()
		return nil, fmt.Errorf("start %s on %s: %w\n%s", b.Name(), i.Dir, err, p.Tail())
	}
	p.StartTook = time.Since(began)
	return p, nil
}

func (p *Process) awaitAcceptor(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	address := fmt.Sprintf("127.0.0.1:%d", p.Instance.Port)
	// Start-up time is a benchmark row, so the poll is finer than what it measures.
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-poll.C:
		case <-p.exited:
			return fmt.Errorf("it ended before its acceptor opened: %w", p.exitError())
		case <-ctx.Done():
			return fmt.Errorf("its acceptor on port %d did not open: %w", p.Instance.Port, ctx.Err())
		}
	}
}

// Pid is the broker's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stop asks the broker to end and waits for it; one that does not end within a minute is killed and is an error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.Broker.Name(), err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(time.Minute):
		p.Kill()
		return fmt.Errorf("stop %s: still running a minute after SIGTERM, killed", p.Broker.Name())
	}
}

// Kill ends the broker as a crash would (SIGKILL) and waits until it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

func (p *Process) exitError() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Tail is the end of what the process printed, at most 16 KiB.
func (p *Process) Tail() string {
	const most = 16 << 10
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		_, rest, _ := strings.Cut(string(text[len(text)-most:]), "\n")
		return "…\n" + rest
	}
	return string(text)
}
