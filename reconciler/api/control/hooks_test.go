package control_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
)

// deliver delivers a signed body to a webhook's path.
func (w *world) deliver(path, secret, body string) answer {
	w.Helper()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	return w.call("", http.MethodPost, path, body, observe.HeaderTimestamp, now,
		observe.HeaderSignature, observe.Sign(seal.NewSecret([]byte(secret)), now, []byte(body)))
}

// TestWebhooks: the path and the secret that are shown when a webhook is made work together, without a token; nothing else does.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	made, err := w.one.as("admin").CreateWebhookWithResponse(t.Context())
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
	if n := w.text("select count(*)::text from river.river_job"); n != "0" {
		t.Errorf("%s polls after refused deliveries", n)
	}
	if got := deliver(hook.Path, hook.Secret); got.Status != http.StatusAccepted {
		t.Errorf("a signed delivery: %d %s", got.Status, got.Body)
	}
	if work := w.texts("select kind || args from river.river_job"); len(work) != 1 || !strings.Contains(work[0], w.one.ids["watch"]) {
		t.Errorf("the queue has %q", work)
	}
	w.refusedAs(w.call("", http.MethodGet, hook.Path, nil), http.StatusMethodNotAllowed, "method_not_allowed")
}
