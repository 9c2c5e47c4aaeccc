package vault

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// NewCredentials is `nuon credentials`.
func NewCredentials(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "credentials", Short: "Tokens for private git repositories"}
	c.AddCommand(newCreateCredential(e), newListCredentials(e), newDeleteCredential(e))
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
			secret, err := Read(ctx, e.Console, "token for "+args[0], from)
			if err != nil {
				return err
			}
			key, err := Ask(ctx, client, api.GetSealingKeyParams{})
			if err != nil {
				return err
			}
			sealed, err := key.Seal(seal.CredentialContext(key.Org, args[0]), secret)
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
	c.ValidArgsFunction = complete.Nothing
	c.Flags().StringVar(&username, "username", "git", "user name that goes with the token")
	c.Flags().StringVar(&from, "from", "", "where the token is: env:NAME or @FILE (default: ask)")
	return c
}

func newListCredentials(e *env.Env) *cobra.Command {
	l := &listing.List[api.Credential]{
		Header: []string{"NAME", "USER", "SINCE"},
		Row: func(k api.Credential) []string {
			return []string{k.Name, k.Username, k.CreatedAt.Local().Format(time.DateOnly)}
		},
		Page: func(ctx context.Context, client *remote.Client, _ listing.Page) ([]api.Credential, string, error) {
			l, err := remote.Get[api.CredentialList](client.ListCredentials(ctx))
			return l.Items, "", err
		},
	}
	return l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the credentials, without their secrets", Args: cobra.NoArgs,
		Example: `  nuon credentials list`,
	})
}

func newDeleteCredential(e *env.Env) *cobra.Command {
	return e.Sure(&cobra.Command{
		Use: "delete CREDENTIAL", Short: "Forget a token for git that no watched repository needs", Args: cobra.ExactArgs(1),
		Example:           `  nuon credentials delete github --yes`,
		ValidArgsFunction: complete.Args(e, complete.Credentials),
	}, "yes, forget it", func(args []string) string {
		return fmt.Sprintf("this forgets the credential %s, which nobody can read out again", args[0])
	}, func(ctx context.Context, client *remote.Client, args []string) error {
		if err := remote.Done(client.DeleteCredential(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Say("credential %s forgotten", args[0])
		return nil
	})
}
