package dev

import "syscall"

// childAttributes puts a child into its own process group, so that Ctrl-C in
// the terminal reaches only nuon dev, which stops the children in order. If
// nuon dev is killed, the kernel sends SIGTERM to the child.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
