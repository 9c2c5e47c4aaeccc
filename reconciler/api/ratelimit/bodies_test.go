package ratelimit

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// TestBodiesAreBounded checks that what callers read at once is bounded, of each and of all, until their requests
// have ended.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	quota := New(Options{EachBodies: 100, AllBodies: 250})
	read := func(caller string, size int) (release func(), err error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
		release = quota.LimitBody(caller, httptest.NewRecorder(), r)
		got, err := io.ReadAll(r.Body)
		if err == nil && len(got) != size {
			t.Errorf("%s read %d bytes of %d", caller, len(got), size)
		}
		return release, err
	}
	refused := func(caller string, size int) {
		t.Helper()
		release, err := read(caller, size)
		defer release()
		var p problem.Error
		if !errors.As(err, &p) || p.Status != http.StatusTooManyRequests || p.RetryAfter < 1 {
			t.Errorf("%s sends %d bytes: %v", caller, size, err)
		}
	}
	taken := func(caller string, size int) func() {
		t.Helper()
		release, err := read(caller, size)
		if err != nil {
			t.Errorf("%s sends %d bytes: %v", caller, size, err)
		}
		return release
	}
	first := taken("one", 100)
	refused("one", 1)
	taken("one", 0)()
	second := taken("two", 100)
	refused("three", 60)
	third := taken("three", 50)
	refused("four", 1)
	first()
	first() // counts once
	fourth := taken("one", 100)
	refused("four", 1)
	for _, release := range []func(){second, third, fourth} {
		release()
	}
	taken("four", 100)()
	refused("four", 101)
	taken("four", 100)()
}
