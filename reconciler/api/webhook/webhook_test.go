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
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// hook is a webhook of a bench.
type hook struct {
	*bench
	id, secret, url string
	mux             http.Handler
}

func (b *bench) sealed(hook, secret string) []byte {
	b.t.Helper()
	sealed, err := b.identity.Recipient().Seal(seal.Context{Org: b.org, Kind: seal.KindWebhook, Component: hook},
		[]byte(secret))
	if err != nil {
		b.t.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		b.t.Fatal(err)
	}
	return encoded
}

func (b *bench) hook(secret string) *hook {
	b.t.Helper()
	h := &hook{bench: b, id: id.New("hok"), secret: secret}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		return tx.AddWebhook(ctx, b.org, h.id, b.sealed(h.id, secret))
	})
	mux := http.NewServeMux() // mounted as the control API mounts it
	mux.Handle("/hooks/", webhook.New(b.store, b.identity))
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
	h.t.Helper()
	request := httptest.NewRequestWithContext(h.t.Context(), method, path, bytes.NewReader(body))
	for key, values := range header {
		request.Header[key] = values
	}
	recorder := httptest.NewRecorder()
	h.mux.ServeHTTP(recorder, request)
	a := answered{status: recorder.Code, body: recorder.Body.String(), header: recorder.Header()}
	if recorder.Header().Get("Content-Type") == "application/json" {
		var said struct{ Result, Detail string }
		if err := json.Unmarshal(recorder.Body.Bytes(), &said); err != nil {
			h.t.Fatal(err)
		}
		a.result, a.detail = said.Result, said.Detail
	}
	return a
}

// deliver sends a delivery of a forge, with replacements in its body.
func (h *hook) deliver(name string, replace ...string) answered {
	h.t.Helper()
	header, body := forgetest.Signed(h.t, name, h.secret, replace...)
	return h.send("POST", "/hooks/"+h.org+"/"+h.id, header, body)
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
	b := newBench(t, fileOptions(repo))
	b.connect(repo.URL(), "main", "")
	h := b.hook("planted-webhook-secret")
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
		"unsigned":           deliver(b.org, h.id, now, "", body),
		"wrong secret":       deliver(b.org, h.id, now, forge.Sign(seal.NewSecret([]byte("x")), now, body), body),
		"empty secret":       deliver(b.org, "hok_unknown", now, forge.Sign(seal.Secret{}, now, body), body),
		"other body":         deliver(b.org, h.id, now, forge.Sign(secret, now, body), append([]byte(" "), body...)),
		"other time":         deliver(b.org, h.id, at(time.Minute), forge.Sign(secret, now, body), body),
		"too old":            deliver(b.org, h.id, at(6*time.Minute), forge.Sign(secret, at(6*time.Minute), body), body),
		"from tomorrow":      deliver(b.org, h.id, at(-24*time.Hour), forge.Sign(secret, at(-24*time.Hour), body), body),
		"no time":            deliver(b.org, h.id, "", forge.Sign(secret, "", body), body),
		"unknown hook":       deliver(b.org, "hok_unknown", now, forge.Sign(secret, now, body), body),
		"another org's":      deliver(stranger.ID, h.id, now, forge.Sign(secret, now, body), body),
		"a NUL":              deliver("org_%00", h.id, now, forge.Sign(secret, now, body), body),
		"no UTF-8":           deliver(b.org, "hok_%ff", now, forge.Sign(secret, now, body), body),
		"no org of ours":     deliver("org_unknown", h.id, now, forge.Sign(secret, now, body), body),
		"by no forge":        h.send("POST", "/hooks/"+b.org+"/"+h.id, http.Header{}, body),
		"another token":      h.send("POST", "/hooks/"+b.org+"/"+h.id, gitlab, payload),
		"large, of no hook":  deliver(b.org, "hok_unknown", now, "sha256=00", bytes.Repeat([]byte("x"), 2<<20)),
		"large and unsigned": deliver(b.org, h.id, now, "sha256=00", bytes.Repeat([]byte("x"), 2<<20)),
	}
	first := refused["unsigned"].body
	for name, answer := range refused {
		answer.expect(t, name, http.StatusUnauthorized, "", "")
		if answer.body != first || answer.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %s", name, answer.body)
		}
	}
	if strings.Contains(first, b.org) || strings.Contains(first, "planted") {
		t.Errorf("the refusal tells too much: %s", first)
	}

	deliver(b.org, h.id, now, forge.Sign(secret, now, body), body).expect(t, "a good delivery", http.StatusAccepted,
		"polling", "main of "+repo.URL())
	deliver(b.org, h.id, now, forge.Sign(secret, now, body), body).expect(t, "a replay", http.StatusOK, "ignored",
		"was taken before")
	deliver(b.org, h.id, now, forge.Sign(secret, now, nil), nil).expect(t, "an empty delivery", http.StatusAccepted,
		"polling", "every repository")
	bad := []byte("{")
	deliver(b.org, h.id, now, forge.Sign(secret, now, bad), bad).expectProblem(t, "no JSON", http.StatusBadRequest)
	large := bytes.Repeat([]byte("x"), forge.MaxBody+1)
	deliver(b.org, h.id, now, forge.Sign(secret, now, large), large).expect(t, "too large",
		http.StatusRequestEntityTooLarge, "", "")
	h.send("GET", "/hooks/"+b.org+"/"+h.id, http.Header{}, nil).expect(t, "GET", http.StatusMethodNotAllowed, "", "")
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
	b := newBench(t, observe.Options{})
	b.connect(forgetest.Page, "main", "")
	h := b.hook("whsec_c2VjcmV0")
	put := func() {
		b.in(func(ctx context.Context, tx *store.Tx) error {
			return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: b.org, Kind: store.DueWatch, ID: b.watch,
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
		{"gitea-push", []string{"git.example", "other.example"}, 200, "ignored", "was taken before"},
		{"gitea-push", nil, 202, "polling", "main of " + forgetest.Page},
	} {
		put()
		h.deliver(c.name, c.replace...).expect(t, c.name+" "+strings.Join(c.replace, ">"), c.status, c.result, c.detail)
		if polled := b.due() <= 0; polled != (c.status == 202) {
			t.Errorf("%s: polled: %v", c.name, polled)
		}
	}
	header, body := forgetest.Load(t, "bitbucket-dc-ping")
	unsigned := h.send("POST", "/hooks/"+b.org+"/"+h.id, header, body)
	if unsigned.status != 200 || unsigned.header.Get(forge.HeaderResult) != "" ||
		!strings.Contains(unsigned.detail, "does not sign this test") {
		t.Errorf("an unsigned test: %+v", unsigned)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewWebhooks(ctx, b.org, h.id)
		if err == nil && (len(rows) != 1 || !strings.HasPrefix(rows[0].LastResult, "Gitea push: polling: main of ")) {
			t.Errorf("the webhook keeps %+v", rows)
		}
		return err
	})
}

