package control

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// rotationGrace is how long the old secret is accepted after a rotation, to allow for the change at
// the forge.
const rotationGrace = 24 * time.Hour

// Limits of a webhook's secret, in bytes. Bitbucket accepts no more.
const (
	shortestWebhookSecret = 16
	longestWebhookSecret  = 128
)

// CreateWebhook implements POST /v1/webhooks.
func (s *Server) CreateWebhook(ctx context.Context, r CreateWebhookRequestObject) (CreateWebhookResponseObject, error) {
	hook := api.Webhook{ID: id.New("hok")}
	sealed, err := s.webhookSecret(ctx, &hook, r.Body.Secret)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddWebhook(ctx, tx.Org, hook.ID, sealed); err != nil {
			return err
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "webhook.create", hook.ID, nil)
	})
	return CreateWebhook201JSONResponse(hook), err
}

// RotateWebhook implements POST /v1/webhooks/{webhook}/rotate.
func (s *Server) RotateWebhook(ctx context.Context, r RotateWebhookRequestObject) (RotateWebhookResponseObject, error) {
	hook := api.Webhook{ID: r.Webhook}
	sealed, err := s.webhookSecret(ctx, &hook, r.Body.Secret)
	if err != nil {
		return nil, err
	}
	grace := rotationGrace
	if r.Body.AtOnce {
		grace = 0
	}
	err = s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		err := existing(tx.RotateWebhook(ctx, store.RotateWebhookParams{
			GraceSeconds: grace.Seconds(), Sealed: sealed, OrgID: tx.Org, ID: hook.ID,
		}))
		if err != nil {
			return named("webhook", hook.ID, err)
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "webhook.rotate", hook.ID, map[string]any{"at_once": r.Body.AtOnce})
	})
	return RotateWebhook200JSONResponse(hook), err
}

// webhookSecret sets a webhook's path and its secret, from the client or new, and returns the
// secret in its stored form.
func (s *Server) webhookSecret(ctx context.Context, hook *api.Webhook, sent *api.Sealed) ([]byte, error) {
	org := callerOf(ctx).org.ID
	hook.Path = hookPath(org, hook.ID)
	if sent == nil {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails: without randomness the runtime ends the program
		hook.Secret = forge.SecretPrefix + base64.StdEncoding.EncodeToString(key)
	} else {
		secret, err := s.key.Open(*sent, seal.WebhookContext(org))
		if err != nil {
			return nil, problem.New(http.StatusUnprocessableEntity, "wrong_key",
				"the secret is not sealed to this control plane's key, for a webhook",
				"Seal it to the key of GET /v1/sealing-key, as the nuon command does.")
		}
		hook.Secret = string(secret.Reveal())
		if len(hook.Secret) < shortestWebhookSecret || len(hook.Secret) > longestWebhookSecret {
			return nil, problem.New(http.StatusUnprocessableEntity, "bad_secret",
				fmt.Sprintf("the secret of a webhook has %d to %d bytes, and this one has %d",
					shortestWebhookSecret, longestWebhookSecret, len(hook.Secret)),
				"Omit it, and nuon generates one.")
		}
	}
	return s.sealFor(seal.Context{Org: org, Kind: seal.KindWebhook, Component: hook.ID}, []byte(hook.Secret))
}

// ListWebhooks implements GET /v1/webhooks.
func (s *Server) ListWebhooks(ctx context.Context, _ ListWebhooksRequestObject) (ListWebhooksResponseObject, error) {
	items, err := s.webhooks(ctx, "")
	return ListWebhooks200JSONResponse(api.WebhookList{Items: items}), err
}

// GetWebhook implements GET /v1/webhooks/{webhook}.
func (s *Server) GetWebhook(ctx context.Context, r GetWebhookRequestObject) (GetWebhookResponseObject, error) {
	items, err := s.webhooks(ctx, r.Webhook)
	if err == nil && (r.Webhook == "" || len(items) == 0) {
		err = named("webhook", r.Webhook, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return GetWebhook200JSONResponse(items[0]), nil
}

// webhooks returns one webhook, or all with an empty id.
func (s *Server) webhooks(ctx context.Context, id string) (items []api.KnownWebhook, err error) {
	err = s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewWebhooks(ctx, tx.Org, id)
		items = each(rows, func(w store.ViewWebhooksRow) api.KnownWebhook {
			return api.KnownWebhook{
				ID: w.ID, Path: hookPath(tx.Org, w.ID), CreatedAt: w.CreatedAt, RotatedAt: at(w.RotatedAt),
				PreviousUntil:  at(w.PreviousUntil),
				LastDeliveryAt: at(w.LastDeliveryAt), LastResult: w.LastResult,
			}
		})
		return err
	})
	return items, err
}

// DeleteWebhook implements DELETE /v1/webhooks/{webhook}.
func (s *Server) DeleteWebhook(ctx context.Context, r DeleteWebhookRequestObject) (DeleteWebhookResponseObject, error) {
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The repositories that it announced are polled at the usual interval from now on.
		if err := tx.MakeWatchesOfWebhookDue(ctx, tx.Org, r.Webhook); err != nil {
			return err
		}
		if err := existing(tx.DropWebhook(ctx, tx.Org, r.Webhook)); err != nil {
			return named("webhook", r.Webhook, err)
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "webhook.delete", r.Webhook, nil)
	})
	return DeleteWebhook204Response{}, err
}

// hookPath returns the path for deliveries to a webhook.
func hookPath(org, hook string) string { return "/hooks/" + org + "/" + hook }

// existing returns ErrNotFound for a change that found no row.
func existing(rows int64, err error) error {
	if err == nil && rows == 0 {
		return store.ErrNotFound
	}
	return err
}
