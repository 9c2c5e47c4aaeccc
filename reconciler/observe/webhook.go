package observe

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The headers of a delivery.
const (
	HeaderTimestamp = "X-Nuon-Timestamp" // Unix seconds
	HeaderSignature = "X-Nuon-Signature" // sha256=<hex of the HMAC of timestamp, ".", body>
)

// Bounds of a delivery.
const (
	maxDelivery    = 1 << 20
	deliveryWindow = 5 * time.Minute
)

// Sign gives the value of HeaderSignature for a delivery.
func Sign(secret seal.Secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret.Reveal())
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// delivery is what a webhook may say; all of it is optional, and nothing of it is believed beyond which watch to look at.
type delivery struct {
	Repository string `json:"repository"`
	Ref        string `json:"ref"`
}

// WebhookPath is the route of a webhook: its org's id and its own.
const WebhookPath = "/hooks/{org}/{hook}"

// Webhook answers POST at WebhookPath, wherever below it is mounted: it has the org's watches that the delivery means looked at
// now. It only makes a poll run sooner, so a delivery that is lost costs an interval.
//
// A delivery that is not signed with the webhook's secret, is old, was seen before, or names a webhook that does not exist gets
// one and the same 401.
func Webhook(s *store.Store, identity seal.Identity) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(WebhookPath, &webhook{store: s, identity: identity, now: time.Now})
	return problem.Mux(mux)
}

type webhook struct {
	store    *store.Store
	identity seal.Identity
	now      func() time.Time
}

// errUnsigned is the one refusal.
var errUnsigned = errors.New("The delivery is not signed with this webhook's secret, is too old, or was delivered before.") //nolint:staticcheck // it is shown as it is

// ServeHTTP takes one delivery.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		problem.Write(w, problem.New(http.StatusMethodNotAllowed, "method_not_allowed", "This route takes webhook deliveries.", "Deliver them with POST."))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		problem.Write(w, problem.New(http.StatusRequestEntityTooLarge, "too_large", "The delivery has more than 1 MiB.", `Send {"repository": "…", "ref": "…"}, or nothing.`))
		return
	}
	err = h.take(r.Context(), r.PathValue("org"), r.PathValue("hook"), r.Header, body)
	var bad *Trouble
	switch {
	case err == nil:
		w.WriteHeader(http.StatusAccepted)
	case errors.Is(err, errUnsigned):
		problem.Write(w, problem.New(http.StatusUnauthorized, "unauthorized", errUnsigned.Error(),
			`Sign "<timestamp>.<body>" with HMAC-SHA256 and the secret that was shown when the webhook was made.`))
	case errors.As(err, &bad):
		problem.Write(w, problem.New(http.StatusBadRequest, "bad_request", bad.Words, ""))
	default:
		problem.Writer(slog.Default())(w, r, fmt.Errorf("take a webhook delivery: %w", err))
	}
}

// take verifies a delivery and has the watches that it means polled.
func (h *webhook) take(ctx context.Context, org, hookID string, header http.Header, body []byte) error {
	timestamp := header.Get(HeaderTimestamp)
	if !h.recent(timestamp) || !idLike(org) || !idLike(hookID) {
		return errUnsigned
	}
	return h.store.In(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		secret, err := h.secret(ctx, tx, hookID)
		if err != nil {
			return err
		}
		signature := Sign(secret, timestamp, body)
		if !hmac.Equal([]byte(signature), []byte(header.Get(HeaderSignature))) || secret.IsZero() {
			return errUnsigned
		}
		if err := h.remember(ctx, tx, hookID, signature); err != nil {
			return err
		}
		var said delivery
		if len(body) > 0 && json.Unmarshal(body, &said) != nil {
			return troubled(`the body is not JSON; send {"repository": "…", "ref": "…"}, or nothing`)
		}
		return pollNow(ctx, tx, said)
	})
}

// idLike refuses what Postgres would not even look up.
func idLike(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func (h *webhook) recent(timestamp string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return false
	}
	age := h.now().Sub(time.Unix(seconds, 0))
	return age.Abs() <= deliveryWindow
}

// secret gives the webhook's secret; a webhook that does not exist has the empty one, so that it costs the same work to refuse.
func (h *webhook) secret(ctx context.Context, tx *store.Tx, hookID string) (seal.Secret, error) {
	row, err := tx.WebhookToVerify(ctx, tx.Org, hookID)
	if errors.Is(err, store.ErrNotFound) {
		return seal.Secret{}, nil
	}
	if err != nil {
		return seal.Secret{}, err
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(row.Sealed, &sealed); err != nil {
		return seal.Secret{}, err
	}
	return h.identity.Open(sealed, seal.Context{Org: tx.Org, Kind: seal.KindWebhook, Component: hookID})
}

// remember refuses a delivery that was taken before, and forgets those that are too old to be taken again.
func (h *webhook) remember(ctx context.Context, tx *store.Tx, hookID, signature string) error {
	now := h.now()
	if err := tx.ForgetWebhookDeliveries(ctx, tx.Org, hookID, now.Add(-3*deliveryWindow)); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(signature))
	added, err := tx.AddWebhookDelivery(ctx, store.AddWebhookDeliveryParams{OrgID: tx.Org, WebhookID: hookID, Signature: sum[:], ReceivedAt: now})
	if err != nil {
		return err
	}
	if added == 0 {
		return errUnsigned
	}
	return nil
}

// pollNow enqueues a look at the watches that a delivery means: all of the org when it names none.
func pollNow(ctx context.Context, tx *store.Tx, said delivery) error {
	watches, err := tx.ListWatches(ctx, tx.Org)
	if err != nil {
		return err
	}
	for _, watch := range watches {
		if !said.means(watch) {
			continue
		}
		if err := tx.Enqueue(ctx, queue.Poll{Org: tx.Org, Watch: watch.ID}); err != nil {
			return err
		}
	}
	return nil
}

// means compares loosely: a look too many costs little, one too few an interval.
func (d delivery) means(watch store.Watch) bool {
	trim := func(url string) string {
		return strings.TrimSuffix(strings.TrimRight(strings.ToLower(url), "/"), ".git")
	}
	if d.Repository != "" && trim(d.Repository) != trim(watch.URL) {
		return false
	}
	ref := strings.TrimPrefix(strings.TrimPrefix(d.Ref, "refs/heads/"), "refs/tags/")
	watched := strings.TrimPrefix(strings.TrimPrefix(watch.Ref, "refs/heads/"), "refs/tags/")
	return ref == "" || ref == watched
}
