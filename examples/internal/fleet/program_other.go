//go:build !linux

package fleet

import "syscall"

// attributes puts a program into a separate process group, so that Ctrl-C does not reach it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
