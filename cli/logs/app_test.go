package logs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// newAppPlane returns a control plane on which a request for the install job_0 succeeds, and one for job_1 fails.
func newAppPlane(t *testing.T) *plane {
	p := newPlane(t)
	p.jobs = map[string]api.Job{"job_0": {ID: "job_0", Status: api.JobStatusSucceeded},
		"job_1": {ID: "job_1", Status: api.JobStatusFailed, Error: "none of the logs\x1b[2J can be read"}}
	return p
}

// TestApp checks that the request has what the flags say, that the lines of the runner are printed without what it
// says about itself, and that a failure is an error.
func TestApp(t *testing.T) {
	p := newAppPlane(t)
	out, _, end := run(t.Context(), t, "table", "app", "job_0", "web", "--reason", "slow", "--container", "api", "--since",
		"90s", "--tail", "20", "--previous", "--for", "5m", "-f")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	want := api.NewLogRequest{Component: "web", Container: "api", Reason: "slow", SinceSeconds: 90, Tail: 20,
		Previous: true, Follow: true, TimeoutSeconds: 300}
	if p.request != want {
		t.Errorf("requested %+v", p.request)
	}
	if got := out.String(); !strings.Contains(got, "error job_0: two") || strings.Contains(got, "one") {
		t.Errorf("printed %q", got)
	}
	_, _, end = run(t.Context(), t, "table", "app", "job_1", "web", "--reason", "slow")
	if err := end(); err == nil || err.Error() != "none of the logs [2J can be read" {
		t.Errorf("%v", err)
	}
	if len(p.cancelled) > 0 {
		t.Errorf("%v were cancelled", p.cancelled)
	}
}

// TestAppIsCancelled checks that Ctrl-C ends the request on the control plane, too.
func TestAppIsCancelled(t *testing.T) {
	p := newAppPlane(t)
	p.change(func() { p.ended["job_0"] = false })
	ctx, stop := context.WithCancel(t.Context())
	out, _, end := run(ctx, t, "table", "app", "job_0", "web", "--reason", "slow", "-f")
	out.waitFor(t, "two")
	stop()
	if err := end(); !errors.Is(err, exitcode.Interrupted) {
		t.Error(err)
	}
	testtime.Until(t, "it is cancelled", func() bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return slices.Equal(p.cancelled, []string{"job_0"})
	})
}

// TestAppFlags checks that impossible flags are usage errors, and that a request needs a reason.
func TestAppFlags(t *testing.T) {
	newAppPlane(t)
	for _, args := range [][]string{{"--tail", "0"}, {"--tail", "10001"}, {"--for", "2h"}, {"--for", "1ms"},
		{"--since", "yesterday"}, {"--level", "loud"}} {
		_, _, end := run(t.Context(), t, "table", append([]string{"app", "job_0", "web", "--reason", "slow"}, args...)...)
		if err := end(); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, _, end := run(t.Context(), t, "table", "app", "job_0", "web"); !strings.Contains(end().Error(), "reason") {
		t.Error("a request needs no reason")
	}
}
