package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// interruptible returns a context that is canceled by Ctrl-C or SIGTERM, with
// the exit code of the signal as the cause. After the first signal both have
// their default effect again, so a second one kills a program that does not
// stop. Stop cancels the context and waits for the listening goroutine to end.
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
			end(signalError{exitCodeOf(s)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		end(context.Canceled)
		<-done
	}
}

// signalError is the cause of a context that was canceled by a signal. It matches context.Canceled,
// because callers test for that error to find out whether a context was canceled.
type signalError struct{ code *exitcode.Error }

// Error returns an empty message: the person who sent the signal needs none.
func (signalError) Error() string { return "" }

// Is reports whether target is context.Canceled.
func (signalError) Is(target error) bool { return target == context.Canceled }

// Unwrap returns the exit code.
func (s signalError) Unwrap() error { return s.code }

// exitCodeOf returns the exit code for a signal.
func exitCodeOf(s os.Signal) *exitcode.Error {
	if s == syscall.SIGTERM {
		return exitcode.Terminated
	}
	return exitcode.Interrupted
}

// exitError translates the error that a command returned into the error that the program
// exits with. A command sees that its context was canceled but not why; ended takes the
// signal from the cause. A closed stdout (EPIPE) becomes an exit code without a message.
func exitError(ctx context.Context, err error) error {
	var signal signalError
	var write *os.PathError
	switch {
	case err == nil:
		return nil
	case (errors.Is(err, exitcode.Interrupted) || errors.Is(err, context.Canceled)) &&
		errors.As(context.Cause(ctx), &signal):
		return signal.code
	case errors.Is(err, exitcode.Interrupted):
		return exitcode.Interrupted // Ctrl-C at a prompt; the wrapping message is dropped
	case errors.As(err, &write) && errors.Is(err, syscall.EPIPE) && write.Path == os.Stdout.Name():
		return exitcode.ClosedPipe
	}
	return err
}
