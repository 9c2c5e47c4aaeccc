//go:build !linux

package dev

import "syscall"

// childAttributes puts a child into its own process group, so that Ctrl-C in
// the terminal reaches only nuon dev, which stops the children in order. Only
// on Linux does a child get a signal when its parent is killed.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
