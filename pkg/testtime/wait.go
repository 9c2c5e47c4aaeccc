// Package testtime provides time limits to tests: a limit that only ends a hang, functions that
// wait for a condition within that limit, and a measure of work that does not depend on the load of
// the machine.
//
// It owns the only such limit of this repository's tests. No test sets a shorter one on something
// whose clock it does not control. It is independent of what the tests wait for. Only tests and the
// programs that tests start import it.
package testtime

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// Limit is how long a test waits for something that must happen. It does not measure speed: it
	// is far longer than anything takes on a busy machine, and only turns a hang into a failure
	// that names what hangs. It is below the default timeout of ten minutes that go test sets for a
	// package.
	Limit = 8 * time.Minute
	// firstPoll is the pause after the first check of a condition that gives no signal. Each pause
	// is a quarter longer than the one before, up to longestPoll, so that a long wait leaves the
	// processors to the awaited work and lasts at most a quarter longer.
	firstPoll   = 5 * time.Millisecond
	longestPoll = 100 * time.Millisecond
	// A check that starts programs is as expensive as the awaited work: on a busy machine, many of
	// them would delay each other. So the pause after one is restShare times as long as the check
	// took, between minRest and maxRest.
	restShare = 4
	minRest   = 200 * time.Millisecond
	maxRest   = 2 * time.Second
)

// Rest returns the wait before the next check of a condition whose last check, which ran a program
// or called a server, took this long.
func Rest(took time.Duration) time.Duration {
	return min(max(restShare*took, minRest), maxRest)
}

// Context returns the context of the test with a deadline that only ends a hang.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), Limit, fmt.Errorf("the test waited for %s: it hangs", Limit))
	t.Cleanup(cancel)
	return ctx
}

// After returns a channel that receives when a test has waited for Limit.
func After() <-chan time.Time { return time.After(Limit) }

// Receive returns the next value of the channel, or the zero value if the channel is closed. It
// fails the test if nothing arrives; what describes the awaited value.
func Receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-After():
		t.Fatalf("%s: nothing after %s: the test hangs", what, Limit)
		panic("not reached")
	}
}

// Until waits until the condition holds, and fails the test if it never does; what describes the
// condition.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	UntilNoError(t, what, func() error {
		if holds() {
			return nil
		}
		return errNotYet
	})
}

var errNotYet = fmt.Errorf("not yet")

// UntilNoError waits until the check returns no error. It fails the test with the last error if
// that never happens.
func UntilNoError(t testing.TB, what string, check func() error) {
	t.Helper()
	end := After()
	for pause := firstPoll; ; pause = min(pause*5/4, longestPoll) {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-end:
			t.Fatalf("%s: not after %s: the test hangs: %v", what, Limit, err)
		}
	}
}
