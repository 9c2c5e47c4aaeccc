package control_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
)

// ofTheOrg lists the operations that concern the whole org: a token for one app may use none of
// them, regardless of its role. It may use every other operation of the document, and sees only its
// app's data.
var ofTheOrg = []string{
	"listCredentials", "createCredential", "updateCredential", "deleteCredential", "listWebhooks", "createWebhook",
	"getWebhook", "rotateWebhook", "deleteWebhook", "listRepos", "getRepo", "lookAtRepo",
	"listTokens", "createToken", "listAudit", "getSystem", "createApp",
	"listRunners", "getRunner", "createRunner", "deleteRunner", "getRunnerLogs", "createRegistration", "replaceRunner",
	"confirmRunner", "collectRegistry",
}

// TestATokenForOneAppSeesNothingOfAnother calls every operation of the document, as an admin of one
// app, with the objects of another app of the same org, by id and by name. The responses equal
// those to the same requests for objects that never existed, and nothing changes. What it reads of
// its own app shows nothing of an app that the same repository has.
func TestATokenForOneAppSeesNothingOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.one.fillStates()
	other := w.one.sibling("sibling4k8")
	neighbor := &tenant{w: w, org: w.one.org, mark: "neighbor2p8", token: w.one.token, ids: map[string]string{}}
	sharing := neighbor.app("neighbor2p8-app", hello("web"))
	w.exec("update apps set watch_id = $1 where id = $2", w.one.ids["watch"], sharing)
	w.exec("update revisions set outcome = $1 where id = $2", "app neighbor2p8-app: web.toml: neighbor2p8 is unknown\n"+
		"app "+w.one.mark+"-app: version 1 of "+w.one.mark, w.one.ids["revision"])
	bearer := w.one.mintFor("admin")
	w.status(bearer) // records the first use of the token
	never := ghost(other)
	before := w.rows("where org_id = $1", w.one.org.ID)
	for _, id := range ofTheOrg {
		if !slices.ContainsFunc(operations(t), func(op operation) bool { return op.ID == id }) {
			t.Errorf("the document has no %s", id)
		}
	}
	for _, op := range operations(t) {
		nothing := requests(t, op, never)
		for i, r := range requests(t, op, other) {
			for _, accept := range []string{"application/json", "text/event-stream"} {
				got := w.call(bearer, op.Method, r.path, bodies(other)[op.ID], "Accept", accept)
				if slices.Contains(ofTheOrg, op.ID) {
					w.refusedAs(got, http.StatusForbidden, "forbidden")
					continue
				}
				if op.ID == "revokeToken" { // of the org's tokens it may revoke itself
					w.refusedAs(w.call(bearer, op.Method, "/v1/tokens/"+w.one.mark+"-viewer", nil),
						http.StatusForbidden, "forbidden")
					continue
				}
				checkForeign(t, other, op, r, got)
				if len(r.keys) > 0 {
					sameAnswer(t, op, r, got, nothing[i],
						w.call(bearer, op.Method, nothing[i].path, bodies(never)[op.ID], "Accept", accept))
				}
			}
		}
	}
	if after := w.rows("where org_id = $1", w.one.org.ID); after != before {
		t.Errorf("something was changed from\n%s\nto\n%s", before, after)
	}
	outcome := "version 1 of " + w.one.mark
	for _, op := range operations(t) {
		if op.Method != http.MethodGet || slices.Contains(ofTheOrg, op.ID) {
			continue
		}
		for _, r := range requests(t, op, w.one) {
			got := w.call(bearer, op.Method, r.path, nil)
			if strings.Contains(got.Body, neighbor.mark) || strings.Contains(got.Body, other.mark) {
				t.Errorf("%s shows another app: %s", r.path, got.Body)
			}
			if strings.Contains(r.path, "/explain/revision/") && !strings.Contains(got.Body, outcome) {
				t.Errorf("%s does not show %q: %s", r.path, outcome, got.Body)
			}
		}
	}
}

// TestATokenForOneAppReadsIt is the counterpart: every reading operation that it may use returns
// its app's data.
func TestATokenForOneAppReadsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.one.fillStates()
	w.one.sibling("sibling4k8")
	bearers := map[string]string{"viewer": w.one.mintFor("viewer"), "operator": w.one.mintFor("operator")}
	for _, op := range operations(t) {
		if op.Method != http.MethodGet || slices.Contains(ofTheOrg, op.ID) {
			continue
		}
		for _, r := range requests(t, op, w.one) {
			if op.ID == "listBuilds" && !strings.Contains(r.path, "app=") {
				continue
			}
			got := w.call(bearers[needs[op.ID]], op.Method, r.path, nil)
			if got.Status != http.StatusOK ||
				!strings.Contains(got.Body, w.one.mark) && !slices.Contains(markless, op.ID) {
				t.Errorf("%s %s: %d %s", op.Method, r.path, got.Status, got.Body)
			}
		}
	}
}

