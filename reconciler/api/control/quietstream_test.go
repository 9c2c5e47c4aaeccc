package control

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestQuietStreamReadsNothing checks that comments on a quiet stream cost no read of the workflow, and that
// a notification and the rare check do.
func TestQuietStreamReadsNothing(t *testing.T) {
	rung, alive, look := make(chan struct{}), make(chan time.Time), make(chan time.Time)
	reads, ended := make(chan struct{}, 100), make(chan struct{})
	written := httptest.NewRecorder()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		defer close(ended)
		workflowStream{after: -1}.follow(ctx, written, wakeups{rung: rung, alive: alive, look: look},
			func(context.Context) (api.Workflow, error) {
				reads <- struct{}{}
				return api.Workflow{Revision: 1, Status: api.WorkflowStatusRunning}, nil
			})
	}()
	wake := func(what string, send func()) {
		t.Helper()
		sent := make(chan struct{})
		go func() { defer close(sent); send() }()
		testtime.Receive(t, sent, what)
	}
	for range 10 {
		wake("a comment is sent", func() { alive <- time.Time{} })
	}
	wake("a notification is noticed", func() { rung <- struct{}{} })
	wake("the rare check is noticed", func() { look <- time.Time{} })
	wake("the last comment is sent", func() { alive <- time.Time{} })
	leave()
	testtime.Receive(t, ended, "the stream ends")
	if n := len(reads); n != 3 { // at first, after the notification, and at the check
		t.Errorf("the workflow was read %d times", n)
	}
	if body := written.Body.String(); strings.Count(body, "event: workflow\n") != 1 ||
		strings.Count(body, ": still here\n\n") != 11 {
		t.Errorf("written: %q", body)
	}
}
