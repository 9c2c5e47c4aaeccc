package control_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestAnAppIsDeleted checks that it is deleted with all its data once it has no installs, and that
// its builds are cancelled.
func TestAnAppIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	path, admin := "/v1/apps/"+w.one.mark+"-app", w.one.token["admin"]
	p := w.refusedAs(w.call(admin, http.MethodDelete, path, nil), http.StatusConflict, "in_use")
	if !strings.Contains(p.Title, w.one.mark+"-inst") || !strings.Contains(p.Detail, "nuon installs forget") {
		t.Errorf("said %q, %q", p.Title, p.Detail)
	}
	if got := w.call(
		admin, http.MethodDelete, "/v1/installs/"+w.one.ids["install"]+"?force=true", nil,
	); got.Status != http.StatusNoContent {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	w.exec("update builds set status = 'queued', job_id = 'job_b' where id = $1", w.one.ids["build"])
	w.one.add("jobs", "id", "job_b", "runner_id", w.one.ids["runner"], "kind", "build", "status", "queued",
		"owner_kind", "build", "owner_id", w.one.ids["build"], "spec", "{}", "reason", "r")
	w.one.add("due", "kind", "app", "id", w.one.ids["app"], "at", "2026-01-01")
	if got := w.call(admin, http.MethodDelete, path, nil); got.Status != http.StatusNoContent || got.Body != "" {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	w.refusedAs(w.call(admin, http.MethodDelete, path, nil), http.StatusNotFound, "not_found")
	for _, table := range []string{"apps", "app_versions", "components", "component_inputs", "builds"} {
		if n := w.text("select count(*)::text from " + table); n != "0" {
			t.Errorf("%s has %s rows", table, n)
		}
	}
	if status := w.text("select status from jobs where id = 'job_b'"); status != "cancelled" {
		t.Errorf("its build is %s", status)
	}
	if n := w.text("select count(*)::text from due where kind = 'app'"); n != "0" {
		t.Errorf("it is still due %s times", n)
	}
	// The name is free, and the repository is still known.
	if got := w.call(
		admin, http.MethodPost, "/v1/apps", map[string]any{"name": w.one.mark + "-app"},
	); got.Status != http.StatusCreated {
		t.Errorf("made again: %d %s", got.Status, got.Body)
	}
}

// TestAnAppIsNotDeletedUnderAnInstall checks an install that is created at the same time: one of
// the two requests fails.
func TestAnAppIsNotDeletedUnderAnInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := hello("web")
	plain.Inputs = nil
	for range 8 {
		name := strings.ReplaceAll(id.New("app"), "_", "-")
		w.one.app(name, plain)
		var group sync.WaitGroup
		var made, gone answer
		group.Go(func() {
			made = w.call(w.one.token["admin"], http.MethodPost, "/v1/installs",
				map[string]any{"app": name, "name": name})
		})
		group.Go(func() { gone = w.call(w.one.token["admin"], http.MethodDelete, "/v1/apps/"+name, nil) })
		group.Wait()
		switch {
		case made.Status == http.StatusCreated && gone.Status == http.StatusConflict:
		case made.Status/100 == 4 && gone.Status == http.StatusNoContent:
		default:
			t.Errorf("made: %d %s, deleted: %d %s", made.Status, made.Body, gone.Status, gone.Body)
		}
	}
}

