//go:build !linux

package spool

import "os"

// ThisProcess gives the calling process; without /proc its number must do, and the lock alone tells whether it lives.
func ThisProcess() Process { return Process{PID: os.Getpid()} }

// Processes gives none: there is no /proc.
func Processes() (map[int]Stat, error) { return nil, nil }
