// Package vault holds the commands that hand a secret over: credentials for git, webhooks, and values of sensitive inputs. A
// secret is read from a file, the environment or a prompt, never from an argument, and sealed before it leaves.
package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// NewCredentials is `nuon credentials`.
func NewCredentials(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "credentials", Short: "Tokens for private git repositories"}
	c.AddCommand(newCreateCredential(e), newListCredentials(e))
	return c
}

func newCreateCredential(e *env.Env) *cobra.Command {
	var username, from string
	c := &cobra.Command{
		Use: "create NAME", Short: "Keep a token for https:// repositories, sealed to the control plane's key", Args: cobra.ExactArgs(1),
		Example: `  nuon credentials create github                    # asks for the token
  nuon credentials create github --from env:GIT_TOKEN
  nuon credentials create github --from @token.txt`,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			secret, err := Read(e.Console, "token for "+args[0], from)
			if err != nil {
				return err
			}
			sealed, err := Seal(ctx, client, "", secret)
			if err != nil {
				return err
			}
			made, err := remote.Get[api.Credential](client.CreateCredential(ctx, api.NewCredential{Name: args[0], Username: username, Password: sealed}))
			if err != nil {
				return err
			}
			return e.Console.Result(made, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "credential %s kept; name it with `nuon apps create --credential %s`\n", made.Name, made.Name)
				return err
			})
		}),
	}
	c.Flags().StringVar(&username, "username", "git", "user name that goes with the token")
	c.Flags().StringVar(&from, "from", "", "where the token is: env:NAME or @FILE (default: ask)")
	return c
}

func newListCredentials(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the credentials, without their secrets", Args: cobra.NoArgs,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, _ []string) error {
			l, err := remote.Get[api.CredentialList](client.ListCredentials(ctx))
			if err != nil {
				return err
			}
			var rows [][]string
			for _, k := range l.Items {
				rows = append(rows, []string{k.Name, k.Username, k.CreatedAt.Format("2006-01-02")})
			}
			return e.Console.List(l.Items, []string{"NAME", "USER", "SINCE"}, rows)
		}),
	}
}

// NewWebhooks is `nuon webhooks`.
func NewWebhooks(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "webhooks", Short: "Signed webhooks that make the control plane look at git now"}
	c.AddCommand(&cobra.Command{
		Use: "create", Short: "Make a webhook and print its address and secret, once", Args: cobra.NoArgs,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, _ []string) error {
			hook, err := remote.Get[api.Webhook](client.CreateWebhook(ctx))
			if err != nil {
				return err
			}
			return e.Console.Result(hook, func(w io.Writer) error { return showWebhook(w, client.URL, hook) })
		}),
	})
	return c
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

// Read gets a secret from env:NAME, @FILE, or (empty) from whoever sits at the terminal.
func Read(c *console.Console, what, from string) (seal.Secret, error) {
	switch {
	case strings.HasPrefix(from, "env:"):
		v, ok := os.LookupEnv(strings.TrimPrefix(from, "env:"))
		if !ok {
			return seal.Secret{}, exit.Usagef("%s: the environment has no %s", what, strings.TrimPrefix(from, "env:"))
		}
		return seal.NewSecret([]byte(v)), nil
	case strings.HasPrefix(from, "@"):
		b, err := os.ReadFile(strings.TrimPrefix(from, "@"))
		if err != nil {
			return seal.Secret{}, exit.With(exit.Usage, fmt.Errorf("%s: %w", what, err))
		}
		if line, ended := bytes.CutSuffix(b, []byte("\n")); ended { // what an editor puts at the end is no part of it
			b = bytes.TrimSuffix(line, []byte("\r"))
		}
		return seal.NewSecret(b), nil
	case from != "":
		return seal.Secret{}, exit.Usagef("%s: say where it is with env:NAME or @FILE; a secret in an argument can be seen by others", what)
	}
	tty, ok := c.In.(*os.File)
	if !ok || !term.IsTerminal(int(tty.Fd())) {
		return seal.Secret{}, exit.With(exit.Usage, errors.New(what+": there is no terminal to ask on; say where it is with env:NAME or @FILE"))
	}
	fmt.Fprintf(c.Err, "%s (not shown): ", what)
	b, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(c.Err)
	if err != nil {
		return seal.Secret{}, fmt.Errorf("read %s: %w", what, err)
	}
	return seal.NewSecret(b), nil
}

// Seal seals a secret to an install's key, or (install empty) to the control plane's.
func Seal(ctx context.Context, client *remote.Client, install string, secret seal.Secret) (seal.Sealed, error) {
	key, err := remote.Get[api.SealingKey](client.GetSealingKey(ctx, &api.GetSealingKeyParams{Install: install}))
	if err != nil {
		return seal.Sealed{}, err
	}
	to, err := seal.ParseRecipient(key.Recipient)
	if err != nil {
		return seal.Sealed{}, fmt.Errorf("read the sealing key: %w", err)
	}
	return to.Seal(secret.Reveal())
}
