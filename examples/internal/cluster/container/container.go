// Package container runs programs in containers: with the files of an image as the root, and with separate mounts,
// processes, host name and IPC. It shares the network of the machine, and limits neither memory nor processor time.
//
// A container starts as this program under another name, which it recognizes in init: it makes its mounts, drops
// what the spec does not grant, and becomes the program of the container. This package imports little, so that this
// happens before the packages of Kubernetes are initialized.
package container

import (
	"errors"
	"fmt"
)

// Spec describes a container.
type Spec struct {
	// Base is a directory below which the paths Root and Scratch are. Their characters must not have a meaning in the
	// options of overlayfs; those of Base may.
	Base string
	// Root has the files of the image, which the container does not change. Scratch has what it writes: an existing,
	// empty directory.
	Root, Scratch string
	// ReadOnly makes the root read-only, except for mounts.
	ReadOnly bool
	Hostname string
	// Mounts are made in this order.
	Mounts  []Mount
	Process Process
	// Processes is a running container whose processes this one has, too, instead of separate ones.
	Processes *Container `json:"-"`
	// Trial ends before a program starts.
	Trial bool
}

// Mount makes a file or directory of the machine visible in the container.
type Mount struct {
	Source string
	// SubPath is a path below Source. No link leads out of Source. It is made as a directory if it is missing.
	SubPath string
	// Target is an absolute path in the container. It is made if it is missing.
	Target   string
	ReadOnly bool
}

// Process describes a program that runs in a container.
type Process struct {
	// Args has the program, which is searched in PATH of Env, and its arguments.
	Args, Env []string
	// Dir is the working directory, / if it is empty. Start makes it if it is missing.
	Dir string
	// User is that of the image: USER[:GROUP], each a name or a number. Numbers in UID and GID count more.
	User     string
	UID, GID *int
	// Groups are additional groups.
	Groups []int
	// Capabilities are those that root keeps, such as CHOWN. Other users have none.
	Capabilities []string
	// NoNewPrivileges ignores the setuid bit of programs.
	NoNewPrivileges bool
}

// DefaultCapabilities are the capabilities that other runtimes grant to root.
var DefaultCapabilities = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"NET_BIND_SERVICE", "NET_RAW", "SYS_CHROOT", "MKNOD", "AUDIT_WRITE", "SETFCAP"}

// StartError is an error of the description of a container or process: a program, user or directory that the container
// does not have.
type StartError struct{ Text string }

// Error returns the text of the error.
func (e *StartError) Error() string { return e.Text }

// ErrRoot is returned to users who may not run containers.
var ErrRoot = errors.New("only root can run containers")

// Try returns an error if this machine cannot run containers. The spec needs only Base, Root and Scratch.
func Try(s Spec) error {
	s.Trial, s.Process.Args = true, []string{"none"}
	c, err := Start(s, Streams{})
	if err == nil {
		<-c.Done()
	}
	return err
}

// check reports what a spec lacks.
func (s *Spec) check() error {
	for _, m := range s.Mounts {
		if len(m.Target) < 2 || m.Target[0] != '/' {
			return &StartError{fmt.Sprintf("the mount path %q is not an absolute path below /", m.Target)}
		}
	}
	return s.Process.check()
}

func (p *Process) check() error {
	if len(p.Args) == 0 || p.Args[0] == "" {
		return &StartError{"no command specified"}
	}
	if p.Dir == "" {
		p.Dir = "/"
	}
	if p.Dir[0] != '/' {
		return &StartError{fmt.Sprintf("the working directory %q is not an absolute path", p.Dir)}
	}
	return nil
}
