package main

import "syscall"

// processAttributes puts a process into a separate group, so that all its children can be killed, and
// makes the kernel kill it when this program ends, even by SIGKILL.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
