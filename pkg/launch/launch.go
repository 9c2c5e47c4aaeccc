// Package launch starts programs that were written a moment ago.
//
// A system refuses to run a file that somebody has open for writing: "text file busy" (ETXTBSY, execve(2)). Whoever has written a
// program and closed it is still refused now and then, because every process that was started meanwhile, by any goroutine, was born
// with a copy of the open file, and has it until it becomes its own program (close-on-exec). On a busy machine that takes a while.
// Nothing is wrong then, and there is nothing to wait on: one tries again, as the go command does (https://go.dev/issue/22315).
//
// It owns this trying again and for how long. It never writes a program and never chooses how one runs. Whoever starts what this
// process may have unpacked, fetched or rendered calls it: pgcluster, runnerd/tool and runnerd/action.
package launch

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

const (
	// patience is for how long a program may be busy. A process that is being born needs microseconds, and its turn on the processor; a
	// file that stays open is another's mistake, which is to come out.
	patience = 20 * time.Second
	// firstPause grows to longestPause.
	firstPause   = time.Millisecond
	longestPause = 250 * time.Millisecond
)

// Patiently calls start, which starts a program, and calls it again while the program's file is still open for writing somewhere. Start
// makes a new exec.Cmd each time, because one that could not be started is used up; it may also wait for the program's end, for what
// has run is never busy. Its error is given as it is, with what to do about it when the file stays busy; it wraps that of ctx too when
// ctx has ended meanwhile.
func Patiently(ctx context.Context, start func() error) error {
	begun := time.Now()
	pauses := backoff.Backoff{First: firstPause, Most: longestPause}
	for {
		err := start()
		switch {
		case !errors.Is(err, syscall.ETXTBSY):
			return err
		case time.Since(begun) >= patience:
			return fmt.Errorf("%w, and still is after %s: something keeps it open for writing; end that and try again", err, patience)
		}
		if !backoff.Pause(ctx, pauses.Next()) {
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}
