package main

import "syscall"

// processAttributes give a process a group of its own, by which all that it starts can be ended, and let it die with this program, even
// when that is killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
