//go:build !linux

package container

import (
	"errors"
	"os"
	"syscall"
)

// Streams are the standard streams of a process.
type Streams struct{ In, Out, Err, Terminal *os.File }

// Running is a process that was started.
type Running struct{}

// Container is a running container.
type Container struct{ *Running }

// Done returns nil: nothing runs here.
func (r *Running) Done() <-chan struct{} { return nil }

// ExitCode returns 0.
func (r *Running) ExitCode() int { return 0 }

// Signal does nothing.
func (r *Running) Signal(syscall.Signal) {}

// Start returns an error: containers need Linux.
func Start(Spec, Streams) (*Container, error) { return nil, errors.ErrUnsupported }

// Exec returns an error: containers need Linux.
func (c *Container) Exec(Process, Streams) (*Running, error) { return nil, errors.ErrUnsupported }

// OpenTerminal returns an error: containers need Linux.
func OpenTerminal() (control, terminal *os.File, err error) { return nil, nil, errors.ErrUnsupported }

// Resize returns an error: containers need Linux.
func Resize(*os.File, uint16, uint16) error { return errors.ErrUnsupported }