// TestAnInstallIsNotForgottenDuringAnApply checks that this also holds with --force, because its
// runner could not deliver the result. Jobs that have not started are cancelled with the install.
func TestAnInstallIsNotForgottenDuringAnApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	path, admin := "/v1/installs/"+w.one.ids["install"]+"?force=true", w.one.token["admin"]
	for job, kind := range map[string]string{"job_apply": "apply", "job_plan": "plan"} {
		w.one.add("jobs", "id", job, "runner_id", w.one.ids["runner"], "kind", kind, "status",
			map[string]string{"apply": "running", "plan": "queued"}[kind],
			"owner_kind", "step", "owner_id", "stp_"+kind, "install_id", w.one.ids["install"],
			"spec", "{}", "reason", "r")
	}
	p := w.refusedAs(w.call(admin, http.MethodDelete, path, nil), http.StatusConflict, "at_work")
	if runner := w.one.mark + "-runner"; !strings.Contains(p.Title, "runner "+runner+" is running an apply") ||
		!strings.Contains(p.Detail, "nuon runners replace "+runner) {
		t.Errorf("said %q, %q", p.Title, p.Detail)
	}
	if status := w.text("select status from jobs where id = 'job_plan'"); status != "queued" {
		t.Errorf("the refusal left a plan that is %s", status)
	}
	w.exec("update jobs set status = 'succeeded', ended_at = now() where id = 'job_apply'")
	if got := w.call(admin, http.MethodDelete, path, nil); got.Status != http.StatusNoContent {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if status := w.text("select status from jobs where id = 'job_plan'"); status != "cancelled" {
		t.Errorf("its plan is %s", status)
	}
}

// TestARunnerIsDeleted checks that it can be deleted once no install names it and it has no jobs in
// flight; builds that it has not started move to another.
func TestARunnerIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	admin := w.one.token["admin"]
	p := w.refusedAs(w.call(admin, http.MethodDelete, "/v1/runners/"+w.one.mark+"-runner", nil),
		http.StatusConflict, "in_use")
	if !strings.Contains(p.Title, w.one.mark+"-app/"+w.one.mark+"-inst") ||
		!strings.Contains(p.Detail, "nuon runners replace") {
		t.Errorf("said %q, %q", p.Title, p.Detail)
	}
	builder, registration := w.one.runner("builder", "build", false)
	registered, err := jobstest.Register(t.Context(), w.runners, registration, w.key,
		api.Registration{Version: "1", Capacity: 1})
	must(t, err)
	for job, status := range map[string]string{
		"job_ended": "succeeded", "job_queued": "queued", "job_running": "running",
	} {
		w.one.add("jobs", "id", job, "runner_id", builder.ID, "kind", "build", "status", status, "owner_kind", "build",
			"owner_id", "bld_"+job, "spec", "{}", "reason", "r")
	}
	w.exec("update jobs set ended_at = now() where id = 'job_ended'")
	w.exec("update builds set job_id = 'job_ended' where id = $1", w.one.ids["build"])
	p = w.refusedAs(w.call(admin, http.MethodDelete, "/v1/runners/builder", nil), http.StatusConflict, "in_use")
	if !strings.Contains(p.Title, "one job") {
		t.Errorf("said %q", p.Title)
	}
	if n := w.text(
		"select count(*)::text from jobs where runner_id = $1", builder.ID,
	); n != "3" || w.moved.Load() != 0 {
		t.Errorf("a refusal left %s jobs and moved builds %d times", n, w.moved.Load())
	}
	w.exec("update jobs set status = 'succeeded', ended_at = now() where id = 'job_running'")
	if got := w.call(admin, http.MethodDelete, "/v1/runners/"+builder.ID, nil); got.Status != http.StatusNoContent {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if n := w.text(
		"select count(*)::text from builds where job_id is null and id = $1", w.one.ids["build"],
	); n != "1" || w.moved.Load() != 1 {
		t.Errorf("%s builds without a log, moved %d times", n, w.moved.Load())
	}
	w.refusedAs(w.call(admin, http.MethodGet, "/v1/runners/builder", nil), http.StatusNotFound, "not_found")
	if _, err := w.runners.Authenticate(t.Context(), registered.RunnerKey); err == nil {
		t.Error("its key still opens something")
	}
}

