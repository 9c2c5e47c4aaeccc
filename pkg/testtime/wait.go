// Package testtime holds what tests need to know about time: a limit that only ends a hang, ways to wait for something within
// that limit, and a measure of work that a busy machine does not change.
//
// It owns the one limit of this repository's tests; no test sets a shorter one of its own on something that the test does not
// control the clock of. It knows nothing of what the tests wait for. Only tests and the programs that tests start import it.
package testtime

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// Limit is how long a test waits for something that must happen. It is never a statement about speed: it is far longer than
	// anything takes on a machine that does many other things, and only turns a hang into a failure that names what hangs.
	// It is below the ten minutes that go test gives a whole package unless it is told otherwise.
	Limit = 8 * time.Minute
	// firstPoll is the pause after the first check of a condition that gives no signal. Each pause is a quarter longer than the one
	// before, up to longestPoll, so that a long wait leaves the processors to what it waits for and lasts at most a quarter longer.
	firstPoll   = 5 * time.Millisecond
	longestPoll = 100 * time.Millisecond
	// A check that starts programs costs as much as what it waits for: on a busy machine many such checks would keep each other
	// waiting. So the pause after one is restShare times as long as it took, between shortestRest and longestRest.
	restShare    = 4
	shortestRest = 200 * time.Millisecond
	longestRest  = 2 * time.Second
)

// Rest returns how long to wait before the next check of a condition where the last one, which ran a program or asked a server, took
// this long.
func Rest(took time.Duration) time.Duration {
	return min(max(restShare*took, shortestRest), longestRest)
}

// Context returns the context of the test with a deadline that only ends a hang.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), Limit, fmt.Errorf("the test waited for %s: it hangs", Limit))
	t.Cleanup(cancel)
	return ctx
}

// After returns a channel that receives when a test has waited so long that it hangs.
func After() <-chan time.Time { return time.After(Limit) }

// Receive returns what arrives on the channel, or the zero value when the channel is closed. It fails the test when nothing
// arrives; what names the thing that is waited for.
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

// Until waits until the condition holds, and fails the test when it never does; what names the condition.
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

// UntilNoError waits until the check returns no error, and fails the test with the last error when it never does.
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
