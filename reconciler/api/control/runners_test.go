package control_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
)

// TestAMachineIsReplaced checks the steps that a person sees, from one registration to that of the
// next machine.
func TestAMachineIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.one.fill()
	name := w.one.mark + "-runner"
	key, err := seal.NewIdentity()
	must(t, err)
	admin := w.one.as("admin")
	get := func() api.Runner {
		t.Helper()
		got, err := w.one.as("viewer").GetRunnerWithResponse(t.Context(), name)
		must(t, err)
		if got.JSON200 == nil {
			t.Fatalf("runner: %s", got.Body)
		}
		return *got.JSON200
	}
	register := func(token string) {
		t.Helper()
		_, err := jobstest.Register(t.Context(), w.runners, token, key,
			api.Registration{Version: "1", Capacity: 2})
		must(t, err)
	}
	if r := get(); r.Registered || r.KeyID != "" || len(r.Attempts) != 0 {
		t.Errorf("before it registered: %+v", r)
	}
	made, err := admin.CreateRegistrationWithResponse(t.Context(), name)
	must(t, err)
	if made.JSON201 == nil {
		t.Fatalf("token: %s", made.Body)
	}
	register(made.JSON201.RegistrationToken)
	p := w.refusedAs(w.call(w.one.token["admin"], "POST", "/v1/runners/"+name+"/registration", nil),
		http.StatusConflict, "registered")
	if !strings.Contains(p.Detail, "nuon runners replace "+name) {
		t.Errorf("said %q", p.Detail)
	}
	w.exec("update jobs set status = 'running', kind = 'apply' where id = $1", w.one.ids["job"])
	w.exec("update attempts set status = 'expired', lease_until = now() where job_id = $1", w.one.ids["job"])
	if r := get(); !r.Registered || !r.Online || r.KeyID != key.KeyID() || r.KeySince.IsZero() ||
		len(r.Attempts) != 1 || r.Attempts[0].Status != "expired" || r.Attempts[0].Install != w.one.mark+"-inst" {
		t.Errorf("registered: %+v", r)
	}
	w.refusedAs(w.call(w.one.token["admin"], "POST", "/v1/runners/"+name+"/replace", map[string]any{"reason": ""}),
		http.StatusUnprocessableEntity, "no_reason")
	w.refusedAs(w.call(w.one.token["approver"], "POST", "/v1/runners/"+name+"/replace",
		map[string]any{"reason": "burnt"}), http.StatusForbidden, "forbidden")
	w.refusedAs(w.call(w.two.token["admin"], "POST", "/v1/runners/"+name+"/replace",
		map[string]any{"reason": "burnt"}), http.StatusNotFound, "not_found")
	done, err := admin.ReplaceRunnerWithResponse(t.Context(), name, api.Replacement{Reason: "burnt"})
	must(t, err)
	if done.JSON200 == nil || len(done.JSON200.Lost) != 1 || done.JSON200.Lost[0].Job != w.one.ids["job"] {
		t.Fatalf("replaced: %s", done.Body)
	}
	if r := get(); r.Registered || r.Online || r.RegisteredAt.IsZero() || r.KeyID != key.KeyID() ||
		len(r.Attempts) != 0 {
		t.Errorf("replaced: %+v", r)
	}
	if status := w.text("select status from jobs where id = $1", w.one.ids["job"]); status != "lost" {
		t.Errorf("the job is %s", status)
	}
	register(done.JSON200.RegistrationToken)
	if r := get(); !r.Registered {
		t.Errorf("registered again: %+v", r)
	}
}