// TestARotatedSecret: the previous secret is accepted until its time is over.
func TestARotatedSecret(t *testing.T) {
	b := newBench(t, observe.Options{})
	b.connect(forgetest.Page, "main", "")
	h := b.hook("before")
	rotate := func(to string, grace time.Duration) {
		b.in(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.RotateWebhook(ctx,
				store.RotateWebhookParams{GraceSeconds: grace.Seconds(), Sealed: b.sealed(h.id, to), OrgID: b.org,
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

// TestLargeDeliveries: up to 25 MiB are accepted for an existing webhook, but only a few at once.
func TestLargeDeliveries(t *testing.T) {
	b := newBench(t, observe.Options{})
	b.connect(forgetest.Page, "main", "")
	h := b.hook("hush")
	header, body := forgetest.Load(t, "github-push", `"commits": [`,
		`"padding": "`+strings.Repeat("x", 20<<20)+`", "commits": [`)
	forgetest.Sign(header, body, h.secret)
	h.send("POST", "/hooks/"+b.org+"/"+h.id, header, body).expect(t, "20 MiB", 202, "polling", "main")
}

// TestPollingFollowsDeliveries: a branch with a webhook is polled every 15 minutes; once a push
// comes without a delivery, or the webhook is deleted, as often as any other.
func TestPollingFollowsDeliveries(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := newBench(t, fileOptions(repo))
	b.connect(repo.URL(), "main", "")
	h := b.hook("hush")
	script := func() {
		t.Helper()
		header, body := http.Header{},
			[]byte(`{"repository": "`+repo.URL()+`", "ref": "main", "note": "`+rand.Text()+`"}`)
		header.Set(forge.HeaderTimestamp, strconv.FormatInt(time.Now().Unix(), 10))
		header.Set(forge.HeaderSignature,
			forge.Sign(seal.NewSecret([]byte(h.secret)), header.Get(forge.HeaderTimestamp), body))
		h.send("POST", "/hooks/"+b.org+"/"+h.id, header, body).expect(t, "a delivery", 202, "polling", "main")
		if b.due() > 0 {
			t.Error("a delivery does not have it polled now")
		}
	}
	next := func(what string, want time.Duration) {
		t.Helper()
		if got := b.due(); got < want*8/10 || got > want*12/10 {
			t.Errorf("%s: the next poll is in %s, want about %s", what, got, want)
		}
	}
	b.mustPoll()
	next("without deliveries", time.Minute)

	repo.Write("a", "2").Commit("announced")
	script()
	b.mustPoll()
	next("right after a delivery", time.Minute) // some servers of the forge may not have the commit yet
	b.passed(3 * time.Minute)
	b.poll()
	next("after a delivery", 15*time.Minute)
	b.passed(40 * 24 * time.Hour) // however long nobody pushes
	b.poll()
	next("much later", 15*time.Minute)

	repo.Write("a", "3").Commit("not announced")
	b.passed(15 * time.Minute)
	if got := b.mustPoll(); got.Subject != "not announced" {
		t.Fatalf("%+v", got)
	}
	next("after a push that nobody announced", time.Minute)
	b.passed(time.Minute)
	b.poll()
	next("and from then on", time.Minute)
	script()
	b.passed(3 * time.Minute)
	b.poll()
	next("when deliveries come again", 15*time.Minute)

	b.in(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.MakeWatchesOfWebhookDue(ctx, b.org, h.id); err != nil {
			return err
		}
		_, err := tx.DropWebhook(ctx, b.org, h.id)
		return err
	})
	if b.due() > 0 {
		t.Error("the end of a webhook does not have its branches polled")
	}
	b.poll()
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
	b := newBench(t, observe.Options{AllowPrivate: true, Roots: server.Roots})
	b.connect(server.URL, "main", "")
	b.mustPoll()
	repo.Write("a", "2").Commit("second")
	h = b.hook("hush")
	h.url = server.URL
	b.mustPoll()
	if b.due() > 0 {
		t.Error("after a poll during which a push was announced the branch is not polled again")
	}
}
