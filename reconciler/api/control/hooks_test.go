package control_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/forge/forgetest"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// deliver sends a signed body to a webhook's path.
func (w *world) deliver(path, secret, body string) answer {
	w.Helper()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	return w.call("", http.MethodPost, path, body, forge.HeaderTimestamp, now,
		forge.HeaderSignature, forge.Sign(seal.NewSecret([]byte(secret)), now, []byte(body)))
}

// TestWebhooks checks that the path and the secret shown when a webhook is created work together,
// without a token, and that nothing else does.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("insert into due (org_id, kind, id, at) values ($1, 'watch', $2, now() + interval '1 hour')",
		w.one.org.ID, w.one.ids["watch"])
	made, err := w.one.as("admin").CreateWebhookWithResponse(t.Context(), api.NewWebhook{})
	must(t, err)
	hook := made.JSON201
	if hook == nil || !strings.HasPrefix(hook.Path, "/hooks/"+w.one.org.ID+"/") {
		t.Fatalf("%s", made.Body)
	}
	deliver := func(path, secret string) answer { return w.deliver(path, secret, "{}") }
	other := strings.Replace(hook.Path, w.one.org.ID, w.two.org.ID, 1)
	for name, got := range map[string]answer{
		"unsigned":              w.call("", http.MethodPost, hook.Path, "{}"),
		"with a token":          w.call(w.one.token["admin"], http.MethodPost, hook.Path, "{}"),
		"with another secret":   deliver(hook.Path, "x"),
		"under another org":     deliver(other, hook.Secret),
		"to no webhook":         deliver("/hooks/"+w.one.org.ID+"/hok_none", hook.Secret),
		"to no webhook, nobody": deliver("/hooks/org_none/hok_none", ""),
	} {
		t.Run(name, func(t *testing.T) { w.refusedAs(got, http.StatusUnauthorized, "unauthorized") })
	}
	if polls := w.sweep(); len(polls) != 0 {
		t.Errorf("refused deliveries have polled %+v", polls)
	}
	if got := deliver(hook.Path, hook.Secret); got.Status != http.StatusAccepted {
		t.Errorf("a signed delivery: %d %s", got.Status, got.Body)
	}
	if polls := w.sweep(); len(polls) != 1 || polls[0].Watch != w.one.ids["watch"] {
		t.Errorf("it has polled %+v", polls)
	}
	w.refusedAs(w.call("", http.MethodGet, hook.Path, nil), http.StatusMethodNotAllowed, "method_not_allowed")
}

// sweep takes due work, as the program does at intervals, and returns the polls in it.
func (w *world) sweep() (polls []queue.Poll) {
	w.Helper()
	_, err := w.store.ClaimDue(w.Context(), store.ClaimDueOptions{
		Limit: 100, MaxPolls: 100, RetryAfter: time.Hour, Resync: time.Hour,
	}, func(p store.DueItem) river.JobArgs {
		poll := queue.Poll{Org: p.Org, Watch: p.ID}
		if p.Kind == store.DueWatch {
			polls = append(polls, poll)
		}
		return poll
	})
	must(w, err)
	return polls
}

