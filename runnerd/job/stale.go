package job

import "fmt"

// StaleError says that the world moved since the plan was made, so that its apply did nothing. It becomes the result stale: plan
// again.
type StaleError struct{ why string }

// Error gives the reason in one sentence, and what to do.
func (s *StaleError) Error() string { return s.why + "; plan again" }

// Stale gives a *StaleError. A handler may return it only when nothing was changed.
func Stale(format string, args ...any) error { return &StaleError{why: fmt.Sprintf(format, args...)} }
