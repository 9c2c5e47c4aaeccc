//go:build !linux

package spool

import "os"

// ThisProcess returns the calling process. Without /proc it has only the process id, and only
// the lock shows whether it lives.
func ThisProcess() Process { return Process{PID: os.Getpid()} }

// Processes returns nothing, because there is no /proc.
func Processes() (map[int]Stat, error) { return nil, nil }
