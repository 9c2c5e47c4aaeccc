package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
)

// newToken creates a token as an admin of org one.
func (w *world) newToken(name, role string, seconds int64) api.CreatedToken {
	w.Helper()
	n := api.NewToken{Name: name, Role: api.NewTokenRole(role), ExpiresInSeconds: seconds}
	if role == "ci" {
		n.App = "app_ci"
		w.exec("insert into apps (org_id, id, name) values ($1, $2, 'for-ci') on conflict do nothing", w.one.org.ID,
			n.App)
	}
	got, err := w.one.as("admin").CreateTokenWithResponse(w.Context(), n)
	must(w, err)
	if got.JSON201 == nil {
		w.Fatalf("%d %s", got.StatusCode(), got.Body)
	}
	return *got.JSON201
}

// status returns the status code of a request with a token.
func (w *world) status(token string) int {
	w.Helper()
	return w.call(token, http.MethodGet, "/v1/whoami", nil).Status
}

// TestTokenLives checks that a token is created, used, listed without its secret, revoked once, and
// then refused like one that never existed.
func TestTokenLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.newToken("ci", "operator", 3600)
	life := made.Token.ExpiresAt.Sub(made.Token.CreatedAt)
	if life < 58*time.Minute || life > time.Hour+time.Minute || made.Token.CreatedBy != w.one.mark+"-admin" {
		t.Errorf("made %+v", made.Token)
	}
	got := w.call(made.Secret, http.MethodGet, "/v1/whoami", nil)
	if got.Status != http.StatusOK || !strings.Contains(got.Body, `"actor":"ci"`) ||
		!strings.Contains(got.Body, `"role":"operator"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	listed := w.call(w.one.token["admin"], http.MethodGet, "/v1/tokens", nil)
	var list api.TokenList
	must(t, json.Unmarshal([]byte(listed.Body), &list))
	if len(list.Items) != len(roles)+1 || list.Items[0].ID != made.Token.ID || list.Items[0].LastUsedAt.IsZero() ||
		strings.Contains(listed.Body, made.Secret) {
		t.Errorf("listed %s", listed.Body)
	}
	if rows := w.rows(""); strings.Contains(rows, made.Secret) ||
		strings.Contains(rows, made.Secret[len(made.Secret)-20:]) {
		t.Error("the secret is in a row")
	}
	w.refusedAs(w.call(w.one.token["admin"], http.MethodPost, "/v1/tokens", map[string]any{
		"name": "ci", "role": "viewer",
	}), http.StatusConflict, "exists")
	for range 2 {
		if got := w.call(w.one.token["admin"], http.MethodDelete, "/v1/tokens/ci", nil); got.Status != http.StatusOK ||
			!strings.Contains(got.Body, "revoked_at") {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	}
	none := w.call("nuon_"+w.one.org.ID+"."+strings.Repeat("A", 43), http.MethodGet, "/v1/whoami", nil)
	if got := w.call(made.Secret, http.MethodGet, "/v1/whoami", nil); got.Status != http.StatusUnauthorized ||
		got.Body != none.Body {
		t.Errorf("a revoked token: %d %s, and one that never was: %s", got.Status, got.Body, none.Body)
	}
	// The name is free, and refers to the token that has it now.
	again := w.newToken("ci", "viewer", 0)
	if life = again.Token.ExpiresAt.Sub(again.Token.CreatedAt); life < 30*24*time.Hour-time.Minute ||
		life > 30*24*time.Hour+time.Minute {
		t.Errorf("by itself a token lasts %s", life)
	}
	if got := w.call(
		w.one.token["admin"], http.MethodDelete, "/v1/tokens/ci", nil,
	); !strings.Contains(got.Body, again.Token.ID) || w.status(again.Secret) != http.StatusUnauthorized {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestNameOfAnExpiredTokenIsFree checks that the expired token need not be revoked.
func TestNameOfAnExpiredTokenIsFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.newToken("ci", "operator", 3600)
	w.exec("update tokens set expires_at = now() - interval '1 second' where id = $1", old.Token.ID)
	if w.status(old.Secret) != http.StatusUnauthorized {
		t.Error("an expired token opens something")
	}
	if again := w.newToken("ci", "operator", 3600); w.status(again.Secret) != http.StatusOK ||
		w.status(old.Secret) != http.StatusUnauthorized {
		t.Error("the new token does not open anything, or the old one does again")
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, code := range map[string]string{
		`{"name": "Nobody", "role": "viewer"}`:                                                         "bad_name",
		`{"name": "", "role": "viewer"}`:                                                               "bad_name",
		`{"name": "nuon", "role": "viewer"}`:                                                           "bad_name",
		`{"name": "runner acme", "role": "viewer"}`:                                                    "bad_name",
		`{"name": "a", "role": "root"}`:                                                                "bad_role",
		`{"name": "a"}`:                                                                                "bad_role",
		`{"name": "a", "role": "viewer", "expires_in_seconds": 1}`:                                     "bad_expiry",
		`{"name": "a", "role": "viewer", "expires_in_seconds": -5}`:                                    "bad_expiry",
		`{"name": "a", "role": "viewer", "expires_in_seconds": 31708800}`:                              "bad_expiry",
		fmt.Sprintf(`{"name": "a", "role": "viewer", "expires_in_seconds": %d}`, int64(math.MaxInt64)): "bad_expiry",
	} {
		w.refusedAs(w.call(w.one.token["admin"], http.MethodPost, "/v1/tokens", body),
			http.StatusUnprocessableEntity, code)
	}
	if n := w.text("select count(*)::text from tokens where org_id = $1", w.one.org.ID); n != itoa(len(roles)) {
		t.Errorf("there are %s tokens", n)
	}
}

// TestTokenRevokesItself checks that every role may revoke its own token, and only an admin others.
func TestTokenRevokesItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, role := range roles {
		mine, other := w.newToken("mine-"+role, role, 3600), w.newToken("other-"+role, "viewer", 3600)
		want := http.StatusForbidden
		if role == "admin" {
			want = http.StatusOK
		}
		if got := w.call(mine.Secret, http.MethodDelete, "/v1/tokens/"+other.Token.ID, nil); got.Status != want {
			t.Errorf("%s revokes another: %d %s", role, got.Status, got.Body)
		}
		none := w.call(mine.Secret, http.MethodDelete, "/v1/tokens/none", nil)
		if role != "admin" && none.Status != http.StatusForbidden {
			t.Errorf("%s learns which tokens there are: %d", role, none.Status)
		}
		if got := w.call(mine.Secret, http.MethodDelete, "/v1/tokens/mine-"+role, nil); got.Status != http.StatusOK ||
			w.status(mine.Secret) != http.StatusUnauthorized {
			t.Errorf("%s revokes itself: %d %s", role, got.Status, got.Body)
		}
	}
}

// TestReadingWritesLittle checks that the use of a token is recorded at most once in five minutes.
func TestReadingWritesLittle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	used := func() string {
		return w.text("select coalesce(last_used_at::text, '') from tokens where org_id = $1 and role = 'viewer'",
			w.one.org.ID)
	}
	if used() != "" {
		t.Fatal("it was used before")
	}
	w.status(w.one.token["viewer"])
	first := used()
	w.status(w.one.token["viewer"])
	if first == "" || used() != first {
		t.Errorf("used at %q, then at %q", first, used())
	}
	w.exec("update tokens set last_used_at = now() - interval '6 minutes' where org_id = $1 and role = 'viewer'",
		w.one.org.ID)
	old := used()
	if w.status(w.one.token["viewer"]); used() <= old {
		t.Errorf("still noted at %s", used())
	}
}

// TestRevokedTokenFollowsNothing checks that the streams of the revoked token end and those of
// others continue.
func TestRevokedTokenFollowsNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, token api.Token){
		"revoked": func(w *world, token api.Token) {
			if got := w.call(
				w.one.token["admin"], http.MethodDelete, "/v1/tokens/"+token.ID, nil,
			); got.Status != http.StatusOK {
				w.Errorf("%d %s", got.Status, got.Body)
			}
		},
		"run out": func(*world, api.Token) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.one.fill()
			w.exec("update workflows set status = 'running' where id = $1", w.one.ids["workflow"])
			r, _ := w.one.runner("busy", "install", false)
			w.one.add("jobs", "id", "job_busy", "runner_id", r.ID, "kind", "plan", "status",
				string(jobs.JobQueued), "owner_kind", "step", "owner_id", "x", "spec", "{}", "reason", "x")
			w.one.add("shells", "job_id", "job_busy", "token_id", w.one.ids["token"])
			w.one.app("x", appconfig.App{})
			watcher, ctx := w.newToken("watcher", "operator", 3600), testtime.Context(t)
			ended := map[string]chan struct{}{}
			others := map[string]chan struct{}{}
			for _, path := range streamed(t, map[string]string{
				"workflow": w.one.ids["workflow"], "job": "job_busy", "runner": "busy",
			}) {
				// A busy machine may need longer than the token lasts.
				for seconds := 2; ended[path] == nil; seconds *= 2 {
					if name == "run out" {
						w.exec("update tokens set expires_at = now() + $2 * interval '1 second' where id = $1",
							watcher.Token.ID, seconds)
					}
					ended[path] = w.stream(ctx, watcher.Secret, path, name == "run out")
				}
				others[path] = w.stream(ctx, w.one.token["operator"], path, false)
			}
			end(w, watcher.Token)
			for path := range ended {
				select {
				case <-ended[path]:
				case <-ctx.Done():
					t.Errorf("%s is still followed", path)
				}
				select {
				case <-others[path]:
					t.Errorf("%s ended for another token, too", path)
				default:
				}
			}
		})
	}
}

// stream starts a stream and closes the channel when it ends. It returns nil for a refused token,
// if that is allowed.
func (w *world) stream(ctx context.Context, token, path string, mayBeRefused bool) chan struct{} {
	w.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	must(w, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	got, err := http.DefaultClient.Do(r)
	must(w, err)
	if got.StatusCode == http.StatusUnauthorized && mayBeRefused {
		_ = got.Body.Close()
		return nil
	}
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		w.Fatalf("%s: %d %v", path, got.StatusCode, got.Header)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer got.Body.Close() //nolint:errcheck // the stream has ended
		buffer := make([]byte, 1<<10)
		for {
			if _, err := got.Body.Read(buffer); err != nil {
				return
			}
		}
	}()
	return ended
}
