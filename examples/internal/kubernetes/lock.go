package kubernetes

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/filelock"
)

// takeLock locks a file, and reports on progress when it has to wait.
func takeLock(ctx context.Context, path string, progress io.Writer) (release func(), err error) {
	var stop func() time.Duration
	defer func() {
		if stop != nil {
			stop()
		}
	}()
	return filelock.Wait(ctx, path, func() {
		fmt.Fprintln(progress, "waiting for somebody else who builds the cluster")
		stop = saying(progress, func() string { return "still waiting" })
	})
}
