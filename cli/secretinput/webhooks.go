package secretinput

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// NewWebhooks returns the command `nuon webhooks`.
func NewWebhooks(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "webhooks", Short: "Manage webhooks that receive pushes from git forges"}
	c.AddCommand(newListWebhooks(e), newGetWebhook(e), newCreateWebhook(e), newRotateWebhook(e), newDeleteWebhook(e))
	return c
}

func newListWebhooks(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.KnownWebhook]{
		Header: []string{"ID", "PATH", "CREATED", "LAST DELIVERY", "RESULT"},
		Row: func(h api.KnownWebhook) []string {
			return []string{h.ID, h.Path, h.CreatedAt.Local().Format(time.DateOnly), lastDelivery(h), h.LastResult}
		},
		Page: func(ctx context.Context, client *apiclient.Client, _ listing.Page) ([]api.KnownWebhook, string, error) {
			l, err := apiclient.Decode[api.WebhookList](client.ListWebhooks(ctx))
			return l.Items, "", err
		},
	}
	return l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List webhooks without their secrets", Args: cobra.NoArgs,
		Example: `  nuon webhooks list`,
	})
}

func lastDelivery(h api.KnownWebhook) string {
	if h.LastDeliveryAt.IsZero() {
		return "never"
	}
	return h.LastDeliveryAt.Local().Format(time.DateTime)
}

// shownWebhook is a webhook with its full URL.
type shownWebhook struct {
	api.Webhook

	URL string `json:"url"`
}

func newGetWebhook(e *cmdenv.Env) *cobra.Command {
	var by string
	c := &cobra.Command{
		Use: "get WEBHOOK", Short: "Show the address and last delivery of a webhook", Args: cobra.ExactArgs(1),
		Long: `Show the address and last delivery of a webhook. Its secret is not shown again; create another one with
"nuon webhooks rotate".`,
		Example: `  nuon webhooks get hok_06gvn3e82qfnps3l02b9i1pa6k
  nuon webhooks get hok_06gvn3e82qfnps3l02b9i1pa6k --forge gitlab`,
		ValidArgsFunction: complete.Args(e, complete.Webhooks),
	}
	c.RunE = withForge(&by, e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
		h, err := apiclient.Decode[api.KnownWebhook](client.GetWebhook(ctx, args[0]))
		if err != nil {
			return err
		}
		shown := struct {
			api.KnownWebhook

			URL string `json:"url"`
		}{h, address(client, h.Path)}
		return e.Console.Result(shown, func(w io.Writer) error {
			fmt.Fprintf(w, "webhook        %s\nURL            %s\nsecret         since %s, shown only then\n",
				h.ID, shown.URL,
				timeOr(h.RotatedAt, h.CreatedAt).Local().Format(time.DateTime))
			if time.Now().Before(h.PreviousUntil) {
				fmt.Fprintf(w, "               the previous one is accepted until %s\n",
					h.PreviousUntil.Local().Format(time.DateTime))
			}
			_, err := fmt.Fprintf(w, "last delivery  %s\nresult         %s\n",
				lastDelivery(h), console.Line(cmp.Or(h.LastResult, "-")))
			if err != nil || by == "" {
				return err
			}
			return showForm(w, by, shown.URL, "the secret that was shown at its creation")
		})
	}))
	addForge(c, &by)
	return c
}

func timeOr(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

func newCreateWebhook(e *cmdenv.Env) *cobra.Command {
	var by, from string
	c := &cobra.Command{
		Use: "create", Short: "Create a webhook and print its address and secret", Args: cobra.NoArgs,
		Long: `Create a webhook and print its address and its secret, which is shown only once.

One webhook serves all repositories of the org at every forge: enter the address and the secret in the
webhook form of each repository, group or organization. --forge prints them as the fields of this form;
docs/git.md shows each.`,
		Example: `  nuon webhooks create --forge github
  nuon webhooks create -o json`,
	}
	c.RunE = withForge(&by, e.Call(func(ctx context.Context, client *apiclient.Client, _ []string) error {
		secret, err := readSecret(ctx, e, client, from)
		if err != nil {
			return err
		}
		hook, err := apiclient.Decode[api.Webhook](client.CreateWebhook(ctx, api.NewWebhook{Secret: secret}))
		if err != nil {
			return err
		}
		return showWebhook(e, client, hook, by)
	}))
	addForge(c, &by)
	addFrom(c, &from)
	return c
}

func newRotateWebhook(e *cmdenv.Env) *cobra.Command {
	var by, from string
	var now bool
	c := &cobra.Command{
		Use: "rotate WEBHOOK", Short: "Replace the secret of a webhook and print the new one", Args: cobra.ExactArgs(1),
		Long: `Replace the secret of a webhook and print the new one, which is shown only once.

The old secret is accepted for 24 more hours, so that no delivery fails until the new one is entered at
the forge; --now rejects it immediately.`,
		Example: `  nuon webhooks rotate hok_06gvn3e82qfnps3l02b9i1pa6k
  nuon webhooks rotate hok_06gvn3e82qfnps3l02b9i1pa6k --from @signing-token.txt   # one that GitLab made`,
		ValidArgsFunction: complete.Args(e, complete.Webhooks),
	}
	c.RunE = withForge(&by, e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
		secret, err := readSecret(ctx, e, client, from)
		if err != nil {
			return err
		}
		hook, err := apiclient.Decode[api.Webhook](client.RotateWebhook(ctx, args[0],
			api.WebhookRotation{Secret: secret, AtOnce: now}))
		if err != nil {
			return err
		}
		return showWebhook(e, client, hook, by)
	}))
	c.Flags().BoolVar(&now, "now", false, "reject the old secret immediately")
	addForge(c, &by)
	addFrom(c, &from)
	return c
}

