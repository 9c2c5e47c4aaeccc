//go:build !linux

package fleet

import "syscall"

// attributes put a program into a process group of its own, so that Ctrl-C does not reach it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
