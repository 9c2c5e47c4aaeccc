// Package testprogram writes programs for tests to run. Only tests and test rigs use it.
package testprogram

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write writes a program, with the directories above it. It can be run at once: no process that a
// parallel test starts meanwhile inherits the open file, with which the system would refuse to run
// the program ("text file busy", ETXTBSY, execve(2)).
func Write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
}
