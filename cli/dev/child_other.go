//go:build !linux

package dev

import "syscall"

// childAttributes put a child into a process group of its own, so that the terminal's Ctrl-C reaches only nuon dev, which stops
// the children in order. Only Linux tells a child that its parent was killed.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
