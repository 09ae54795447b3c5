package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Process is a program that is started and ended, again and again, with one log. Its methods may be called by several goroutines.
type Process struct {
	Name    string
	Command func() *exec.Cmd
	Log     string // file that output is appended to

	// Launch starts the command, elsewhere perhaps, as in another network namespace. nil: here.
	Launch func(*exec.Cmd) error

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process was reaped
	from   int64         // where in the log begins what Said looks at
}

// errDown is what cannot be done to a process that was not started.
var errDown = errors.New("it does not run")

// Start starts it. It must not run.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer out.Close()
	fmt.Fprintf(out, "--- %s started at %s\n", p.Name, time.Now().Format("15:04:05.000"))
	p.from = size(p.Log)
	cmd, exited := p.Command(), make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	launch := (*exec.Cmd).Start
	if p.Launch != nil {
		launch = p.Launch
	}
	if err := launch(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.cmd, p.exited = cmd, exited
	go func() { // ends with the process
		_ = cmd.Wait()
		close(exited)
	}()
	return nil
}

func size(file string) int64 {
	if i, err := os.Stat(file); err == nil {
		return i.Size()
	}
	return 0
}

// Exited is closed when the process that was started last has ended; nil if none was.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

// Runs tells whether it was started and has not ended.
func (p *Process) Runs() bool {
	exited := p.Exited()
	if exited == nil {
		return false
	}
	select {
	case <-exited:
		return false
	default:
		return true
	}
}

// ExitCode is that of the last process, which must have ended: -1 if a signal ended it.
func (p *Process) ExitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends it a signal.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	if cmd == nil {
		return fmt.Errorf("signal %v to %s: %w", s, p.Name, errDown)
	}
	if err := cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %v to %s: %w", s, p.Name, err)
	}
	return nil
}

// Kill ends it as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	if p.Signal(syscall.SIGKILL) == nil || p.Exited() != nil {
		<-p.Exited()
	}
}

// Stop ends it in good order. If that takes longer than patience it is killed, which is an error.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.Exited():
		return nil
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("stop %s: it still ran after %v", p.Name, patience)
	}
}

// Said is how often its output has the text since it was started, or since Forget.
func (p *Process) Said(text string) int {
	p.mu.Lock()
	from := p.from
	p.mu.Unlock()
	all, err := os.ReadFile(p.Log)
	if err != nil {
		return 0
	}
	return strings.Count(string(all[min(from, int64(len(all))):]), text)
}

// Forget has what was said so far not count any more.
func (p *Process) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from = size(p.Log)
}

// Tail is the end of its output, at most so many bytes.
func (p *Process) Tail(most int) string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	if len(text) <= most {
		return string(text)
	}
	_, rest, _ := strings.Cut(string(text[len(text)-most:]), "\n")
	return "…\n" + rest
}
