package screentest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestStillness ends a wait after rounds without a change of the screen, and after nothing else.
func TestStillness(t *testing.T) {
	plane, rounds := Counted(http.NotFoundHandler())
	ask := func(n int) {
		for range n {
			plane.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}
	}
	ask(5)
	var s stillness
	for range 1000 { // a slow machine: no request was answered since
		if s.over(10, rounds()) {
			t.Fatal("a wait ended without a round")
		}
	}
	if ask(maxRounds - 1); s.over(10, rounds()) {
		t.Error("a wait ended too early")
	}
	if ask(maxRounds); s.over(11, rounds()) {
		t.Error("a wait ended although the screen changed")
	}
	if ask(maxRounds); !s.over(11, rounds()) {
		t.Error("a screen that never changes keeps the test waiting")
	}
}
