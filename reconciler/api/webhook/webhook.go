// Package webhook accepts the deliveries of webhooks: it verifies that a delivery is signed with the
// secret of a webhook of an org, and makes the branches and tags that it reports as pushed due for
// a poll (reconciler/observe). It fetches nothing itself, and what a delivery states is untrusted:
// it only makes a poll run sooner. The control API mounts it.
package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Path is the route of a webhook: the ids of its org and of the webhook.
const Path = "/hooks/{org}/{hook}"

// Bounds of deliveries.
const (
	// maxSmallBody is the size up to which a body is read without verification, in bytes.
	maxSmallBody = 1 << 20
	// maxID is the maximum length of an id in a path, in bytes.
	maxID = 64
	// maxResultLength bounds the answer that is stored with a webhook, in characters.
	maxResultLength = 500
)

// New returns a handler that answers POST at Path, wherever it is mounted: it accepts the deliveries of the
// forges in package forge and polls the branches and tags that they report as pushed. A delivery
// only makes a poll run sooner, so a lost one delays a revision by an interval, and a replayed
// one costs a poll.
//
// A delivery without a valid signature of the webhook's secret, an old one, or one for a webhook
// that does not exist gets the same 401. A verified one gets the header forge.HeaderResult, and
// 202 if something is polled or 200 with the reason if nothing is, so that people find it in the
// forge's delivery log and no forge disables the webhook.
func New(s *store.Store, identity seal.Identity) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Path, &handler{store: s, identity: identity})
	return problem.Mux(mux)
}

// handler handles the deliveries for all webhooks.
type handler struct {
	store    *store.Store
	identity seal.Identity
}

// deliveryResponse is the answer to a delivery, for the person who reads the forge's delivery log.
type deliveryResponse struct {
	Result string `json:"result"` // polling or ignored
	Detail string `json:"detail"`
}

func ignoredDelivery(format string, arguments ...any) deliveryResponse {
	return deliveryResponse{Result: "ignored", Detail: fmt.Sprintf(format, arguments...)}
}

// The errors for rejected deliveries.
var (
	deliveryUnverified = problem.Error{
		Status: http.StatusUnauthorized, Code: "unauthorized",
		Title: fmt.Sprintf("The delivery is not signed with the secret of this webhook, or its time is more than %d "+
			"minutes off.",
			int(forge.ReplayWindow.Minutes())),
		Detail: "Enter the address and the secret that `nuon webhooks create` or `nuon webhooks rotate` printed; " +
			"docs/git.md shows each forge's form.",
	}
	deliveryTooLarge = problem.New(http.StatusRequestEntityTooLarge, "too_large",
		fmt.Sprintf("The delivery has more than %d MiB.", forge.MaxBody>>20),
		"The branch is still polled at the usual interval.")
)

// ServeHTTP handles one delivery.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		problem.Write(w, problem.New(http.StatusMethodNotAllowed, "method_not_allowed",
			"This route takes webhook deliveries.", "Deliver them with POST."))
		return
	}
	from, known := forge.Identify(r.Header)
	if known && from.IsUnsignedPing(r.Header) {
		writeDeliveryResponse(w, http.StatusOK,
			ignoredDelivery("nuon answers at this address; %s does not sign this test, so it does not show whether the "+
				"secret is right",
				from.Title))
		return
	}
	answer, err := h.serve(w, r, from, known)
	switch {
	case err != nil:
		problem.Writer(slog.Default())(w, r, err)
	case answer.Result == "ignored":
		writeDeliveryResponse(w, http.StatusOK, answer)
	default:
		writeDeliveryResponse(w, http.StatusAccepted, answer)
	}
}

func writeDeliveryResponse(w http.ResponseWriter, status int, answer deliveryResponse) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client may have gone away
}

