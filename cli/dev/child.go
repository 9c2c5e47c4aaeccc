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

// outputPatience is how long a child that has left may keep its output open through processes of its own.
const outputPatience = 2 * time.Second

// child keeps one program running: started again, after a pause, when it leaves by itself, and stopped when it is asked to.
type child struct {
	log      *source
	patience patience
	// program gives the program to run; it is asked before every start.
	program func() *exec.Cmd

	asked chan struct{} // closed: stop
	once  sync.Once
	done  chan struct{} // closed: it has left and stays away
	hard  chan struct{} // closed: stop at once
	// left tells of every end that nobody asked for.
	left chan error
}

// startChild begins to keep a program running. Errors of a start count as an end.
func startChild(log *source, hard chan struct{}, patience patience, program func() *exec.Cmd) *child {
	started := &child{
		log: log, patience: patience, program: program, hard: hard,
		asked: make(chan struct{}), done: make(chan struct{}), left: make(chan error, 16),
	}
	go started.keep()
	return started
}

// keep is the child's goroutine: it waits for the program to leave, or to be asked.
func (c *child) keep() {
	// The kernel tells the program when the thread that started it ends; see childAttributes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	pause := c.patience.backoff
	for {
		began := time.Now()
		err := c.run()
		if c.stopped() {
			return
		}
		if time.Since(began) >= c.patience.settled {
			pause = c.patience.backoff
		}
		c.log.say("it left by itself (%v); starting it again in %s", err, pause)
		select {
		case c.left <- err:
		default:
		}
		again := time.NewTimer(pause)
		select {
		case <-c.asked:
			again.Stop()
			return
		case <-again.C:
		}
		pause = min(2*pause, c.patience.longest)
	}
}

func (c *child) stopped() bool {
	select {
	case <-c.asked:
		return true
	default:
		return false
	}
}

// run starts the program once and gives why it left.
func (c *child) run() error {
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
	case <-c.asked:
		err = c.end(command.Process, ended)
	}
	c.log.finish()
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// end asks the program to stop, and kills it with its whole process group when it does not in time. Only the program itself is
// asked: it knows what to do with processes of its own.
func (c *child) end(process *os.Process, ended <-chan error) error {
	_ = process.Signal(syscall.SIGTERM) // it may have left already
	late := time.NewTimer(c.patience.stop)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-c.hard:
	case <-late.C:
		c.log.say("it does not stop within %s; it is killed", c.patience.stop)
	}
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
	return <-ended
}

// ask begins to stop the child; wait on done for the end.
func (c *child) ask() { c.once.Do(func() { close(c.asked) }) }

// stopAll asks all children at once and waits for all.
func stopAll(children ...*child) {
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

// output runs a short program to its end and gives its standard output; what it says on standard error goes to the log.
func output(log *source, command *exec.Cmd) ([]byte, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.finish()
	command.Stderr = log
	command.SysProcAttr = childAttributes()
	command.WaitDelay = outputPatience
	return command.Output()
}
