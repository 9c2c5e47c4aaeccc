//go:build unix

package diff

import (
	"os"
	"os/signal"
	"syscall"
)

// awaitSignals waits until signals that were sent to this process before have reached the Go runtime. A child that
// received the same Ctrl-C can be seen to exit before a thread of this process has been scheduled to handle its own.
// Pending signals are handled in the order of their numbers, so they come before one with a high number that the
// process sends to itself.
func awaitSignals() {
	marker := make(chan os.Signal, 1)
	signal.Notify(marker, syscall.SIGWINCH)
	defer signal.Stop(marker)
	if syscall.Kill(os.Getpid(), syscall.SIGWINCH) == nil {
		<-marker
	}
}
