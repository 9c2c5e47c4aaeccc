package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/observe/gittest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

func TestWebhook(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := newBench(t, fileOptions(repo))
	b.connect(repo.URL(), "main", "")
	secret := seal.NewSecret([]byte("planted-webhook-secret"))
	hook := id.New("hok")
	sealed, err := b.identity.Recipient().Seal(seal.Context{Org: b.org, Kind: seal.KindWebhook, Component: hook}, secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error { return tx.AddWebhook(ctx, b.org, hook, encoded) })
	_, stranger := storetest.New(t)

	mux := http.NewServeMux() // mounted as the control API mounts it
	mux.Handle("/hooks/", observe.Webhook(b.store, b.identity))
	deliver := func(method, org, hook, timestamp, signature string, body []byte) *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(t.Context(), method, "/hooks/"+org+"/"+hook, bytes.NewReader(body))
		request.Header.Set(observe.HeaderTimestamp, timestamp)
		request.Header.Set(observe.HeaderSignature, signature)
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		return answer
	}
	at := func(ago time.Duration) string { return strconv.FormatInt(time.Now().Add(-ago).Unix(), 10) }
	body := []byte(`{"repository": "` + repo.URL() + `", "ref": "refs/heads/main"}`)
	now := at(0)

	refused := map[string]*httptest.ResponseRecorder{
		"unsigned":       deliver("POST", b.org, hook, now, "", body),
		"wrong secret":   deliver("POST", b.org, hook, now, observe.Sign(seal.NewSecret([]byte("x")), now, body), body),
		"empty secret":   deliver("POST", b.org, "hok_unknown", now, observe.Sign(seal.Secret{}, now, body), body),
		"other body":     deliver("POST", b.org, hook, now, observe.Sign(secret, now, body), append([]byte(" "), body...)),
		"other time":     deliver("POST", b.org, hook, at(time.Minute), observe.Sign(secret, now, body), body),
		"too old":        deliver("POST", b.org, hook, at(6*time.Minute), observe.Sign(secret, at(6*time.Minute), body), body),
		"from tomorrow":  deliver("POST", b.org, hook, at(-24*time.Hour), observe.Sign(secret, at(-24*time.Hour), body), body),
		"no time":        deliver("POST", b.org, hook, "", observe.Sign(secret, "", body), body),
		"unknown hook":   deliver("POST", b.org, "hok_unknown", now, observe.Sign(secret, now, body), body),
		"another org's":  deliver("POST", stranger.ID, hook, now, observe.Sign(secret, now, body), body),
		"a NUL":          deliver("POST", "org_%00", hook, now, observe.Sign(secret, now, body), body),
		"no UTF-8":       deliver("POST", b.org, "hok_%ff", now, observe.Sign(secret, now, body), body),
		"no org of ours": deliver("POST", "org_unknown", hook, now, observe.Sign(secret, now, body), body),
	}
	first := refused["unsigned"].Body.String()
	for name, answer := range refused {
		if answer.Code != http.StatusUnauthorized || answer.Body.String() != first || answer.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %d %s", name, answer.Code, answer.Body)
		}
	}
	if strings.Contains(first, b.org) || strings.Contains(first, "planted") {
		t.Errorf("the refusal tells too much: %s", first)
	}

	if answer := deliver("POST", b.org, hook, now, observe.Sign(secret, now, body), body); answer.Code != http.StatusAccepted {
		t.Fatalf("a good delivery: got %d %s", answer.Code, answer.Body)
	}
	if answer := deliver("POST", b.org, hook, now, observe.Sign(secret, now, body), body); answer.Code != http.StatusUnauthorized {
		t.Fatalf("a replay: got %d", answer.Code)
	}
	if answer := deliver("POST", b.org, hook, now, observe.Sign(secret, now, nil), nil); answer.Code != http.StatusAccepted {
		t.Fatalf("an empty delivery: got %d %s", answer.Code, answer.Body)
	}
	bad := []byte("{")
	if answer := deliver("POST", b.org, hook, now, observe.Sign(secret, now, bad), bad); answer.Code != http.StatusBadRequest {
		t.Fatalf("no JSON: got %d", answer.Code)
	}
	large := bytes.Repeat([]byte("x"), 1<<20+1)
	if answer := deliver("POST", b.org, hook, now, observe.Sign(secret, now, large), large); answer.Code != http.StatusRequestEntityTooLarge {
		t.Fatalf("a large delivery: got %d", answer.Code)
	}
	if answer := deliver("GET", b.org, hook, now, "", nil); answer.Code != http.StatusMethodNotAllowed {
		t.Fatalf("GET: got %d", answer.Code)
	}
}
