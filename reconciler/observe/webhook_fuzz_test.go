package observe_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// FuzzWebhook: without the secret nothing is taken, whatever is sent; with it a delivery is taken, or refused for what it says. None is
// a 500.
func FuzzWebhook(f *testing.F) {
	s, org := storetest.New(f)
	identity, err := seal.NewIdentity()
	if err != nil {
		f.Fatal(err)
	}
	secret := seal.NewSecret([]byte("the webhook's secret"))
	hook := id.New("hok")
	sealed, err := identity.Recipient().Seal(seal.Context{Org: org.ID, Kind: seal.KindWebhook, Component: hook}, secret.Reveal())
	if err != nil {
		f.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		f.Fatal(err)
	}
	if err := s.In(f.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error { return tx.AddWebhook(ctx, org.ID, hook, encoded) }); err != nil {
		f.Fatal(err)
	}
	handler := observe.Webhook(s, identity)
	now := strconv.FormatInt(time.Now().Unix(), 10)
	path := "/hooks/" + org.ID + "/" + hook
	for _, body := range []string{"", "{", `{"repository":"x","ref":"refs/heads/main"}`, `{"ref":7}`, `{"ref":"\u0000"}`, strings.Repeat("[", 20000), "\xff"} {
		f.Add(path, now, "sha256=00", body)
		f.Add(path, now+" ", observe.Sign(secret, now, []byte(body)), body)
		f.Add("/hooks/%00/x", "-9223372036854775808", "", body)
	}
	f.Fuzz(func(t *testing.T, target, timestamp, signature, body string) {
		deliver := func(target, timestamp, signature string) int {
			address, err := url.ParseRequestURI(target)
			if err != nil {
				return 0
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			r.URL, r.RequestURI = address, target
			r.Header.Set(observe.HeaderTimestamp, timestamp)
			r.Header.Set(observe.HeaderSignature, signature)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%q %q %q %q: %d %s", target, timestamp, signature, body, w.Code, w.Body)
			}
			return w.Code
		}
		if signature != observe.Sign(secret, timestamp, []byte(body)) {
			if code := deliver(target, timestamp, signature); code/100 == 2 {
				t.Errorf("%q %q %q %q was taken", target, timestamp, signature, body)
			}
		}
		at := strconv.FormatInt(time.Now().Unix(), 10)
		switch code := deliver(path, at, observe.Sign(secret, at, []byte(body))); code {
		case http.StatusAccepted, http.StatusBadRequest:
		case http.StatusUnauthorized: // the same body in the same second is a replay
		default:
			t.Errorf("a signed %q: %d", body, code)
		}
	})
}