// TestForges checks that the delivery of each forge for a push becomes a revision at once. The same
// delivery again, one with another secret, and one about a repository of another org cause no poll.
// The results are visible to people.
func TestForges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repo := gittest.New(t).Write("a", "0")
	repo.Commit("start")
	server := repo.Serve("", nil)
	page := strings.TrimSuffix(server.URL, ".git")
	observer := observe.New(w.store, w.key, observe.Options{
		MirrorDir: t.TempDir(), AllowPrivate: true, Roots: server.Roots,
		Interval: 24 * time.Hour, // only a delivery leads to a poll, however long this takes
	})
	watch := func(of *tenant, url string) (id string) {
		must(t, w.store.InTx(t.Context(), of.org.ID, func(ctx context.Context, tx *store.Tx) error {
			row, err := observer.EnsureWatch(ctx, tx, url, "main", "")
			if err != nil {
				return err
			}
			id = row.ID
			_, err = tx.AddApp(ctx, store.AddAppParams{
				OrgID: of.org.ID, ID: "app_" + of.mark, Name: of.mark, WatchID: &id, Directory: ".",
			})
			return err
		}))
		must(t, observer.Poll(t.Context(), of.org.ID, id))
		return id
	}
	watched := watch(w.one, server.URL)
	watch(w.two, "https://127.0.0.1:1/acme/private")
	made, err := w.one.as("admin").CreateWebhookWithResponse(t.Context(), api.NewWebhook{})
	must(t, err)
	hook := made.JSON201
	send := func(header http.Header, body []byte) answer {
		var pairs []string
		for key := range header {
			pairs = append(pairs, key, header.Get(key))
		}
		return w.call("", http.MethodPost, hook.Path, string(body), pairs...)
	}
	expect := func(what string, got answer, status int, words string) {
		t.Helper()
		if got.Status != status || !strings.Contains(got.Body, words) {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	w.sweep()
	for _, name := range []string{
		"github-push", "gitlab-push", "gitlab-signed-push", "gitea-push", "forgejo-push",
		"bitbucket-push", "bitbucket-dc-push",
	} {
		commit := repo.Write("a", name).Commit("push to " + name)
		load := func(secret, url string) (http.Header, []byte) {
			header, body := forgetest.Load(t, strings.Replace(name, "-signed", "", 1), forgetest.DataCenterPage,
				url, forgetest.Page, url)
			if strings.Contains(name, "signed") {
				header.Set("Webhook-Id", "signed")
				header.Set("Idempotency-Key", "signed")
			}
			forgetest.Sign(header, body, secret)
			return header, body
		}
		wrong, body := load("another secret", page)
		expect(name+" with another secret", send(wrong, body), http.StatusUnauthorized, "unauthorized")
		foreign, other := load(hook.Secret, "https://127.0.0.1:1/acme/private")
		expect(name+" of another org", send(foreign, other), http.StatusOK, "no app of this org reads")
		if polls := w.sweep(); len(polls) != 0 {
			t.Errorf("%s: %+v is polled before its delivery", name, polls)
		}
		header, body := load(hook.Secret, page)
		expect(name, send(header, body), http.StatusAccepted, "polling")
		polls := w.sweep()
		if len(polls) != 1 || polls[0].Watch != watched {
			t.Fatalf("%s: it has polled %+v", name, polls)
		}
		must(t, observer.Poll(t.Context(), polls[0].Org, polls[0].Watch))
		got, err := w.one.as("viewer").GetRepoWithResponse(t.Context(), watched)
		must(t, err)
		by, _ := forge.Identify(header)
		r := got.JSON200
		if r == nil || r.Commit != commit || r.Webhook != hook.ID || r.LastDelivery == nil ||
			r.LastDelivery.Forge != by.Name ||
			r.LastDelivery.ID != by.DeliveryID(header) || r.LastDelivery.At.IsZero() ||
			!r.PolledAt.After(r.LastDelivery.At) || !r.NextPollAt.After(r.PolledAt) {
			t.Errorf("%s: want commit %s, got %s", name, commit, got.Body)
		}
		expect(name+" again", send(header, body), http.StatusOK, "was processed before")
		if polls := w.sweep(); len(polls) != 0 {
			t.Errorf("%s: a replay has polled %+v", name, polls)
		}
	}
	known, err := w.one.as("viewer").GetWebhookWithResponse(t.Context(), hook.ID)
	must(t, err)
	if known.JSON200 == nil || known.JSON200.LastDeliveryAt.IsZero() ||
		!strings.HasPrefix(known.JSON200.LastResult, "Bitbucket Data Center repo:refs_changed: ignored:") ||
		strings.Contains(string(known.Body), hook.Secret) {
		t.Errorf("%s", known.Body)
	}
}

// TestRotateWebhook checks that the new secret works at once, that the old one works for a day or
// not at all, as requested, and that a client may supply the secret.
func TestRotateWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.one.as("admin")
	own := func(secret string) *api.Sealed {
		sealed := w.sealed(seal.WebhookContext(w.one.org.ID), w.key.Recipient(), secret)
		return &sealed
	}
	made, err := client.CreateWebhookWithResponse(t.Context(), api.NewWebhook{Secret: own("a secret of my own")})
	must(t, err)
	hook := made.JSON201
	if hook == nil || hook.Secret != "a secret of my own" {
		t.Fatalf("%s", made.Body)
	}
	rotate := func(r api.WebhookRotation) string {
		t.Helper()
		got, err := client.RotateWebhookWithResponse(t.Context(), hook.ID, r)
		must(t, err)
		if got.JSON200 == nil || got.JSON200.Path != hook.Path || len(got.JSON200.Secret) < 16 {
			t.Fatalf("%s", got.Body)
		}
		return got.JSON200.Secret
	}
	takes := func(secret string, want int) {
		t.Helper()
		if got := w.deliver(hook.Path, secret, `{"note": "`+rand.Text()+`"}`); got.Status != want {
			t.Errorf("%d %s, want %d", got.Status, got.Body, want)
		}
	}
	asked := time.Now()
	second := rotate(api.WebhookRotation{})
	takes(hook.Secret, http.StatusOK)
	takes(second, http.StatusOK)
	known, err := client.GetWebhookWithResponse(t.Context(), hook.ID)
	must(t, err)
	if until := known.JSON200.PreviousUntil; until.Before(asked.Add(23*time.Hour)) ||
		until.After(asked.Add(25*time.Hour)) {
		t.Errorf("the secret before is taken until %s", until)
	}
	third := rotate(api.WebhookRotation{AtOnce: true, Secret: own("another of my own")})
	takes(second, http.StatusUnauthorized)
	takes(third, http.StatusOK)
	for secret, code := range map[string]string{"short": "bad_secret", strings.Repeat("x", 129): "bad_secret"} {
		got, err := client.RotateWebhookWithResponse(t.Context(), hook.ID, api.WebhookRotation{Secret: own(secret)})
		must(t, err)
		if f := got.ApplicationProblemJSONDefault; f == nil || f.Code != code {
			t.Errorf("%q: %s", secret, got.Body)
		}
	}
	takes(third, http.StatusOK)
}
