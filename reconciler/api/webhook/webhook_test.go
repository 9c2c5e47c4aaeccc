package webhook_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/forge/forgetest"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/webhook"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/observe/observetest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// hook is a webhook of a control plane.
type hook struct {
	*observetest.Fixture
	id, secret, url string
	mux             http.Handler
}

// sealSecret returns the stored form of a webhook's secret.
func sealSecret(b *observetest.Fixture, hook, secret string) []byte {
	b.T.Helper()
	sealed, err := b.Identity.Recipient().Seal(seal.Context{Org: b.Org, Kind: seal.KindWebhook, Component: hook},
		[]byte(secret))
	if err != nil {
		b.T.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		b.T.Fatal(err)
	}
	return encoded
}

// addHook adds a webhook and serves it.
func addHook(b *observetest.Fixture, secret string) *hook {
	b.T.Helper()
	h := &hook{Fixture: b, id: id.New("hok"), secret: secret}
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		return tx.AddWebhook(ctx, b.Org, h.id, sealSecret(b, h.id, secret))
	})
	mux := http.NewServeMux() // mounted as the control API mounts it
	mux.Handle("/hooks/", webhook.New(b.Store, b.Identity))
	h.mux = mux
	return h
}

// answered is the answer to a delivery.
type answered struct {
	status         int
	result, detail string
	body           string
	header         http.Header
}

func (h *hook) send(method, path string, header http.Header, body []byte) answered {
	h.T.Helper()
	request := httptest.NewRequestWithContext(h.T.Context(), method, path, bytes.NewReader(body))
	for key, values := range header {
		request.Header[key] = values
	}
	recorder := httptest.NewRecorder()
	h.mux.ServeHTTP(recorder, request)
	a := answered{status: recorder.Code, body: recorder.Body.String(), header: recorder.Header()}
	if recorder.Header().Get("Content-Type") == "application/json" {
		var said struct{ Result, Detail string }
		if err := json.Unmarshal(recorder.Body.Bytes(), &said); err != nil {
			h.T.Fatal(err)
		}
		a.result, a.detail = said.Result, said.Detail
	}
	return a
}

// deliver sends a delivery of a forge, with replacements in its body.
func (h *hook) deliver(name string, replace ...string) answered {
	h.T.Helper()
	header, body := forgetest.Signed(h.T, name, h.secret, replace...)
	return h.send("POST", "/hooks/"+h.Org+"/"+h.id, header, body)
}

// expect compares an answer.
func (a answered) expect(t testing.TB, what string, status int, result, detail string) {
	t.Helper()
	if a.status != status || a.result != result || !strings.Contains(a.detail, detail) ||
		(a.header.Get(forge.HeaderResult) == "") != (status >= 400) {
		t.Errorf("%s: got %d %s (%v), want %d %s %q", what, a.status, a.body, a.header, status, result, detail)
	}
}