// TestATokenForOneAppChangesIt checks that an admin of one app may change that app and its installs
// like an admin of the org.
func TestATokenForOneAppChangesIt(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		if op.Method == http.MethodGet || slices.Contains(ofTheOrg, op.ID) || op.ID == "revokeToken" {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.one.fill()
			w.one.fillStates()
			w.exec("update jobs set status = 'failed' where id = $1", w.one.ids["job"])
			change := changes(w)[op.ID]
			if change.before != nil {
				change.before()
			}
			if change.path == "" {
				change.path = op.Path
			}
			bearer := w.one.mintFor("admin")
			// Some changes are tested on an app that is created for them.
			w.exec("update tokens set app_id = coalesce((select id from apps where org_id = $1 and name in ('uploaded', "+
				"'plain', 'unused', 'shown') limit 1), app_id) where org_id = $1 and id = $2",
				w.one.org.ID, w.one.ids["token"])
			w.exec("update shells set token_id = $1", w.one.ids["token"]) // only its starter types
			if got := w.call(bearer, op.Method, change.path, change.body); !change.done(got) {
				t.Errorf("%s %s: %d %s", op.Method, change.path, got.Status, got.Body)
			}
		})
	}
}

// TestATokenForOneAppIsMade checks that an admin of the org creates it, that it shows its app, and
// that it is deleted with its app.
func TestATokenForOneAppIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	appID := w.one.app("shop", appconfig.App{})
	w.two.app("theirs", appconfig.App{})
	admin := w.one.token["admin"]
	create := func(bearer string, n map[string]any) answer { return w.call(bearer, http.MethodPost, "/v1/tokens", n) }
	p := w.refusedAs(create(admin, map[string]any{"name": "ci", "role": "ci"}),
		http.StatusUnprocessableEntity, "no_app")
	if !strings.Contains(p.Detail, "--app") {
		t.Errorf("said %q", p.Detail)
	}
	w.refusedAs(create(admin, map[string]any{"name": "ci", "role": "ci", "app": "none"}),
		http.StatusNotFound, "not_found")
	w.refusedAs(create(admin, map[string]any{"name": "ci", "role": "ci", "app": "theirs"}),
		http.StatusNotFound, "not_found")
	got, err := w.one.as("admin").CreateTokenWithResponse(t.Context(), api.NewToken{
		Name: "ci", Role: "ci", App: appID, ExpiresInSeconds: 3600,
	})
	must(t, err)
	if got.JSON201 == nil || got.JSON201.Token.App != "shop" || got.JSON201.Token.Role != "ci" {
		t.Fatalf("%s", got.Body)
	}
	made := got.JSON201
	if who := w.call(made.Secret, http.MethodGet, "/v1/whoami", nil); !strings.Contains(who.Body, `"app":"shop"`) ||
		!strings.Contains(who.Body, `"role":"ci"`) ||
		!strings.Contains(who.Body, `"expires_at":"`+made.Token.ExpiresAt.Format(time.RFC3339)+`"`) {
		t.Errorf("whoami: %s", who.Body)
	}
	if listed := w.call(admin, http.MethodGet, "/v1/tokens", nil); !strings.Contains(listed.Body, `"app":"shop"`) {
		t.Errorf("listed: %s", listed.Body)
	}
	if all := w.texts(
		"select detail->>'app' from audit_events where action = 'token.create'",
	); len(all) != 1 || all[0] != "shop" {
		t.Errorf("recorded %q", all)
	}
	// Not even an admin of one app may create tokens, not even for that app.
	w.refusedAs(create((&tenant{
		w: w, org: w.one.org, mark: "m", ids: map[string]string{"app": appID},
	}).mintFor("admin"),
		map[string]any{"name": "more", "role": "viewer", "app": "shop"}), http.StatusForbidden, "forbidden")
	if got := w.call(admin, http.MethodDelete, "/v1/apps/shop", nil); got.Status != http.StatusNoContent {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	w.refusedAs(w.call(made.Secret, http.MethodGet, "/v1/whoami", nil), http.StatusUnauthorized, "unauthorized")
}

// TestATokenForOneAppRevokesItself checks that it may revoke no other token.
func TestATokenForOneAppRevokesItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	bearer := w.one.mintFor("admin")
	w.refusedAs(w.call(bearer, http.MethodDelete, "/v1/tokens/"+w.one.mark+"-viewer", nil),
		http.StatusForbidden, "forbidden")
	if got := w.call(bearer, http.MethodDelete, "/v1/tokens/"+w.one.ids["token"], nil); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if w.status(bearer) != http.StatusUnauthorized {
		t.Error("it still opens something")
	}
}

