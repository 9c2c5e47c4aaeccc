package fleet

import "syscall"

// attributes put a program into a process group of its own, so that Ctrl-C does not reach it, and have the kernel kill it when we
// are killed ourselves.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
