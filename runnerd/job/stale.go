package job

import "fmt"

// StaleError means that something changed since the plan was made, so that its apply did
// nothing. It becomes the result stale, whose remedy is a new plan.
type StaleError struct{ why string }

// Error returns the reason in one sentence, with the remedy.
func (s *StaleError) Error() string { return s.why + "; plan again" }

// Stalef returns a *StaleError. A handler may return it only when it has changed nothing.
func Stalef(format string, args ...any) error { return &StaleError{why: fmt.Sprintf(format, args...)} }
