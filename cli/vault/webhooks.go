package vault

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// NewWebhooks is `nuon webhooks`.
func NewWebhooks(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "webhooks", Short: "Signed webhooks that make the control plane look at git now"}
	c.AddCommand(newListWebhooks(e), newCreateWebhook(e), newDeleteWebhook(e))
	return c
}

func newListWebhooks(e *env.Env) *cobra.Command {
	l := &listing.List[api.KnownWebhook]{
		Header: []string{"ID", "PATH", "SINCE", "LAST DELIVERY"},
		Row: func(h api.KnownWebhook) []string {
			last := "never"
			if !h.LastDeliveryAt.IsZero() {
				last = h.LastDeliveryAt.Local().Format(time.DateTime)
			}
			return []string{h.ID, h.Path, h.CreatedAt.Local().Format(time.DateOnly), last}
		},
		Page: func(ctx context.Context, client *remote.Client, _ listing.Page) ([]api.KnownWebhook, string, error) {
			l, err := remote.Get[api.WebhookList](client.ListWebhooks(ctx))
			return l.Items, "", err
		},
	}
	return l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the webhooks, without their secrets", Args: cobra.NoArgs,
		Example: `  nuon webhooks list`,
	})
}

func newCreateWebhook(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "create", Short: "Make a webhook and print its address and secret, once", Args: cobra.NoArgs,
		Example: `  nuon webhooks create -o json`,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, _ []string) error {
			hook, err := remote.Get[api.Webhook](client.CreateWebhook(ctx))
			if err != nil {
				return err
			}
			return e.Console.Result(hook, func(w io.Writer) error { return showWebhook(w, client.URL, hook) })
		}),
	}
}

func newDeleteWebhook(e *env.Env) *cobra.Command {
	return e.Sure(&cobra.Command{
		Use: "delete WEBHOOK", Short: "Refuse deliveries to a webhook from now on", Args: cobra.ExactArgs(1),
		Example:           `  nuon webhooks delete hok_06gvn3e82qfnps3l02b9i1pa6k --yes`,
		ValidArgsFunction: complete.Args(e, complete.Webhooks),
	}, "yes, drop it", func(args []string) string {
		return fmt.Sprintf("this drops webhook %s, and its secret with it", args[0])
	}, func(ctx context.Context, client *remote.Client, args []string) error {
		if err := remote.Done(client.DeleteWebhook(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Say("webhook %s dropped", args[0])
		return nil
	})
}

func showWebhook(w io.Writer, url string, hook api.Webhook) error {
	_, err := fmt.Fprintf(w, `address  %s%s
secret   %s

Send a POST with the headers
  X-Nuon-Timestamp: <seconds since 1970>
  X-Nuon-Signature: sha256=<hex of HMAC-SHA256 with the secret over "<timestamp>.<body>">
`, strings.TrimSuffix(url, "/"), hook.Path, hook.Secret)
	return err
}
