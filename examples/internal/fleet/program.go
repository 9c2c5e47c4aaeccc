package fleet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Program is one of the product's programs that can be started, killed and started again.
type Program struct {
	// Name is the name in output, and the name of its log.
	Name string

	log     string
	command func() *exec.Cmd

	mu   sync.Mutex
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
	err  error         // the result; read it after gone
}

// Start starts the program if it is not running.
func (p *Program) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return nil
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	cmd, gone, started := p.command(), make(chan struct{}), make(chan error, 1)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes()
	// Its orphaned children keep its output open; do not wait for them.
	cmd.WaitDelay = 2 * time.Second
	go func() { // waits for the program to end
		// The kernel sends the signal for orphans when the thread that started the program ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(gone)
		defer log.Close() //nolint:errcheck // it was written by another
		err := cmd.Start()
		started <- err
		if err == nil {
			err = cmd.Wait()
		}
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.cmd, p.gone = cmd, gone
	return nil
}

func (p *Program) running() bool {
	if p.gone == nil {
		return false
	}
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// Running reports whether it is running.
func (p *Program) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// PID returns its process id, or 0 if it is not running.
func (p *Program) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return 0
	}
	return p.cmd.Process.Pid
}

// Kill sends SIGKILL to the program, not to its children, and waits until it has ended.
func (p *Program) Kill() error { return p.end(syscall.SIGKILL, 0) }

// Stop sends SIGTERM to the program and waits; after patience it kills the program.
func (p *Program) Stop(patience time.Duration) error { return p.end(syscall.SIGTERM, patience) }

func (p *Program) end(signal syscall.Signal, patience time.Duration) error {
	p.mu.Lock()
	cmd, gone, running := p.cmd, p.gone, p.running()
	p.mu.Unlock()
	if !running {
		return nil
	}
	if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.Name, err)
	}
	if signal != syscall.SIGKILL {
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case <-gone:
			return nil
		case <-limit.C:
		}
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end %s: %w", p.Name, err)
		}
	}
	<-gone
	return nil
}
