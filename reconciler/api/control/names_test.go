package control_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// TestNamesAndIDs checks that every name of an object leads to the same object.
func TestNamesAndIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	viewer, m := w.one.token["viewer"], w.one.mark
	for _, pair := range [][]string{
		{"/v1/apps/" + w.one.ids["app"], "/v1/apps/" + m + "-app"},
		{
			"/v1/installs/" + w.one.ids["install"], "/v1/installs/" + m + "-inst",
			"/v1/installs/" + url.PathEscape(m+"-app/"+m+"-inst"),
		},
		{
			"/v1/builds?app=" + w.one.ids["app"], "/v1/builds?app=" + m + "-app",
			"/v1/builds?app=" + m + "-app&component=" + m + "-web",
			"/v1/builds?app=" + m + "-app&component=" + w.one.ids["component"],
		},
		{"/v1/installs", "/v1/installs?app=" + m + "-app", "/v1/installs?app=" + w.one.ids["app"]},
		{
			"/v1/workflows", "/v1/workflows?install=" + m + "-inst",
			"/v1/workflows?install=" + m + "-app/" + m + "-inst&status=succeeded",
		},
		{"/v1/approvals", "/v1/approvals?install=" + w.one.ids["install"], "/v1/approvals?status=waiting"},
	} {
		first := w.call(viewer, http.MethodGet, pair[0], nil)
		if first.Status != http.StatusOK || !strings.Contains(first.Body, m) {
			t.Errorf("%s: %d %s", pair[0], first.Status, first.Body)
		}
		for _, other := range pair[1:] {
			if got := w.call(viewer, http.MethodGet, other, nil); got.Body != first.Body {
				t.Errorf("%s: %d %s\nwant what %s gives: %s", other, got.Status, got.Body, pair[0], first.Body)
			}
		}
	}
	for _, none := range []string{"/v1/apps/no", "/v1/installs/no", "/v1/installs/no%2Fno", "/v1/builds/no",
		"/v1/builds?app=no", "/v1/installs?app=no", "/v1/workflows/no",
		"/v1/workflows?install=no", "/v1/workflows/no/events", "/v1/approvals/no", "/v1/jobs/no", "/v1/jobs/no/logs",
		"/v1/sealing-key?install=no",
		"/v1/explain/app/no", "/v1/explain/build/no", "/v1/explain/revision/no", "/v1/explain/install/no",
		"/v1/explain/workflow/no", "/v1/explain/plan/no"} {
		if p := w.refusedAs(
			w.call(viewer, http.MethodGet, none, nil), http.StatusNotFound, "not_found",
		); !strings.Contains(p.Title, `"no`) {
			t.Errorf("%s: %q does not say what is not there", none, p.Title)
		}
	}
}

// TestAmbiguousInstallName checks that the error for a name that two apps use lists names that can
// be typed.
func TestAmbiguousInstallName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, _ := w.one.runner("shared", "install", true)
	for _, app := range []string{"red", "blue"} {
		appID := w.one.app(app, hello("web"))
		w.one.add("installs", "id", "ins_"+app, "app_id", appID, "name", "acme", "runner_id", r.ID)
	}
	operator := w.one.token["admin"]
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/v1/installs/acme", ""}, {"PATCH", "/v1/installs/acme", "{}"}, {"DELETE", "/v1/installs/acme", ""},
		{"GET", "/v1/workflows?install=acme", ""},
		{"POST", "/v1/installs/acme/workflows", `{"kind":"deploy"}`}, {"GET", "/v1/explain/install/acme", ""},
		{"GET", "/v1/sealing-key?install=acme", ""},
	} {
		p := w.refusedAs(w.call(operator, ask.method, ask.path, ask.body), http.StatusConflict, "ambiguous")
		if !strings.Contains(p.Detail, "red/acme") || !strings.Contains(p.Detail, "blue/acme") {
			t.Errorf("%s %s: %q does not say which there are", ask.method, ask.path, p.Detail)
		}
	}
	for _, app := range []string{"red", "blue"} {
		got := w.call(operator, http.MethodGet, "/v1/installs/"+app+"%2Facme", nil)
		if !strings.Contains(got.Body, "ins_"+app) {
			t.Errorf("%s/acme: %d %s", app, got.Status, got.Body)
		}
	}
}

