//go:build !linux

package hardening

import (
	"fmt"
	"syscall"
)

// HideMemory disables core files; only Linux supports the rest.
func HideMemory() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("switch core files off: %w", err)
	}
	return nil
}
