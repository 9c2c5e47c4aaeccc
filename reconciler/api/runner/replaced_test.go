package runner_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// A replaced machine finds its runner key void. What its attempts wrote is accepted with their own
// tokens; a state that does not follow the newest is accepted, too, and reported as contested.
func TestAReplacedMachineDeliversOverHTTP(t *testing.T) {
	s := serve(t, nil)
	runner := s.Runner(t, runners.KindInstall)
	s.Job(t, runner, "apply", s.Component(t, runner))
	ref, token := s.Start(t, runner)
	s.In(t, func(ctx context.Context, tx *store.Tx) error {
		_, err := s.Jobs.Replace(ctx, tx, jobs.Replacement{Runner: runner.Runner, Reason: "burnt"})
		return err
	})
	if a := s.call(
		t, "POST", "/runner/v1/lease", runner.Key, api.LeaseRequest{Free: 1},
	); a.status != http.StatusUnauthorized || a.code(t) != "unknown_token" {
		t.Errorf("lease: %d %s", a.status, a.body)
	}
	state := aState(2)
	for _, step := range []struct {
		serial int64
		digest string
		want   int
	}{
		{2, "a", http.StatusNoContent}, {2, "b", http.StatusAccepted}, {2, "b", http.StatusAccepted},
		{2, "a", http.StatusNoContent},
	} {
		state.Serial, state.Digest = step.serial, step.digest
		if a := s.call(t, "POST", attemptPath(ref, "state"), token, state); a.status != step.want {
			t.Errorf("state %s: %d %s, want %d", step.digest, a.status, a.body, step.want)
		}
	}
	s.ok(t, "POST", attemptPath(ref, "logs"), token, api.LogBatch{Chunks: []api.NewLogChunk{}}, nil)
	s.ok(t, "POST", attemptPath(ref, "result"), token, api.JobResult{Status: api.JobResultStatusSucceeded}, nil)
	for _, closed := range []string{"spec", "state", "state?version=1"} {
		if a := s.call(t, "GET", attemptPath(ref, closed), token, nil); a.status != http.StatusConflict ||
			a.code(t) != "not_running" {
			t.Errorf("GET %s: %d %s", closed, a.status, a.body)
		}
	}
}

// A rotation whose response is lost locks no runner out.
func TestAKeyIsRotatedOverHTTP(t *testing.T) {
	s := serve(t, nil)
	runner := s.Runner(t, runners.KindBuild)
	var lost, next api.RunnerKey
	s.ok(t, "POST", "/runner/v1/key", runner.Key, nil, &lost)
	s.ok(t, "POST", "/runner/v1/key", runner.Key, nil, &next)
	beat := func(key string) int {
		return s.call(t, "POST", "/runner/v1/heartbeat", key, api.Heartbeat{Attempts: []api.AttemptRef{}}).status
	}
	for _, step := range []struct {
		name, key string
		want      int
	}{
		{"the old one", runner.Key, http.StatusOK}, {"the lost one", lost.RunnerKey, http.StatusUnauthorized},
		{"the new one", next.RunnerKey, http.StatusOK},
		{"the old one, after that", runner.Key, http.StatusUnauthorized},
	} {
		if got := beat(step.key); got != step.want {
			t.Errorf("%s: %d, want %d", step.name, got, step.want)
		}
	}
	if kept := s.Text(t, "select r::text from runners r"); strings.Contains(kept, next.RunnerKey) {
		t.Error("a key is kept in clear")
	}
}
