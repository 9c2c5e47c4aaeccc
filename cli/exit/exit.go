// Package exit holds the exit codes of nuon and the errors that stand for them, in one place. Commands return these errors; only
// main ends the process.
package exit

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

	// What a shell makes of a program that a signal has ended: 128 and the signal's number.
	interruptedN = 128 + 2
	closedPipeN  = 128 + 13
	terminatedN  = 128 + 15
)

// Codes say what each code means, for the reference.
var Codes = []struct {
	Code  int
	Means string
}{
	{Done, "done"},
	{Failed, "what was asked for failed: a build, a deploy, a change that the control plane refused; or something differs (`nuon diff --exit-code`, `nuon fmt --check`)"},
	{Usage, "wrong usage, errors in the config, or a commit that was not pushed"},
	{Waiting, "waits for an approval"},
	{Rejected, "somebody said no, or you did when asked"},
	{Unreachable, "cannot reach the control plane, not authorised there, or it is of another version"},
	{interruptedN, "Ctrl-C"},
	{closedPipeN, "whoever read the output has gone (`nuon … | head`)"},
	{terminatedN, "SIGTERM"},
}

// Error is an error that ends the program with a code of its own.
type Error struct {
	Code int
	Err  error
}

// Error says what is wrong; it is empty for a code that has been explained already.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// With gives err a code.
func With(code int, err error) error { return &Error{Code: code, Err: err} }

// Usagef is a mistake in how the command was called.
func Usagef(format string, a ...any) error { return With(Usage, fmt.Errorf(format, a...)) }

// BadTOML is an error in a TOML file that a person wrote, with its place where the error has one.
func BadTOML(file string, err error) error {
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		file = fmt.Sprintf("%s:%d:%d", file, line, column)
	}
	return With(Usage, fmt.Errorf("%s: %w", file, err))
}

// Interrupted is Ctrl-C, or any other end of a command's context. It has no words: who did it knows.
var Interrupted = &Error{Code: interruptedN}

// Terminated is SIGTERM.
var Terminated = &Error{Code: terminatedN}

// ClosedPipe is an output that nobody reads any more.
var ClosedPipe = &Error{Code: closedPipeN}

// CodeOf is the exit code for an error.
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
