// Package execretry starts programs that were written a moment ago.
//
// A system refuses to run a file that is open for writing: "text file busy" (ETXTBSY, execve(2)). A
// process that has written a program and closed it may still get this error, because every process
// that any goroutine started in the meantime inherited a copy of the open file, and has it until
// its own exec (close-on-exec). On a busy machine that takes a while. There is no event to wait
// for, so the start is retried, as the go command does (https://go.dev/issue/22315).
//
// The package owns these retries and their time limit. It never writes a program and never chooses
// how one runs. Code that starts programs which this process may have unpacked, downloaded or
// rendered calls it: pgcluster, runnerd/tfbinary and runnerd/action.
package execretry

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

const (
	// retryFor is how long a program may be busy. A newly forked process needs microseconds and its
	// turn on the processor; a file that stays open longer is an error elsewhere, which must be
	// reported.
	retryFor = 20 * time.Second
	// firstPause is the first pause between attempts; pauses double up to longestPause.
	firstPause   = time.Millisecond
	longestPause = 250 * time.Millisecond
)

// Retry calls start, which starts a program, and calls it again while the program's file is
// still open for writing somewhere. start must create a new exec.Cmd for each call, because one
// that failed to start cannot be reused. It may also wait for the program to end, because a program
// that has run is never busy. Retry returns the error of start unchanged. If the file stays
// busy, it adds what to do about that; if ctx has ended in the meantime, the error wraps that of
// ctx too.
func Retry(ctx context.Context, start func() error) error {
	started := time.Now()
	pauses := backoff.Backoff{First: firstPause, Max: longestPause}
	for {
		err := start()
		switch {
		case !errors.Is(err, syscall.ETXTBSY):
			return err
		case time.Since(started) >= retryFor:
			return fmt.Errorf("%w, and still is after %s: something keeps it open for writing; end that and try again",
				err, retryFor)
		}
		if !backoff.Pause(ctx, pauses.Next()) {
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}
