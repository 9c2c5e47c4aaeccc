package dev

import "syscall"

// childAttributes put a child into a process group of its own, so that the terminal's Ctrl-C reaches only nuon dev, which stops
// the children in order. The kernel asks the child to stop when nuon dev is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