// TestACredentialIsDeleted checks that it can be deleted once no repository uses it.
func TestACredentialIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	path, admin := "/v1/credentials/"+w.one.mark+"-cred", w.one.token["admin"]
	w.exec("update watches set credential_id = $1", w.one.ids["credential"])
	p := w.refusedAs(w.call(admin, http.MethodDelete, path, nil), http.StatusConflict, "in_use")
	if !strings.Contains(p.Title, w.one.mark+"-app") {
		t.Errorf("said %q", p.Title)
	}
	// A component's repository also counts, while the component is part of the app.
	w.exec("update apps set watch_id = null")
	w.exec("update components set watch_id = $1", w.one.ids["watch"])
	w.refusedAs(w.call(admin, http.MethodDelete, path, nil), http.StatusConflict, "in_use")
	w.exec("update components set present = false")
	if got := w.call(admin, http.MethodDelete, path, nil); got.Status != http.StatusNoContent {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	w.refusedAs(w.call(admin, http.MethodDelete, path, nil), http.StatusNotFound, "not_found")
	w.refusedAs(w.call(admin, http.MethodPost, "/v1/apps", map[string]any{
		"name": "x", "repository": "https://git.example/x", "credential": w.one.ids["credential"],
	}),
		http.StatusNotFound, "not_found")
}

// TestACredentialIsNotDeletedUnderAnApp checks an app that starts to use it at the same time: the
// transaction that creates the app locks the credential until it commits.
func TestACredentialIsNotDeletedUnderAnApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	holding, done := make(chan struct{}), make(chan answer)
	go func() {
		<-holding
		done <- w.call(w.one.token["admin"], http.MethodDelete, "/v1/credentials/"+w.one.ids["credential"], nil)
	}()
	must(t, w.one.in(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockCredential(ctx, tx.Org, w.one.ids["credential"]); err != nil {
			return err
		}
		close(holding)
		w.eventually(func() bool {
			return w.text(
				"select count(*)::text from pg_locks where not granted and locktype in ('transactionid', 'tuple')",
			) != "0"
		})
		if err := tx.AddWatch(ctx, store.AddWatchParams{
			OrgID: tx.Org, ID: "wat_new", URL: "https://git.example/new", Ref: "main",
			CredentialID: w.one.ids["credential"],
		}); err != nil {
			return err
		}
		_, err := tx.AddApp(ctx, store.AddAppParams{
			OrgID: tx.Org, ID: "app_new", Name: "new", WatchID: ptr("wat_new"), Directory: ".",
		})
		return err
	}))
	w.refusedAs(<-done, http.StatusConflict, "in_use")
}

// TestWebhooksAreListedAndDeleted checks that they are listed without their secrets, with the time
// of the last delivery, and that a deleted one accepts no more.
func TestWebhooksAreListedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := w.one.as("admin").CreateWebhookWithResponse(t.Context(), api.NewWebhook{})
	must(t, err)
	hook := made.JSON201
	list := func() api.KnownWebhook {
		t.Helper()
		got := w.call(w.one.token["viewer"], http.MethodGet, "/v1/webhooks", nil)
		var l api.WebhookList
		if json.Unmarshal([]byte(got.Body), &l) != nil || len(l.Items) != 1 ||
			strings.Contains(got.Body, hook.Secret) || l.Items[0].Path != hook.Path {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return l.Items[0]
	}
	if known := list(); !known.LastDeliveryAt.IsZero() || known.CreatedAt.IsZero() {
		t.Errorf("before a delivery: %+v", known)
	}
	if got := w.deliver(hook.Path, hook.Secret, "{}"); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if known := list(); known.LastDeliveryAt.IsZero() {
		t.Errorf("after a delivery: %+v", known)
	}
	if got := w.call(
		w.one.token["admin"], http.MethodDelete, "/v1/webhooks/"+hook.ID, nil,
	); got.Status != http.StatusNoContent {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	w.refusedAs(w.deliver(hook.Path, hook.Secret, " {}"), http.StatusUnauthorized, "unauthorized")
	w.refusedAs(w.call(w.one.token["admin"], http.MethodDelete, "/v1/webhooks/"+hook.ID, nil),
		http.StatusNotFound, "not_found")
}
