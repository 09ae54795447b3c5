//go:build linux

package partition

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A process is a node's, which may run, stand still or be gone. Its methods may be called from any goroutine.
type process struct {
	name    string
	fabric  *fabric
	command func() *exec.Cmd
	log     string // file

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	down   int // faults that want it dead
	paused int // faults that want it to stand still
	ended  []string

	revives bool
}

func newProcess(f *fabric, dir, name string, command func() *exec.Cmd) *process {
	return &process{name: name, fabric: f, command: command, log: filepath.Join(dir, name+".log")}
}

// start starts it.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.startLocked()
}

func (p *process) startLocked() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	fmt.Fprintf(out, "--- %s started at %s\n", p.name, time.Now().Format("15:04:05.000"))
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = out, out
	if err := p.fabric.start(p.name, cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() { // ends with the process, which stop waits for
		err := cmd.Wait()
		close(exited)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down == 0 && p.cmd == cmd {
			p.ended = append(p.ended, fmt.Sprintf("%s ended by itself at %s: %v", p.name, time.Now().Format("15:04:05.000"), err))
			if p.revives {
				if err := p.startLocked(); err != nil {
					p.ended = append(p.ended, err.Error())
				}
			}
		}
	}()
	if p.paused > 0 {
		p.signal(syscall.SIGSTOP)
	}
	return nil
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends it as a crash would.
func (p *process) kill() {
	p.mu.Lock()
	p.down++
	exited := p.exited
	if p.down == 1 {
		p.signal(syscall.SIGKILL)
	}
	p.mu.Unlock()
	<-exited
}

// restart takes back one kill, and starts it if that was the last.
func (p *process) restart() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down--; p.down > 0 {
		return nil
	}
	return p.startLocked()
}

// pause has it stand still until resume was called as often.
func (p *process) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused++; p.paused == 1 {
		p.signal(syscall.SIGSTOP)
	}
}

func (p *process) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused--; p.paused == 0 {
		p.signal(syscall.SIGCONT)
	}
}

// end ends it for good, in good order if it does so within the time.
func (p *process) end(patience time.Duration) {
	p.mu.Lock()
	p.down++
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-exited:
		return
	case <-timer.C:
	}
	_ = cmd.Process.Kill()
	<-exited
}

// revive starts it again if it has ended by itself, and does so each time from now on: what a supervisor would do.
func (p *process) revive(wanted bool) error {
	if !wanted {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revives = true
	select {
	case <-p.exited:
		return p.startLocked()
	default:
		return nil
	}
}

// endings are what it did that nobody asked for.
func (p *process) endings() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}