// TestWebhook: nuon's own form, and every reason for rejecting a delivery, which all cause the
// same 401.
func TestWebhook(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.Connect(repo.URL(), "main", "")
	h := addHook(b, "planted-webhook-secret")
	secret := seal.NewSecret([]byte(h.secret))
	_, stranger := storetest.New(t)

	deliver := func(org, hook, timestamp, signature string, body []byte) answered {
		header := http.Header{}
		header.Set(forge.HeaderTimestamp, timestamp)
		header.Set(forge.HeaderSignature, signature)
		return h.send("POST", "/hooks/"+org+"/"+hook, header, body)
	}
	at := func(ago time.Duration) string { return strconv.FormatInt(time.Now().Add(-ago).Unix(), 10) }
	body := []byte(`{"repository": "` + repo.URL() + `", "ref": "refs/heads/main"}`)
	now := at(0)
	gitlab, payload := forgetest.Signed(t, "gitlab-push", h.secret+" ")

	refused := map[string]answered{
		"unsigned":           deliver(b.Org, h.id, now, "", body),
		"wrong secret":       deliver(b.Org, h.id, now, forge.Sign(seal.NewSecret([]byte("x")), now, body), body),
		"empty secret":       deliver(b.Org, "hok_unknown", now, forge.Sign(seal.Secret{}, now, body), body),
		"other body":         deliver(b.Org, h.id, now, forge.Sign(secret, now, body), append([]byte(" "), body...)),
		"other time":         deliver(b.Org, h.id, at(time.Minute), forge.Sign(secret, now, body), body),
		"too old":            deliver(b.Org, h.id, at(6*time.Minute), forge.Sign(secret, at(6*time.Minute), body), body),
		"from tomorrow":      deliver(b.Org, h.id, at(-24*time.Hour), forge.Sign(secret, at(-24*time.Hour), body), body),
		"no time":            deliver(b.Org, h.id, "", forge.Sign(secret, "", body), body),
		"unknown hook":       deliver(b.Org, "hok_unknown", now, forge.Sign(secret, now, body), body),
		"another org's":      deliver(stranger.ID, h.id, now, forge.Sign(secret, now, body), body),
		"a NUL":              deliver("org_%00", h.id, now, forge.Sign(secret, now, body), body),
		"not of ids":         deliver("org!", h.id, now, forge.Sign(secret, now, body), body),
		"long":               deliver(b.Org, strings.Repeat("h", 60_000), now, forge.Sign(secret, now, body), body),
		"no UTF-8":           deliver(b.Org, "hok_%ff", now, forge.Sign(secret, now, body), body),
		"no org of ours":     deliver("org_unknown", h.id, now, forge.Sign(secret, now, body), body),
		"by no forge":        h.send("POST", "/hooks/"+b.Org+"/"+h.id, http.Header{}, body),
		"another token":      h.send("POST", "/hooks/"+b.Org+"/"+h.id, gitlab, payload),
		"large, of no hook":  deliver(b.Org, "hok_unknown", now, "sha256=00", bytes.Repeat([]byte("x"), 2<<20)),
		"large and unsigned": deliver(b.Org, h.id, now, "sha256=00", bytes.Repeat([]byte("x"), 2<<20)),
	}
	first := refused["unsigned"].body
	for name, answer := range refused {
		answer.expect(t, name, http.StatusUnauthorized, "", "")
		if answer.body != first || answer.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %s", name, answer.body)
		}
	}
	if strings.Contains(first, b.Org) || strings.Contains(first, "planted") {
		t.Errorf("the refusal tells too much: %s", first)
	}

	deliver(b.Org, h.id, now, forge.Sign(secret, now, body), body).expect(t, "a good delivery", http.StatusAccepted,
		"polling", "main of "+repo.URL())
	deliver(b.Org, h.id, now, forge.Sign(secret, now, body), body).expect(t, "a replay", http.StatusOK, "ignored",
		"was processed before")
	deliver(b.Org, h.id, now, forge.Sign(secret, now, nil), nil).expect(t, "an empty delivery", http.StatusAccepted,
		"polling", "every repository")
	bad := []byte("{")
	deliver(b.Org, h.id, now, forge.Sign(secret, now, bad), bad).expectProblem(t, "no JSON", http.StatusBadRequest)
	large := bytes.Repeat([]byte("x"), forge.MaxBody+1)
	deliver(b.Org, h.id, now, forge.Sign(secret, now, large), large).expect(t, "too large",
		http.StatusRequestEntityTooLarge, "", "")
	h.send("GET", "/hooks/"+b.Org+"/"+h.id, http.Header{}, nil).expect(t, "GET", http.StatusMethodNotAllowed, "", "")
}

// expectProblem compares the status of a verified delivery that cannot be parsed.
func (a answered) expectProblem(t testing.TB, what string, status int) {
	t.Helper()
	if a.status != status || a.header.Get(forge.HeaderResult) == "" {
		t.Errorf("%s: got %d %s", what, a.status, a.body)
	}
}

