// Package exitcode defines the exit codes of nuon and the errors that carry them.
// Commands return these errors; only main ends the process.
package exitcode

import (
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
)

// The exit codes.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2
	Waiting     = 3
	Rejected    = 4
	Unreachable = 5

	// The codes that a shell reports for a program that a signal ended: 128
	// plus the signal's number.
	interruptedN = 128 + 2
	closedPipeN  = 128 + 13
	terminatedN  = 128 + 15
)

// Codes describes each code, for the reference.
var Codes = []struct {
	Code  int
	Means string
}{
	{Done, "done"},
	{Failed,
		"failure: a failed build or deploy, or a change that the control plane rejected; or a difference (`nuon " +
			"diff --exit-code`, `nuon fmt --check`)"},
	{Usage, "invalid usage, errors in the config, or a commit that was not pushed"},
	{Waiting, "waiting for an approval"},
	{Rejected, "rejected, or canceled at a prompt"},
	{Unreachable, "control plane unreachable, access denied, or incompatible version"},
	{interruptedN, "Ctrl-C"},
	{closedPipeN, "the reader of the output closed it (`nuon … | head`)"},
	{terminatedN, "SIGTERM"},
}

// Error is an error with its own exit code.
type Error struct {
	Code int
	Err  error
}

// Error returns the message of the cause. It is empty if the output already explains the code.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// With returns err with an exit code.
func With(code int, err error) error { return &Error{Code: code, Err: err} }

// Usagef returns an error for wrong usage of a command.
func Usagef(format string, a ...any) error { return With(Usage, fmt.Errorf(format, a...)) }

// BadTOML returns an error about a TOML file that a person wrote, with its line and column
// if known.
func BadTOML(file string, err error) error {
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		file = fmt.Sprintf("%s:%d:%d", file, line, column)
	}
	return With(Usage, fmt.Errorf("%s: %w", file, err))
}

// Interrupted is the error after Ctrl-C, or after any other cancellation of a command's
// context. It has no message, because the person who pressed the key needs none.
var Interrupted = &Error{Code: interruptedN}

// Terminated is the error after SIGTERM.
var Terminated = &Error{Code: terminatedN}

// ClosedPipe is the error of an output whose reader has closed it.
var ClosedPipe = &Error{Code: closedPipeN}

// CodeOf returns the exit code for an error.
func CodeOf(err error) int {
	var e *Error
	switch {
	case err == nil:
		return Done
	case errors.As(err, &e):
		return e.Code
	}
	return Failed
}