func newDeleteWebhook(e *cmdenv.Env) *cobra.Command {
	return e.Sure(&cobra.Command{
		Use: "delete WEBHOOK", Short: "Delete a webhook and reject its deliveries", Args: cobra.ExactArgs(1),
		Example:           `  nuon webhooks delete hok_06gvn3e82qfnps3l02b9i1pa6k --yes`,
		ValidArgsFunction: complete.Args(e, complete.Webhooks),
	}, "skip the confirmation prompt", func(args []string) string {
		return fmt.Sprintf("this deletes webhook %s and its secret", args[0])
	}, func(ctx context.Context, client *apiclient.Client, args []string) error {
		if err := apiclient.CheckDone(client.DeleteWebhook(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Messagef("deleted webhook %s", args[0])
		return nil
	})
}

// addForge adds the flag --forge.
func addForge(c *cobra.Command, by *string) {
	c.Flags().StringVar(by, "forge", "",
		"print the fields of this forge's webhook form: "+strings.Join(forge.Names(), ", "))
	complete.FlagWords(c, "forge", forge.Names()...)
}

// withForge rejects an unknown forge before it calls do.
func withForge(by *string, do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if _, known := forge.Find(*by); *by != "" && !known {
			return exitcode.Usagef("--forge %s: use one of %s", *by, strings.Join(forge.Names(), ", "))
		}
		return do(c, args)
	}
}

func addFrom(c *cobra.Command, from *string) {
	c.Flags().StringVar(from, "from", "", "source of your own secret: env:NAME or @FILE (default: generate one)")
}

// readSecret reads and seals the secret of --secret; it returns nil without one.
func readSecret(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, from string) (*api.Sealed, error) {
	if from == "" {
		return nil, nil
	}
	secret, err := Read(ctx, e.Console, "secret of the webhook", from)
	if err != nil {
		return nil, err
	}
	key, err := FetchKey(ctx, client, api.GetSealingKeyParams{})
	if err != nil {
		return nil, err
	}
	sealed, err := key.Seal(seal.WebhookContext(key.Org), secret)
	return &sealed, err
}

func address(client *apiclient.Client, path string) string {
	return strings.TrimSuffix(client.URL, "/") + path
}

// showWebhook prints a webhook with its secret, as the fields of a forge's form if one is named.
func showWebhook(e *cmdenv.Env, client *apiclient.Client, hook api.Webhook, by string) error {
	shown := shownWebhook{Webhook: hook, URL: address(client, hook.Path)}
	if isLocalAddress(client.URL) {
		e.Console.Messagef("The address is local to this machine. A forge on another machine needs an address that it " +
			"can reach.")
	}
	return e.Console.Result(shown, func(w io.Writer) error {
		if by != "" {
			return showForm(w, by, shown.URL, hook.Secret)
		}
		_, err := fmt.Fprintf(w, "webhook  %s\nURL      %s\nsecret   %s\n\nThe secret is shown only once. List the "+
			"fields of a forge's form with \"nuon webhooks get %s --forge %s\".\n",
			hook.ID, shown.URL, hook.Secret, hook.ID, forge.Names()[0])
		return err
	})
}

// isLocalAddress reports whether an address is that of the local machine.
func isLocalAddress(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && (parsed.Hostname() == "localhost" || net.ParseIP(parsed.Hostname()).IsLoopback())
}

// showForm prints what to enter in the form of a forge.
func showForm(w io.Writer, by, url, secret string) error {
	f, _ := forge.Find(by)
	fields, width := f.Form.Fill(url, secret), 0
	for _, field := range fields {
		width = max(width, len(field.Name))
	}
	fmt.Fprintf(w, "%s: %s\n", f.Title, f.Form.Page)
	for _, field := range fields {
		fmt.Fprintf(w, "  %-*s  %s\n", width, field.Name, field.Value)
	}
	var err error
	if f.Form.Note != "" {
		_, err = fmt.Fprintf(w, "%s\n", f.Form.Note)
	}
	return err
}
