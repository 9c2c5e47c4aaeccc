package control_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
)

// TestCreatesOnce checks that the same request under the same key gets the same response, and runs
// once.
func TestCreatesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.one.token["admin"]
	create := func(key, name string) answer {
		return w.call(admin, http.MethodPost, "/v1/apps", map[string]any{"name": name}, "Idempotency-Key", key)
	}
	first, again := create("k1", "hello"), create("k1", "hello")
	if first.Status != http.StatusCreated || again.Status != first.Status || again.Body != first.Body {
		t.Errorf("first %d %s, again %d %s", first.Status, first.Body, again.Status, again.Body)
	}
	w.refusedAs(create("k1", "other"), http.StatusConflict, "idempotency_key_reused")
	w.refusedAs(create("k2", "hello"), http.StatusConflict, "exists")
	w.refusedAs(create("", "hello"), http.StatusConflict, "exists")
	w.refusedAs(create(strings.Repeat("k", 129), "long"), http.StatusBadRequest, "bad_request")
	if got := create(strings.Repeat("k", 128), "long"); got.Status != http.StatusCreated {
		t.Errorf("a key of 128 characters: %d %s", got.Status, got.Body)
	}
	// A key belongs to one route: the same body on another route is a different request.
	w.refusedAs(w.call(admin, http.MethodPost, "/v1/installs", map[string]any{"name": "hello", "app": "hello"},
		"Idempotency-Key", "k1"), http.StatusConflict, "idempotency_key_reused")
	if n := w.text("select count(*)::text from apps where org_id = $1 and name = 'hello'", w.one.org.ID); n != "1" {
		t.Errorf("there are %s apps", n)
	}
	if n := w.text(
		"select count(*)::text from audit_events where org_id = $1 and action = 'app.create'", w.one.org.ID,
	); n != "2" {
		t.Errorf("the audit has %s creates, want one for each app", n)
	}
}

// TestOldAnswersAreForgotten checks that stored responses expire.
func TestOldAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(key, name string) {
		w.call(w.one.token["admin"], http.MethodPost, "/v1/apps", map[string]any{"name": name}, "Idempotency-Key", key)
	}
	create("old", "one")
	create("recent", "two")
	w.exec("update idempotency_keys set created_at = now() - interval '8 days' where key = 'old'")
	create("new", "three")
	if keys := w.texts("select key from idempotency_keys order by key"); !slices.Equal(keys,
		[]string{"new", "recent"}) {
		t.Errorf("the answers to %v are kept", keys)
	}
}

// TestCreatesAreLookedAt checks that a new app and a new install are due, so that a lost request to
// reconcile them has no lasting effect, and that an app whose watch was polled for another app has
// its config read.
func TestCreatesAreLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.app("hello", appconfig.App{})
	for _, n := range []struct {
		path string
		body map[string]any
	}{{"/v1/apps", map[string]any{"name": "other"}}, {"/v1/installs", map[string]any{"name": "acme", "app": "hello"}}} {
		if got := w.call(w.one.token["admin"], http.MethodPost, n.path, n.body); got.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", n.path, got.Status, got.Body)
		}
	}
	if due := w.texts("select kind from due order by kind"); !slices.Equal(due, []string{"app", "install"}) {
		t.Errorf("due are %v", due)
	}
}

// TestRefusedCreateKeepsNoAnswer checks that a refused request can be repeated under its key once
// its fault is fixed.
func TestRefusedCreateKeepsNoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := map[string]any{
		"app": "hello", "name": "acme", "inputs": []any{map[string]any{"name": "region", "value": "eu"}},
	}
	create := func() answer {
		return w.call(w.one.token["operator"], http.MethodPost, "/v1/installs", body, "Idempotency-Key", "k")
	}
	w.refusedAs(create(), http.StatusNotFound, "not_found")
	config := hello("web")
	config.Inputs = config.Inputs[:1]
	w.one.app("hello", config)
	if got := create(); got.Status != http.StatusCreated {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestConcurrentCreatesUnderOneKey checks that one of several concurrent requests runs and all get
// its response.
func TestConcurrentCreatesUnderOneKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := hello("web")
	config.Inputs = config.Inputs[:1]
	w.one.app("hello", config)
	for path, body := range map[string]map[string]any{
		"/v1/apps": {"name": "many"},
		"/v1/installs": {
			"app": "hello", "name": "many", "inputs": []any{map[string]any{"name": "region", "value": "eu"}},
		},
	} {
		answers := make([]answer, 8)
		var group sync.WaitGroup
		for i := range answers {
			group.Go(func() {
				answers[i] = w.call(w.one.token["admin"], http.MethodPost, path, body, "Idempotency-Key", "k"+path)
			})
		}
		group.Wait()
		for i, a := range answers {
			if a.Status != http.StatusCreated || a.Body != answers[0].Body {
				t.Errorf("POST %s, answer %d: %d %s", path, i, a.Status, a.Body)
			}
		}
	}
	for _, table := range []string{"apps", "installs", "runners"} {
		if n := w.text(
			fmt.Sprintf("select count(*)::text from %s where org_id = $1 and name = 'many'", table), w.one.org.ID,
		); n != "1" {
			t.Errorf("there are %s %s", n, table)
		}
	}
}

// TestConcurrentOtherRequestUnderOneKey checks that of two different concurrent requests under one
// key, one runs and the other is refused.
func TestConcurrentOtherRequestUnderOneKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answers := make([]answer, 6)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answers[i] = w.call(w.one.token["admin"], http.MethodPost, "/v1/apps",
				map[string]any{"name": fmt.Sprint("app", i)}, "Idempotency-Key", "k")
		})
	}
	group.Wait()
	created := 0
	for _, a := range answers {
		if a.Status == http.StatusCreated {
			created++
			continue
		}
		w.refusedAs(a, http.StatusConflict, "idempotency_key_reused")
	}
	if n := w.text("select count(*)::text from apps where org_id = $1", w.one.org.ID); created != 1 || n != "1" {
		t.Errorf("%d were answered as created, and there are %s apps", created, n)
	}
}

// TestRememberedAnswerHidesItsSecret checks that the same request gets the registration token of an
// install's new runner again, but that the database does not contain it in plain text.
func TestRememberedAnswerHidesItsSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := hello("web")
	config.Inputs = nil
	w.one.app("hello", config)
	create := func() api.CreatedInstall {
		got, err := w.one.as("operator").CreateInstallWithResponse(t.Context(),
			&api.CreateInstallParams{IdempotencyKey: "k"}, api.NewInstall{App: "hello", Name: "acme"})
		must(t, err)
		if got.JSON201 == nil {
			t.Fatalf("%d %s", got.StatusCode(), got.Body)
		}
		return *got.JSON201
	}
	first, again := create(), create()
	secret := first.Runner.RegistrationToken
	if secret == "" || again.Runner.RegistrationToken != secret {
		t.Errorf("the token is %q, then %q", secret, again.Runner.RegistrationToken)
	}
	if rows := w.rows(""); strings.Contains(rows, secret) {
		t.Error("the registration token is in a row")
	}
	if _, err := jobstest.Register(
		t.Context(), w.runners, secret, w.key, api.Registration{Version: "1", Capacity: 1},
	); err != nil {
		t.Errorf("the token is not good: %v", err)
	}
}
