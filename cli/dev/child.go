package dev

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// outputPatience is how long to wait for the output of a program that exited
// but whose subprocesses keep the output open.
const outputPatience = 2 * time.Second

// supervisedProgram keeps one program running: it restarts it after a pause when it exits,
// until it is asked to stop.
type supervisedProgram struct {
	log      *prefixWriter
	timeouts timeouts
	// program returns the command to run; it is called before every start.
	program func() *exec.Cmd

	stopRequested chan struct{} // closed to request a stop
	once          sync.Once
	done          chan struct{} // closed when the program has exited for good
	hard          chan struct{} // closed to kill at once
	// left receives the error of every unrequested exit.
	left chan error
}

// startChild starts a child. A program that cannot be started counts as one that exits.
func startChild(log *prefixWriter, hard chan struct{}, timeouts timeouts, program func() *exec.Cmd) *supervisedProgram {
	started := &supervisedProgram{
		log: log, timeouts: timeouts, program: program, hard: hard,
		stopRequested: make(chan struct{}), done: make(chan struct{}), left: make(chan error, 16),
	}
	go started.keep()
	return started
}

// keep is the child's goroutine: it runs the program until a stop is requested.
func (c *supervisedProgram) keep() {
	// The kernel signals the program when the thread that started it exits; see childAttributes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	pause := c.timeouts.backoff
	for {
		began := time.Now()
		err := c.run()
		if c.stopped() {
			return
		}
		if time.Since(began) >= c.timeouts.settled {
			pause = c.timeouts.backoff
		}
		c.log.logf("it exited (%v); starting it again in %s", err, pause)
		select {
		case c.left <- err:
		default:
		}
		again := time.NewTimer(pause)
		select {
		case <-c.stopRequested:
			again.Stop()
			return
		case <-again.C:
		}
		pause = min(2*pause, c.timeouts.longest)
	}
}

func (c *supervisedProgram) stopped() bool {
	select {
	case <-c.stopRequested:
		return true
	default:
		return false
	}
}

// run runs the program once and returns why it exited.
func (c *supervisedProgram) run() error {
	command := c.program()
	command.Stdout, command.Stderr = c.log, c.log
	command.SysProcAttr = childAttributes()
	command.WaitDelay = outputPatience
	err := command.Start()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err = <-ended:
	case <-c.stopRequested:
		err = c.end(command.Process, ended)
	}
	c.log.finish()
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// end sends SIGTERM to the program and kills its whole process group if it does not exit
// in time. Only the program itself gets SIGTERM, because it stops its own subprocesses.
func (c *supervisedProgram) end(process *os.Process, ended <-chan error) error {
	_ = process.Signal(syscall.SIGTERM) // it may have exited already
	late := time.NewTimer(c.timeouts.stop)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-c.hard:
	case <-late.C:
		c.log.logf("it did not stop within %s; killing it", c.timeouts.stop)
	}
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
	return <-ended
}

// ask requests a stop; done is closed when the program has exited.
func (c *supervisedProgram) ask() { c.once.Do(func() { close(c.stopRequested) }) }

// stopAll stops all children at the same time and waits for them.
func stopAll(children ...*supervisedProgram) {
	for _, each := range children {
		if each != nil {
			each.ask()
		}
	}
	for _, each := range children {
		if each != nil {
			<-each.done
		}
	}
}

// output runs a short program to its end and returns its stdout; its stderr goes to the log.
func output(log *prefixWriter, command *exec.Cmd) ([]byte, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.finish()
	command.Stderr = log
	command.SysProcAttr = childAttributes()
	command.WaitDelay = outputPatience
	return command.Output()
}
