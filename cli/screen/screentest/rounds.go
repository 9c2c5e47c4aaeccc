package screentest

import (
	"net/http"
	"sync/atomic"
)

// A test that waits for a text which never comes should not wait for testtime.Limit. How long it may
// take depends on the machine, but not in rounds: once the program has asked its control plane so many
// times without a change of the screen, nothing will change any more.

// maxRounds is the number of answered requests without a change of the screen after which a wait ends.
// The screens ask at least every few seconds, with up to five requests.
const maxRounds = 60

// Counted returns the handler of a fake control plane, and a function that returns the number of
// requests that it has answered (Seat.Rounds).
func Counted(plane http.Handler) (http.Handler, func() int) {
	var answered atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plane.ServeHTTP(w, r)
		answered.Add(1)
	}), func() int { return int(answered.Load()) }
}

// stillness finds that a screen does not change any more.
type stillness struct {
	written int // bytes on the screen at the last change
	round   int // rounds at the last change
	started bool
}

// over reports whether the program has done maxRounds since the screen last changed.
func (s *stillness) over(written, rounds int) bool {
	if !s.started || written != s.written {
		*s = stillness{written, rounds, true}
	}
	return rounds-s.round >= maxRounds
}