// serve reads, verifies and processes a delivery.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, from forge.Forge,
	known bool) (deliveryResponse, error) {
	org, hook := r.PathValue("org"), r.PathValue("hook")
	if !known || !looksLikeID(org) || !looksLikeID(hook) {
		return deliveryResponse{}, deliveryUnverified
	}
	secrets, err := h.secrets(r.Context(), org, hook)
	if err != nil {
		return deliveryResponse{}, fmt.Errorf("process a webhook delivery: %w", err)
	}
	body, err := readBody(w, r, len(secrets) > 0)
	if err != nil {
		return deliveryResponse{}, err
	}
	d := forge.Delivery{Header: r.Header, Body: body, Received: time.Now()}
	// Rejecting a delivery for a webhook that does not exist takes the same work.
	if len(secrets) == 0 {
		secrets = []seal.Secret{{}}
	}
	if from.Verify(d, secrets...) != nil {
		return deliveryResponse{}, deliveryUnverified
	}
	w.Header().Set(forge.HeaderResult, "verified")
	answer, err := h.processDelivery(r.Context(), org, hook, from, d)
	if _, is := problem.Of(err); err != nil && !is {
		err = fmt.Errorf("process a webhook delivery: %w", err)
	}
	return answer, err
}

// looksLikeID reports whether a part of a path can be an id, so that others cause no query and no error.
func looksLikeID(text string) bool {
	return text != "" && len(text) <= maxID && strings.Trim(text, id.Letters) == ""
}

// readBody reads the body. It reads larger bodies than usual only for a webhook that exists.
func readBody(w http.ResponseWriter, r *http.Request, exists bool) ([]byte, error) {
	most := int64(maxSmallBody)
	if exists {
		most = forge.MaxBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	if errors.As(err, &large) && !exists {
		return nil, deliveryUnverified
	}
	return body, bodyReadError(err)
}

// bodyReadError returns the error for a body that could not be read.
func bodyReadError(err error) error {
	var large *http.MaxBytesError
	_, known := problem.Of(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return deliveryTooLarge
	case known: // there is no room for it now
		return err
	}
	return problem.New(http.StatusBadRequest, "bad_request", "The body of the delivery is incomplete.",
		"Deliver it again.")
}

// secrets returns the webhook's secret, and the previous one while that is still accepted; none
// for a webhook that does not exist.
func (h *handler) secrets(ctx context.Context, org, hook string) (secrets []seal.Secret, err error) {
	err = h.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		secrets = nil
		row, err := tx.WebhookToVerify(ctx, tx.Org, hook)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		sealed := []json.RawMessage{row.Sealed}
		if row.Previous != nil {
			sealed = append(sealed, row.Previous)
		}
		for _, s := range sealed {
			secret, err := h.openSecret(org, hook, s)
			if err != nil {
				return err
			}
			secrets = append(secrets, secret)
		}
		return nil
	})
	return secrets, err
}

func (h *handler) openSecret(org, hook string, encoded json.RawMessage) (seal.Secret, error) {
	var sealed seal.Sealed
	if err := json.Unmarshal(encoded, &sealed); err != nil {
		return seal.Secret{}, err
	}
	return h.identity.Open(sealed, seal.Context{Org: org, Kind: seal.KindWebhook, Component: hook})
}

// processDelivery polls what a verified delivery reports, and records the answer.
func (h *handler) processDelivery(ctx context.Context, org, hook string, from forge.Forge,
	d forge.Delivery) (answer deliveryResponse, err error) {
	event, broken := from.Parse(d)
	err = h.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		result := ""
		if broken != nil {
			result = "refused: " + broken.Error()
		} else {
			if answer, err = pollPushed(ctx, tx, hook, from, d, event); err != nil {
				return err
			}
			result = answer.Result + ": " + answer.Detail
		}
		result = observe.PlainText(from.Title+" "+event.Name+": "+result, maxResultLength)
		return tx.SetWebhookDelivered(ctx, result, org, hook)
	})
	if err == nil && broken != nil {
		err = problem.New(http.StatusBadRequest, "bad_request", "The delivery is signed, but "+broken.Error()+".",
			"docs/git.md lists what each forge sends.")
	}
	return answer, err
}

// watchMatch lists the watches that a delivery concerns.
type watchMatch struct {
	// polled are the ids of the watches to poll, and announced those of them that the delivery
	// certainly concerns.
	polled, announced []string
	// refs are the names of polled, other those of the repository's other watched branches and
	// tags.
	refs, other []string
	// elsewhere is the URL of a repository with the same path on another host.
	elsewhere string
}

