package control_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// TestEveryWrongTokenLooksTheSame checks that the response does not reveal whether an org, a token
// or a kind of token exists.
func TestEveryWrongTokenLooksTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	past := time.Now().Add(-time.Second)
	runner, registration := w.one.runner("a", "install", false)
	registered, err := jobstest.Register(t.Context(), w.runners, registration, w.key,
		api.Registration{Version: "1", Capacity: 1})
	must(t, err)
	keys, err := w.store.Tokens(t.Context())
	must(t, err)
	attempt, _ := keys.Mint(token.Attempt, w.one.org.ID, "job_1", "1")
	unknownOrg, _ := keys.Mint(token.Control, "org_nobody")
	unknown, _ := keys.Mint(token.Control, w.one.org.ID)
	forged, _ := token.NewKeys([]byte("a guess")).Mint(token.Control, w.one.org.ID)
	good := w.one.token["admin"]
	_, ofTwo, _ := strings.Cut(w.two.token["admin"], ".")
	wrong := map[string]string{
		"none": "", "garbage": "Bearer garbage", "of another scheme": "Basic " + good, "empty": "Bearer ",
		"of a runner": "Bearer " + registered.RunnerKey, "of a registration": "Bearer " + registration,
		"of an attempt": "Bearer " + attempt,
		"expired":       "Bearer " + w.one.mint("admin", &past, nil),
		"revoked":       "Bearer " + w.one.mint("admin", nil, &past),
		"unknown":       "Bearer " + unknown, "forged": "Bearer " + forged, "of no org": "Bearer " + unknownOrg,
		"of another org under this one's name": "Bearer nuon_" + w.one.org.ID + "." + ofTwo,
		"with a runner as its part":            "Bearer nuon_" + w.one.org.ID + "." + runner.ID + "." + ofTwo,
		"cut short":                            "Bearer " + good[:len(good)-1],
		"with more after it":                   "Bearer " + good + "A",
		"with spaces":                          "Bearer  " + good, "not UTF-8": "Bearer nuon_\xff." + ofTwo,
		"very long": "Bearer nuon_" + strings.Repeat("a", 100_000),
	}
	want := w.call("", http.MethodGet, "/v1/whoami", nil)
	if p := w.refusedAs(want, http.StatusUnauthorized, "unauthorized"); p.Detail == "" {
		t.Error("the refusal does not say what to do")
	}
	for name, header := range wrong {
		got := w.call("", http.MethodGet, "/v1/whoami", nil, "Authorization", header)
		if got.Status != want.Status || got.Body != want.Body ||
			got.Header.Get("WWW-Authenticate") != want.Header.Get("WWW-Authenticate") {
			t.Errorf("a token that is %s: %d %s, want %d %s", name, got.Status, got.Body, want.Status, want.Body)
		}
	}
	if got := w.call(good, http.MethodGet, "/v1/whoami", nil); got.Status != http.StatusOK {
		t.Errorf("the good token: %d %s", got.Status, got.Body)
	}
	soon := time.Now().Add(time.Hour)
	if got := w.call(w.one.mint("viewer", &soon, nil), http.MethodGet, "/v1/whoami", nil); got.Status != http.StatusOK {
		t.Errorf("a token that has not expired: %d %s", got.Status, got.Body)
	}
}

// TestNoRouteWithoutToken also checks routes and methods that do not exist: a request without a
// token must not reveal which exist.
func TestNoRouteWithoutToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range operations(t) {
		got := w.call("", op.Method, op.Path, `{"this": is not JSON`)
		w.refusedAs(got, http.StatusUnauthorized, "unauthorized")
	}
	w.refusedAs(w.call("", http.MethodGet, "/v1/none", nil), http.StatusUnauthorized, "unauthorized")
	w.refusedAs(w.call("", http.MethodPut, "/v1/apps", nil), http.StatusUnauthorized, "unauthorized")
	if got := w.call("", http.MethodGet, "/healthz", nil); got.Status != http.StatusOK {
		t.Errorf("healthz: %d", got.Status)
	}
}

func TestWhoami(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, role := range roles {
		got, err := w.two.as(role).WhoamiWithResponse(t.Context())
		must(t, err)
		want := api.Whoami{
			Org: w.two.org.Name, OrgID: w.two.org.ID, Actor: w.two.mark + "-" + role, Role: role, ServerVersion: "test",
		}
		if got.JSON200 == nil || *got.JSON200 != want {
			t.Errorf("%s: %s, want %+v", role, got.Body, want)
		}
		if got.HTTPResponse.Header.Get("Cache-Control") != "no-store" ||
			got.HTTPResponse.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers: %v", got.HTTPResponse.Header)
		}
	}
}

// TestDatabaseThatIsAway checks that a failed database is a server error and not reported as a
// wrong token.
func TestDatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.Close()
	got := w.call(w.one.token["admin"], http.MethodGet, "/v1/whoami", nil)
	w.refusedAs(got, http.StatusServiceUnavailable, "database_away")
	if got.Header.Get("WWW-Authenticate") != "" {
		t.Error("a good token is called wrong")
	}
}
