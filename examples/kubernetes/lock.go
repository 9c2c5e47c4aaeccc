package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// lockLook is how often a lock that somebody holds is tried again.
const lockLook = 100 * time.Millisecond

// takeLock takes the lock on a file, which is made and stays, and waits for it as long as ctx lives. The system frees it when its holder
// is gone.
func takeLock(ctx context.Context, path string, progress io.Writer) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the cluster's program: %w", err)
	}
	look := time.NewTicker(lockLook)
	defer look.Stop()
	var stop func() time.Duration
	defer func() {
		if stop != nil {
			stop()
		}
	}()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if stop == nil {
			fmt.Fprintln(progress, "waiting for somebody else who builds the cluster")
			stop = saying(progress, func() string { return "still waiting" })
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the lock %s: %w", path, ctx.Err()), file.Close())
		}
	}
}