// matchWatches returns the watches that an event concerns.
func matchWatches(event forge.Event, watches []store.Watch) (a watchMatch) {
	for _, watch := range watches {
		match := forge.SameRepository
		if !event.Repository.IsZero() {
			match = event.Repository.Matches(watch.URL)
		}
		switch match {
		case forge.DifferentRepository:
			continue
		case forge.SamePathElsewhere:
			a.elsewhere = watch.URL
		}
		pushed := len(event.Refs) == 0 ||
			slices.ContainsFunc(event.Refs, func(ref string) bool { return forge.MatchesRef(ref, watch.Ref) })
		if event.Skipped != "" || !pushed {
			a.other = append(a.other, watch.Ref)
			continue
		}
		a.polled, a.refs = append(a.polled, watch.ID), append(a.refs, watch.Ref)
		if match == forge.SameRepository && !event.Repository.IsZero() {
			a.announced = append(a.announced, watch.ID)
		}
	}
	return a
}

// pollPushed polls the watches that a push concerns.
func pollPushed(ctx context.Context, tx *store.Tx, hook string, from forge.Forge, d forge.Delivery,
	event forge.Event) (deliveryResponse, error) {
	watches, err := tx.WatchesPolled(ctx, tx.Org)
	if err != nil {
		return deliveryResponse{}, err
	}
	a := matchWatches(event, watches)
	id := from.DeliveryID(d.Header)
	if len(a.polled) > 0 {
		if again, err := isDuplicate(ctx, tx, hook, from, id, d); err != nil || again {
			return ignoredDelivery("delivery %s was processed before, so nothing is polled again; `nuon repos poll` polls "+
				"at any time",
				id), err
		}
		if _, err := tx.LockWatches(ctx, tx.Org, a.polled); err != nil {
			return deliveryResponse{}, err
		}
		err := errors.Join(
			tx.RecordDelivery(ctx, store.RecordDeliveryParams{Forge: from.Name, DeliveryID: id, OrgID: tx.Org, Ids: a.polled}),
			tx.SetWatchWebhook(ctx, hook, tx.Org, a.announced),
			tx.MakeWatchesDue(ctx, tx.Org, a.polled))
		if err != nil {
			return deliveryResponse{}, err
		}
	}
	return a.response(event), nil
}

// isDuplicate records a delivery and reports whether it was recorded already. A delivery without
// an id is accepted each time.
func isDuplicate(ctx context.Context, tx *store.Tx, hook string, from forge.Forge, id string,
	d forge.Delivery) (bool, error) {
	if id == "" {
		return false, nil
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00", from.Name, id)
	sum.Write(d.Body) // two bodies with one id both count: GitLab uses one event id for all pushes of one git push
	added, err := tx.AddWebhookDelivery(ctx, tx.Org, hook, sum.Sum(nil))
	return added == 0, err
}

// response describes the result of a delivery.
func (a watchMatch) response(event forge.Event) deliveryResponse {
	refs := func(list []string) string {
		list = slices.Compact(slices.Sorted(slices.Values(list)))
		if len(list) > 10 {
			list = append(list[:10:10], "…")
		}
		return strings.Join(list, ", ")
	}
	where := event.Repository.String()
	switch {
	case len(a.polled) > 0 && event.Repository.IsZero():
		return deliveryResponse{Result: "polling", Detail: "every repository that apps of this org read: " + refs(a.refs)}
	case len(a.announced) > 0:
		return deliveryResponse{Result: "polling", Detail: refs(a.refs) + " of " + where}
	case len(a.polled) > 0:
		return deliveryResponse{Result: "polling",
			Detail: fmt.Sprintf("%s of %s, which has the same path as %s at another host; it stays polled at the usual interval",
				refs(a.refs), a.elsewhere, where)}
	case event.Skipped != "" && event.Repository.IsZero():
		return ignoredDelivery("%s", event.Skipped)
	case event.Repository.IsZero():
		return ignoredDelivery("no app of this org reads a repository")
	case event.Skipped != "" && len(a.other) > 0:
		return ignoredDelivery("%s; apps read %s of %s", event.Skipped, refs(a.other), where)
	case len(a.other) > 0:
		return ignoredDelivery("no app reads %s of %s; apps read %s there", refs(shortRefs(event.Refs)), where,
			refs(a.other))
	}
	detail := fmt.Sprintf("no app of this org reads %s; `nuon repos list` shows what is read, and by which address",
		where)
	if event.Skipped != "" {
		detail = event.Skipped + "; " + detail
	}
	return ignoredDelivery("%s", detail)
}

// shortRefs returns refs without the prefixes refs/heads/ and refs/tags/.
func shortRefs(refs []string) []string {
	short := make([]string, len(refs))
	for i, ref := range refs {
		short[i] = forge.ShortRef(ref)
	}
	return short
}
