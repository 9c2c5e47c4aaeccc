package control_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestSystemCountsTheCallersOrg checks that work, runners and contested versions are those of the
// caller's org, by status.
func TestSystemCountsTheCallersOrg(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("delete from runners where org_id = any($1)", []string{w.one.org.ID, w.two.org.ID})
	runner := func(o *tenant, id string, values ...any) {
		o.add("runners", append([]any{"id", id, "name", id, "kind", "install"}, values...)...)
	}
	runner(w.one, "fresh")
	runner(w.one, "online", "key_hash", []byte("a"))
	runner(w.one, "off", "key_hash", []byte("b"), "policy", `{"off":true}`)
	runner(w.one, "offline", "key_hash", []byte("c"))
	w.exec("update runners set last_seen = now() - case id when 'offline' then interval '1 day' else interval '0' end " +
		"where id in ('online', 'off', 'offline')")
	job := func(o *tenant, id, status string) {
		o.add("jobs", "id", id, "runner_id", "online", "kind", "plan", "status", status, "owner_kind", "step",
			"owner_id", id, "spec", "{}", "reason", "", "attempt", 1)
		if status == "succeeded" {
			w.exec("update jobs set ended_at = now() where id = $1", id)
		}
	}
	job(w.one, "waits", "queued")
	job(w.one, "over", "succeeded")
	for id, status := range map[string]string{"runs": "running", "silent": "expired"} {
		job(w.one, id, "running")
		w.one.add("attempts", "job_id", id, "number", 1, "runner_id", "online", "status", status,
			"lease_until", "2026-01-01")
	}
	runner(w.two, "online", "key_hash", []byte("a"))
	job(w.two, "waits", "queued")

	answer := w.call(w.one.token["viewer"], http.MethodGet, "/v1/system", nil)
	var s api.System
	if err := json.Unmarshal([]byte(answer.Body), &s); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("%d %s: %v", answer.Status, answer.Body, err)
	}
	if want := (api.RunnerCounts{Online: 1, Offline: 1, Off: 1, Unregistered: 1}); s.Runners != want {
		t.Errorf("the runners are %+v, not %+v", s.Runners, want)
	}
	if want := (api.WorkHealth{JobsWaiting: 1, JobsRunning: 2, AttemptsOutOfContact: 1}); s.Work != want {
		t.Errorf("the work is %+v, not %+v", s.Work, want)
	}
}
