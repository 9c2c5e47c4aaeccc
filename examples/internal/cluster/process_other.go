//go:build !linux

package main

import "syscall"

// processAttributes puts a process into a separate group, so that all its children can be killed.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