// TestBadNames checks that a refused name gets an immediate error with the rule.
func TestBadNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.app("hello", hello("web"))
	admin := w.one.token["admin"]
	for _, name := range []string{"", "Hello", "a b", "a/b", "ü", "a.b", strings.Repeat("a", 64), "../x", "a\nb"} {
		for path, body := range map[string]any{
			"/v1/apps":     map[string]any{"name": name},
			"/v1/installs": map[string]any{"name": name, "app": "hello"},
			"/v1/credentials": map[string]any{
				"name": name, "password": w.sealed(seal.CredentialContext(w.one.org.ID, name), w.key.Recipient(), "p"),
			},
		} {
			p := w.refusedAs(w.call(admin, http.MethodPost, path, body), http.StatusUnprocessableEntity, "bad_name")
			if !strings.Contains(p.Detail, "63") {
				t.Errorf("POST %s: %q does not give the rule", path, p.Detail)
			}
		}
	}
}

// TestNameLikeAnID checks that no record gets a name in the form of an id of its kind, because requests find records by
// either. If another install has the id of an install as its name all the same, the id finds its own install.
func TestNameLikeAnID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	helloID, appID := w.one.app("hello", hello("web")), w.one.app("other", hello("web"))
	admin, name := w.one.token["admin"], id.New("crd")
	for path, body := range map[string]any{
		"/v1/apps":     map[string]any{"name": id.New("app")},
		"/v1/installs": map[string]any{"name": id.New("ins"), "app": "hello"},
		"/v1/credentials": map[string]any{
			"name": name, "password": w.sealed(seal.CredentialContext(w.one.org.ID, name), w.key.Recipient(), "p"),
		},
		"/v1/runners": map[string]any{"name": id.New("run"), "kind": "install"},
	} {
		got := w.call(admin, http.MethodPost, path, body)
		if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "form of an id") ||
			!strings.Contains(strings.ToLower(got.Body), "choose ") {
			t.Errorf("POST %s: %d %s", path, got.Status, got.Body)
		}
	}

	r, _ := w.one.runner("shared", "install", true)
	victim := id.New("ins")
	w.one.add("installs", "id", victim, "app_id", helloID, "name", "acme", "runner_id", r.ID)
	w.one.add("installs", "id", "ins_imposter", "app_id", appID, "name", victim, "runner_id", r.ID)
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		var body any
		if method == http.MethodPatch {
			body = api.InstallChange{Labels: map[string]string{"tier": "gold"}}
		}
		if got := w.call(admin, method, "/v1/installs/"+victim, body); got.Status != http.StatusOK ||
			!strings.Contains(got.Body, `"name":"acme"`) {
			t.Errorf("%s: %d %s", method, got.Status, got.Body)
		}
	}
	if named := w.text("select name from installs where labels ? 'tier'"); named != "acme" {
		t.Errorf("the label is at %s", named)
	}
	for key, want := range map[string]string{"other/" + victim: "ins_imposter", "hello/acme": victim} {
		got := w.call(admin, http.MethodGet, "/v1/installs/"+url.PathEscape(key), nil)
		if !strings.Contains(got.Body, `"id":"`+want+`"`) {
			t.Errorf("%s: %d %s", key, got.Status, got.Body)
		}
	}

	app, runner := id.New("app"), id.New("run")
	w.one.add("apps", "id", "app_imposter", "name", app)
	w.one.add("apps", "id", app, "name", "victim")
	w.one.add("runners", "id", "run_imposter", "name", runner, "kind", "install")
	w.one.add("runners", "id", runner, "name", "victim", "kind", "install")
	for _, path := range []string{"/v1/apps/" + app, "/v1/runners/" + runner} {
		got := w.call(admin, http.MethodGet, path, nil)
		if got.Status != http.StatusOK || !strings.Contains(got.Body, `"name":"victim"`) {
			t.Errorf("GET %s: %d %s", path, got.Status, got.Body)
		}
	}
}
