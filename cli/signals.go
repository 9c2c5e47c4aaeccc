package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// interruptible is a context that Ctrl-C or SIGTERM ends, with the exit code for it as the cause. From then on both do what they
// do to any program, so a second one ends what the first could not. Stop waits for the goroutine that listens.
func interruptible() (ctx context.Context, stop func()) {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() { // listens until a signal or stop
		defer close(done)
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			end(signalled{meaning(s)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		end(context.Canceled)
		<-done
	}
}

// signalled is the end of a context by a signal. It counts as context.Canceled: that is what everybody asks for who wants to know
// whether a context has ended.
type signalled struct{ code *exit.Error }

// Error has no words: who did it knows.
func (signalled) Error() string { return "" }

// Is says so.
func (signalled) Is(target error) bool { return target == context.Canceled }

// Unwrap gives the exit code.
func (s signalled) Unwrap() error { return s.code }

// meaning is the exit code for a signal.
func meaning(s os.Signal) *exit.Error {
	if s == syscall.SIGTERM {
		return exit.Terminated
	}
	return exit.Interrupted
}

// ended is how a command ended, seen from outside it. A command knows that its context has ended but not why; and an output that
// nobody reads any more is no failure that anybody wants words for.
func ended(ctx context.Context, err error) error {
	var signal signalled
	var write *os.PathError
	switch {
	case err == nil:
		return nil
	case (errors.Is(err, exit.Interrupted) || errors.Is(err, context.Canceled)) && errors.As(context.Cause(ctx), &signal):
		return signal.code
	case errors.Is(err, exit.Interrupted):
		return exit.Interrupted // typed at a question; whatever words were put before it help nobody
	case errors.As(err, &write) && errors.Is(err, syscall.EPIPE) && write.Path == os.Stdout.Name():
		return exit.ClosedPipe
	}
	return err
}
