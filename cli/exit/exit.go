// Package exit holds the exit codes of nuon and the errors that stand for them, in one place. Commands return these errors; only
// main ends the process.
package exit

import (
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
)

// The exit codes, as the README lists them.
const (
	Done         = 0
	Failed       = 1 // what was asked for failed
	Usage        = 2 // wrong usage, or a config with errors
	Waiting      = 3 // waits for an approval
	Rejected     = 4 // somebody said no
	Unreachable  = 5 // cannot reach the control plane, or not authorised there
	interruptedN = 130
)

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

// Interrupted is Ctrl-C: the shell's own code for it.
var Interrupted = &Error{Code: interruptedN}

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
