//go:build !linux

package main

import "syscall"

// processAttributes gives a process its own group, so that all its children can be killed.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
