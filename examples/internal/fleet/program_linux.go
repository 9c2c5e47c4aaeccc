package fleet

import "syscall"

// attributes puts a program into a separate process group, so that Ctrl-C does not reach it, and
// makes the kernel kill it when this process is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