// TestANameMeansTheTokensApp checks that an install name that several apps use is unambiguous for a
// token that sees only one of them.
func TestANameMeansTheTokensApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	other := w.one.app("zebra", hello("web"))
	w.one.add("installs", "id", id.New("ins"), "app_id", other, "name", w.one.mark+"-inst",
		"runner_id", w.one.ids["runner"])
	path := "/v1/installs/" + w.one.mark + "-inst"
	w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, path, nil), http.StatusConflict, "ambiguous")
	if got := w.call(w.one.mintFor("viewer"), http.MethodGet, path, nil); got.Status != http.StatusOK ||
		!strings.Contains(got.Body, w.one.ids["install"]) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestATokenForOneAppReachesNoOtherAccount checks that such a token can use only the runners of its
// app and shared ones, because a runner has the permissions of a customer's account. Other runners
// do not exist for it.
func TestATokenForOneAppReachesNoOtherAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := hello("web")
	plain.Inputs = nil
	theirs := w.one.app("shop", plain)
	w.one.ids["app"] = w.one.app("zebra", plain)
	for _, name := range []string{"own", "theirs", "shared", "new"} {
		w.one.add("runners", "id", id.New("run"), "name", name, "kind", "install", "shared", name == "shared")
	}
	runner := func(name string) string { return w.text("select id from runners where name = $1", name) }
	w.one.add("installs", "id", id.New("ins"), "app_id", theirs, "name", "acme", "runner_id", runner("theirs"))
	w.one.add("installs", "id", id.New("ins"), "app_id", w.one.ids["app"], "name", "acme", "runner_id", runner("own"))
	bearer := w.one.mintFor("admin")
	create := func(bearer, runner string) answer {
		return w.call(bearer, http.MethodPost, "/v1/installs", map[string]any{
			"app": "zebra", "name": "on-" + runner, "runner": runner,
		})
	}
	for _, name := range []string{"theirs", "new", runner("theirs")} {
		w.refusedAs(create(bearer, name), http.StatusNotFound, "not_found")
	}
	for _, name := range []string{"own", "shared"} {
		if got := create(bearer, name); got.Status != http.StatusCreated {
			t.Errorf("on %s: %d %s", name, got.Status, got.Body)
		}
	}
	if got := create(w.one.token["admin"], "new"); got.Status != http.StatusCreated {
		t.Errorf("an admin of all: %d %s", got.Status, got.Body)
	}
}

// TestAnAnswerIsRememberedForTheScopeThatGotIt checks that another's idempotency key returns its
// response only to a caller that sees the created object.
func TestAnAnswerIsRememberedForTheScopeThatGotIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := hello("web")
	plain.Inputs = nil
	w.one.app("shop", plain)
	w.one.ids["app"] = w.one.app("zebra", plain)
	body := map[string]any{"app": "shop", "name": "acme"}
	if got := w.call(
		w.one.token["admin"], http.MethodPost, "/v1/installs", body, "Idempotency-Key", "k",
	); got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	w.refusedAs(w.call(w.one.mintFor("admin"), http.MethodPost, "/v1/installs", body, "Idempotency-Key", "k"),
		http.StatusConflict, "idempotency_key_reused")
}

// TestATokenForOneAppLearnsNothingOfTokens checks that such a token cannot find out by assignments which tokens the org
// has: every token that may not answer gets the same response as none.
func TestATokenForOneAppLearnsNothingOfTokens(t *testing.T) {
	t.Parallel()
	w := asking(t)
	other := w.one.sibling("sibling4k8")
	past := time.Now().Add(-time.Hour)
	mint := func(of *tenant, role string, app, expires, revoked any) string {
		of.mint(role, ptr(time.Now().Add(time.Hour)), nil)
		w.exec("update tokens set app_id = $2, expires_at = $3, revoked_at = $4 where id = $1", of.ids["token"], app, expires,
			revoked)
		return w.text("select name from tokens where id = $1", of.ids["token"])
	}
	names := map[string]string{
		"none": "no-such-token", "a viewer": w.one.mark + "-viewer",
		"an id":    w.text("select id from tokens where name = $1", w.one.mark+"-admin"),
		"expired":  mint(w.one, "approver", nil, past, nil),
		"revoked":  mint(w.one, "approver", nil, nil, past),
		"of other": mint(other, "approver", other.ids["app"], nil, nil),
	}
	mine := mint(w.one, "approver", w.one.ids["app"], nil, nil)
	bearer := w.one.mintFor("approver")
	assign := func(name string) answer {
		return w.call(bearer, http.MethodPut, "/v1/approvals/"+w.one.ids["approval"]+"/assignee",
			map[string]any{"assignee": name})
	}
	said := func(name string) string { return strings.ReplaceAll(assign(name).Body, name, "…") }
	for kind, name := range names {
		p := w.refusedAs(assign(name), http.StatusUnprocessableEntity, "no_approver")
		if got, want := said(name), said(names["none"]); got != want || strings.Contains(p.Detail, "tokens list") {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
	for _, name := range []string{mine, w.one.mark + "-admin"} {
		if got := assign(name); got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}