// TestWhatDeliveriesAreAnswered: the answer, which forges show in their delivery log, states the
// result of a delivery.
func TestWhatDeliveriesAreAnswered(t *testing.T) {
	b := observetest.New(t, observe.Options{})
	b.Connect(forgetest.Page, "main", "")
	h := addHook(b, "whsec_c2VjcmV0")
	put := func() {
		b.InTx(func(ctx context.Context, tx *store.Tx) error {
			return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: b.Org, Kind: store.DueWatch, ID: b.Watch,
				InSeconds: 3600})
		})
	}
	for _, c := range []struct {
		name           string
		replace        []string
		status         int
		result, detail string
	}{
		{"github-ping", nil, 200, "ignored", "the webhook works; apps read main of " + forgetest.Page},
		{"github-ping", []string{"acme/shop", "acme/other"}, 200, "ignored", "the webhook works; no app of this org reads " +
			"https://git.example/acme/other.git"},
		{"github-issues", nil, 200, "ignored", `nuon polls after pushes only, and this is the event "issues"`},
		{"github-push-deleted", nil, 200, "ignored", "refs/heads/main was deleted"},
		{"gitea-delete", nil, 200, "ignored", "branch main was deleted"},
		{"gitlab-tag-deleted", nil, 200, "ignored", "refs/tags/v1.0.0 was deleted"},
		{"bitbucket-push-deleted", nil, 200, "ignored", "the push only deleted"},
		{"bitbucket-dc-ping", nil, 200, "ignored", "the webhook works"},
		{"gitlab-push", []string{"refs/heads/main", "refs/heads/next"}, 200, "ignored", "no app reads next of " +
			forgetest.Page + ".git; apps read main there"},
		{"gitlab-push", []string{"acme/shop", "acme/other"}, 200, "ignored", "no app of this org reads " +
			"https://git.example/acme/other.git; `nuon repos list`"},
		{"gitea-push", []string{"git.example", "other.example"}, 202, "polling", "main of " + forgetest.Page +
			", which has the same path as"},
		{"gitea-push", []string{"git.example", "other.example"}, 200, "ignored", "was processed before"},
		{"gitea-push", nil, 202, "polling", "main of " + forgetest.Page},
	} {
		put()
		h.deliver(c.name, c.replace...).expect(t, c.name+" "+strings.Join(c.replace, ">"), c.status, c.result, c.detail)
		if polled := b.UntilDue() <= 0; polled != (c.status == 202) {
			t.Errorf("%s: polled: %v", c.name, polled)
		}
	}
	header, body := forgetest.Load(t, "bitbucket-dc-ping")
	unsigned := h.send("POST", "/hooks/"+b.Org+"/"+h.id, header, body)
	if unsigned.status != 200 || unsigned.header.Get(forge.HeaderResult) != "" ||
		!strings.Contains(unsigned.detail, "does not sign this test") {
		t.Errorf("an unsigned test: %+v", unsigned)
	}
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewWebhooks(ctx, b.Org, h.id)
		if err == nil && (len(rows) != 1 || !strings.HasPrefix(rows[0].LastResult, "Gitea push: polling: main of ")) {
			t.Errorf("the webhook keeps %+v", rows)
		}
		return err
	})
}

// TestARotatedSecret: the previous secret is accepted until its time is over.
func TestARotatedSecret(t *testing.T) {
	b := observetest.New(t, observe.Options{})
	b.Connect(forgetest.Page, "main", "")
	h := addHook(b, "before")
	rotate := func(to string, grace time.Duration) {
		b.InTx(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.RotateWebhook(ctx,
				store.RotateWebhookParams{GraceSeconds: grace.Seconds(), Sealed: sealSecret(b, h.id, to), OrgID: b.Org,
					ID: h.id})
			return err
		})
	}
	rotate("after", time.Hour)
	h.deliver("github-push").expect(t, "the secret before", 202, "polling", "")
	h.secret = "after"
	h.deliver("gitea-push").expect(t, "the secret after", 202, "polling", "")
	h.secret = "before"
	rotate("last", 0)
	h.deliver("gitlab-push").expect(t, "two rotations ago", 401, "", "")
	h.secret = "after"
	h.deliver("gitlab-push").expect(t, "after its time", 401, "", "")
}

