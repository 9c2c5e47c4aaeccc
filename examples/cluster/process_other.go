//go:build !linux

package main

import "syscall"

// processAttributes give a process a group of its own, by which all that it starts can be ended.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
