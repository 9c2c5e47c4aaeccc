package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are those that each container has for itself.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// Streams are the standard streams of a process. A nil file is /dev/null.
type Streams struct {
	In, Out, Err *os.File
	// Terminal is the terminal of the process, which is then all three; see OpenTerminal.
	Terminal *os.File
}

// Container is a running container, or one that has ended.
type Container struct {
	spec  Spec
	pidfd int

	mu   sync.Mutex
	gone bool // the pidfd is closed

	*Running
}

// Running is a process that was started.
type Running struct {
	cmd  *exec.Cmd
	done chan struct{}
	code int
}

// Done is closed when the process has ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// ExitCode returns the exit code of an ended process, or 128 plus the signal that ended it.
func (r *Running) ExitCode() int { return r.code }

// Signal sends a signal to the process. As the first process of a container, it gets only signals that it handles, and
// SIGKILL, with which all processes of the container end.
func (r *Running) Signal(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

// Start starts a container. Its processes end at the latest with this program.
func Start(spec Spec, streams Streams) (*Container, error) {
	if os.Getuid() != 0 {
		return nil, ErrRoot
	}
	if err := spec.check(); err != nil {
		return nil, err
	}
	c := &Container{spec: spec, pidfd: -1}
	running, err := launch(func() (*exec.Cmd, func() error, error) {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args, cmd.Env = []string{childName}, []string{}
		// The child ties itself to this thread: Pdeathsig would compare process ids of two namespaces.
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, PidFD: &c.pidfd}
		if spec.Processes != nil {
			cmd.SysProcAttr.Cloneflags &^= unix.CLONE_NEWPID
			if err := spec.Processes.enter(unix.CLONE_NEWPID); err != nil {
				return nil, nil, err
			}
		}
		files, told, err := talk(spec, cmd)
		if err != nil {
			return nil, nil, err
		}
		return cmd, func() error { return errors.Join(files(), told()) }, nil
	}, streams)
	if err != nil {
		return nil, err
	}
	c.Running = running
	go func() {
		<-running.done
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone = true
		_ = unix.Close(c.pidfd)
	}()
	return c, nil
}

// talk connects a starting container with this process: it gets the spec, and returns an error or nothing.
func talk(spec Spec, cmd *exec.Cmd) (started, told func() error, err error) {
	specRead, specWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, specRead.Close(), specWrite.Close())
	}
	cmd.ExtraFiles = []*os.File{specRead, errWrite} // 3 and 4
	started = func() error {
		err := errors.Join(specRead.Close(), errWrite.Close())
		if cmd.Process != nil {
			err = errors.Join(err, json.NewEncoder(specWrite).Encode(spec))
		}
		return errors.Join(err, specWrite.Close())
	}
	told = func() error {
		text, err := io.ReadAll(errRead)
		if len(text) > 0 {
			err = &StartError{string(text)}
		}
		return errors.Join(err, errRead.Close())
	}
	return started, told, nil
}

// Exec starts another process in the container.
func (c *Container) Exec(p Process, streams Streams) (*Running, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return launch(func() (*exec.Cmd, func() error, error) {
		if err := c.enter(namespaces); err != nil {
			return nil, nil, err
		}
		who, err := identify(p)
		if err != nil {
			return nil, nil, err
		}
		program, err := search(p)
		if err != nil {
			return nil, nil, err
		}
		if err := confine(p); err != nil {
			return nil, nil, err
		}
		cmd := &exec.Cmd{Path: program, Args: p.Args, Env: p.Env, Dir: p.Dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		return cmd, func() error { return nil }, nil
	}, streams)
}

// enter puts the calling thread into namespaces of the container; that of processes is for its children. The thread
// must end afterwards.
func (c *Container) enter(namespaces int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return errors.New("the container does not run")
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("separate a thread: %w", err)
	}
	if err := unix.Setns(c.pidfd, namespaces); err != nil {
		return fmt.Errorf("enter the container: %w", err)
	}
	return nil
}

// launch starts a process from a thread that prepare may change. That thread waits for it, because a container is
// killed when the thread that started it ends, and so are its other processes. prepare returns a function that is
// called when the process was started, or could not be.
func launch(prepare func() (*exec.Cmd, func() error, error), streams Streams) (*Running, error) {
	started := make(chan error, 1)
	r := &Running{done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // and never unlocked, so the thread ends with this function
		cmd, err := begin(prepare, streams)
		r.cmd = cmd
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // the state has the result
		r.code = exitCode(cmd.ProcessState)
		close(r.done)
	}()
	return r, <-started
}

// begin starts the process of launch.
func begin(prepare func() (*exec.Cmd, func() error, error), streams Streams) (*exec.Cmd, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // before prepare, after which it may be that of a container
	if err != nil {
		return nil, err
	}
	defer null.Close() //nolint:errcheck // nothing was written
	cmd, after, err := prepare()
	if err != nil {
		return nil, err
	}
	streams.connect(cmd, null)
	err = cmd.Start()
	if err = errors.Join(err, after()); err != nil && cmd.Process != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return cmd, err
}

// connect connects the streams with a command, in a separate session.
func (s Streams) connect(cmd *exec.Cmd, null *os.File) {
	attr := cmd.SysProcAttr
	attr.Setsid = true
	if s.Terminal != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Terminal, s.Terminal, s.Terminal
		attr.Setctty, attr.Ctty = true, 0
		return
	}
	file := func(f *os.File) *os.File {
		if f == nil {
			return null
		}
		return f
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file(s.In), file(s.Out), file(s.Err)
}

func exitCode(state *os.ProcessState) int {
	if status, is := state.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
