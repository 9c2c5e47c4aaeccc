package webhook_test

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

	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/forge/forgetest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/webhook"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// FuzzWebhook: without the secret nothing is accepted, for any forge and body; with it a delivery
// is accepted, or rejected for its content. No answer is a 500.
func FuzzWebhook(f *testing.F) {
	s, org := storetest.New(f)
	identity, err := seal.NewIdentity()
	if err != nil {
		f.Fatal(err)
	}
	const planted = "the webhook's secret"
	secret := seal.NewSecret([]byte(planted))
	hook := id.New("hok")
	sealed, err := identity.Recipient().Seal(seal.Context{Org: org.ID, Kind: seal.KindWebhook, Component: hook},
		secret.Reveal())
	if err != nil {
		f.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		f.Fatal(err)
	}
	if err := s.InTx(f.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddWebhook(ctx, org.ID,
			hook, encoded)
	}); err != nil {
		f.Fatal(err)
	}
	handler := webhook.New(s, identity)
	now := strconv.FormatInt(time.Now().Unix(), 10)
	path := "/hooks/" + org.ID + "/" + hook
	names := forgetest.Names(f)
	for i, name := range names {
		_, payload := forgetest.Load(f, name)
		f.Add(path, now, "sha256=00", string(payload), uint8(i))
	}
	for _, body := range []string{"", "{", `{"repository":"x","ref":"refs/heads/main"}`, `{"ref":7}`,
		`{"ref":"\u0000"}`, strings.Repeat("[", 20000), "\xff"} {
		f.Add(path, now, "sha256=00", body, uint8(0))
		f.Add(path, now+" ", forge.Sign(secret, now, []byte(body)), body, uint8(1))
		f.Add("/hooks/%00/x", "-9223372036854775808", "", body, uint8(2))
	}
	f.Add("/hooks/a!b/x", now, "", "", uint8(0))
	f.Fuzz(func(t *testing.T, target, timestamp, signature, body string, which uint8) {
		send := func(target string, header http.Header) int {
			address, err := url.ParseRequestURI(target)
			if err != nil {
				return 0
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			r.URL, r.RequestURI = address, target
			r.Header = header
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%q %q %q: %d %s", target, header, body, w.Code, w.Body)
			}
			return w.Code
		}
		deliver := func(target, timestamp, signature string) int {
			return send(target, http.Header{forge.HeaderTimestamp: {timestamp}, forge.HeaderSignature: {signature}})
		}
		if signature != forge.Sign(secret, timestamp, []byte(body)) {
			if code := deliver(target, timestamp, signature); code/100 == 2 {
				t.Errorf("%q %q %q %q was taken", target, timestamp, signature, body)
			}
		}
		at := strconv.FormatInt(time.Now().Unix(), 10)
		switch code := deliver(path, at, forge.Sign(secret, at, []byte(body))); code {
		case http.StatusOK, http.StatusAccepted, http.StatusBadRequest:
		default:
			t.Errorf("a signed %q: %d", body, code)
		}
		header, _ := forgetest.Load(t, names[int(which)%len(names)])
		by, _ := forge.Identify(header)
		if code := send(path, header.Clone()); code != http.StatusUnauthorized && !by.IsUnsignedPing(header) {
			t.Errorf("an unsigned %q by %s: %d", body, by.Name, code)
		}
		forgetest.Sign(header, []byte(body), planted)
		switch code := send(path, header); code {
		case http.StatusOK, http.StatusAccepted, http.StatusBadRequest:
		default:
			t.Errorf("a signed %q by %s: %d", body, by.Name, code)
		}
	})
}
