//go:build !linux

package subprocess

import "os"

// ownExecutable returns a path to the executable of this process.
func ownExecutable() (string, error) { return os.Executable() }

// survive does nothing: only Linux kills a process with its parent.
func survive(int) error { return nil }