// TestLargeDeliveries: up to 25 MiB are accepted for an existing webhook.
func TestLargeDeliveries(t *testing.T) {
	b := observetest.New(t, observe.Options{})
	b.Connect(forgetest.Page, "main", "")
	h := addHook(b, "hush")
	header, body := forgetest.Load(t, "github-push", `"commits": [`,
		`"padding": "`+strings.Repeat("x", 20<<20)+`", "commits": [`)
	forgetest.Sign(header, body, h.secret)
	h.send("POST", "/hooks/"+b.Org+"/"+h.id, header, body).expect(t, "20 MiB", 202, "polling", "main")
}

// TestPollingFollowsDeliveries: a branch with a webhook is polled every 15 minutes; once a push
// comes without a delivery, or the webhook is deleted, as often as any other.
func TestPollingFollowsDeliveries(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.Connect(repo.URL(), "main", "")
	h := addHook(b, "hush")
	script := func() {
		t.Helper()
		header, body := http.Header{},
			[]byte(`{"repository": "`+repo.URL()+`", "ref": "main", "note": "`+rand.Text()+`"}`)
		header.Set(forge.HeaderTimestamp, strconv.FormatInt(time.Now().Unix(), 10))
		header.Set(forge.HeaderSignature,
			forge.Sign(seal.NewSecret([]byte(h.secret)), header.Get(forge.HeaderTimestamp), body))
		h.send("POST", "/hooks/"+b.Org+"/"+h.id, header, body).expect(t, "a delivery", 202, "polling", "main")
		if b.UntilDue() > 0 {
			t.Error("a delivery does not have it polled now")
		}
	}
	next := func(what string, want time.Duration) {
		t.Helper()
		b.CheckPause(what, want*8/10, want*12/10)
	}
	b.MustPoll()
	next("without deliveries", time.Minute)

	repo.Write("a", "2").Commit("announced")
	script()
	b.MustPoll()
	next("right after a delivery", time.Minute) // some servers of the forge may not have the commit yet
	b.Elapse(3 * time.Minute)
	b.Poll()
	next("after a delivery", 15*time.Minute)
	b.Elapse(40 * 24 * time.Hour) // however long nobody pushes
	b.Poll()
	next("much later", 15*time.Minute)

	repo.Write("a", "3").Commit("not announced")
	b.Elapse(15 * time.Minute)
	if got := b.MustPoll(); got.Subject != "not announced" {
		t.Fatalf("%+v", got)
	}
	next("after a push that nobody announced", time.Minute)
	b.Elapse(time.Minute)
	b.Poll()
	next("and from then on", time.Minute)
	script()
	b.Elapse(3 * time.Minute)
	b.Poll()
	next("when deliveries come again", 15*time.Minute)

	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.MakeWatchesOfWebhookDue(ctx, b.Org, h.id); err != nil {
			return err
		}
		_, err := tx.DropWebhook(ctx, b.Org, h.id)
		return err
	})
	if b.UntilDue() > 0 {
		t.Error("the end of a webhook does not have its branches polled")
	}
	b.Poll()
	next("without the webhook", time.Minute)
}

// TestADeliveryDuringAPoll: such a delivery is not lost, because the poll may have read the
// branch before the push.
func TestADeliveryDuringAPoll(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	var h *hook
	var once sync.Once
	server := repo.Serve("", func(_ http.ResponseWriter, r *http.Request) bool {
		if h != nil && strings.HasSuffix(r.URL.Path, "/git-upload-pack") && r.ContentLength > 0 {
			once.Do(func() { h.deliver("github-push", forgetest.Page, strings.TrimSuffix(h.url, ".git")) })
		}
		return false
	})
	b := observetest.New(t, observe.Options{AllowPrivate: true, Roots: server.Roots})
	b.Connect(server.URL, "main", "")
	b.MustPoll()
	repo.Write("a", "2").Commit("second")
	h = addHook(b, "hush")
	h.url = server.URL
	b.MustPoll()
	if b.UntilDue() > 0 {
		t.Error("after a poll during which a push was announced the branch is not polled again")
	}
}
