package secretinput

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// NewCredentials returns the command `nuon credentials`.
func NewCredentials(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "credentials",
		Short: "Manage tokens for private git repositories, modules, images and charts"}
	c.AddCommand(newCreateCredential(e), newListCredentials(e), newUpdateCredential(e), newDeleteCredential(e))
	return c
}

func newCreateCredential(e *cmdenv.Env) *cobra.Command {
	var username, from string
	var repositories, modules, images, charts []string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Store a token for https:// repositories, sealed to the control plane's key",
		Args:  cobra.ExactArgs(1),
		Example: `  nuon credentials create github                    # asks for the token
  nuon credentials create github --from env:GIT_TOKEN
  nuon credentials create github --from @token.txt --repository https://github.com/acme/app
  nuon credentials create github --from @token.txt --repository 'https://github.com/acme/*'
  nuon credentials create registry --from env:TF_TOKEN --module https://app.terraform.io
  nuon credentials create modules --from @id_ed25519 --module 'ssh://git@github.com/acme/*'
  nuon credentials create ghcr --username acme-bot --from env:GHCR_TOKEN --image 'ghcr.io/acme/*'
  nuon credentials create charts --username acme-bot --from @token.txt --chart https://charts.acme.example`,
		Long: `Store a token for https:// repositories, sealed to the control plane's key.

The token is sent only to the repositories in --repository: the URL of a repository, or
https://host/owner/* for all repositories below it. Without --repository, this is the repository of the
first app that is created with the credential. Change it with "nuon credentials update".

With --module, builds use the credential for Terraform modules: the token of a private registry, the
token or the ssh key of git repositories, the password of archives. The build runner sends it only to
these addresses.

With --image, builds of container images use the credential as user name and password for a registry:
HOST for all of its images, HOST/PATH for one, or HOST/PATH/* for those below a path. Write Docker Hub
as docker.io. Such an address is listed, and removed, as oci://HOST/PATH.

With --chart, builds of charts use the credential as user name and password for a chart repository, and
for what is below it: its address as in repo_url, https:// or oci://. Such an address is listed, and
removed, with /* at its end.`,
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			secret, err := Read(ctx, e.Console, "token for "+args[0], from)
			if err != nil {
				return err
			}
			key, err := FetchKey(ctx, client, api.GetSealingKeyParams{})
			if err != nil {
				return err
			}
			sealed, err := key.Seal(seal.CredentialContext(key.Org, args[0]), secret)
			if err != nil {
				return err
			}
			made, err := apiclient.Decode[api.Credential](client.CreateCredential(ctx,
				api.NewCredential{Name: args[0], Username: username, Password: sealed, Repositories: repositories,
					Modules: slices.Concat(modules, imagePatterns(images), chartPatterns(charts))}))
			if err != nil {
				return err
			}
			return e.Console.Result(made, func(w io.Writer) error {
				_, err := fmt.Fprintf(w,
					"created credential %s; use it with `nuon apps create --credential %s`\n", made.Name, made.Name)
				return err
			})
		}),
	}
	c.ValidArgsFunction = complete.Nothing
	c.Flags().StringVar(&username, "username", "git", "user name for the token")
	c.Flags().StringVar(&from, "from", "", "source of the token: env:NAME or @FILE (default: prompt for it)")
	c.Flags().StringArrayVar(&repositories, "repository", nil,
		"`URL` that the token may be sent to, or https://host/owner/* (repeatable)")
	c.Flags().StringArrayVar(&modules, "module", nil, "`ADDRESS` of Terraform modules that builds may use it for: "+
		"https://host of a registry, the URL of a repository, or https://host/owner/* (repeatable)")
	c.Flags().StringArrayVar(&images, "image", nil,
		"`ADDRESS` of images that builds may use it for: HOST, HOST/PATH or HOST/PATH/* (repeatable)")
	c.Flags().StringArrayVar(&charts, "chart", nil,
		"`URL` of a chart repository that builds may use it for (repeatable)")
	return c
}

// imagePatterns returns the addresses of images in the form in which credentials name them.
func imagePatterns(addresses []string) []string {
	var patterns []string
	for _, address := range addresses {
		if !strings.Contains(address, "/") {
			address += "/*"
		}
		patterns = append(patterns, image.CredentialScheme+"://"+address)
	}
	return patterns
}

// chartPatterns returns the addresses of chart repositories in the form in which credentials name all
// that is below them.
func chartPatterns(addresses []string) []string {
	var patterns []string
	for _, address := range addresses {
		patterns = append(patterns, strings.TrimSuffix(strings.TrimRight(address, "/"), "/*")+"/*")
	}
	return patterns
}

func newListCredentials(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.Credential]{
		Header: []string{"NAME", "USER", "REPOSITORIES", "MODULES, IMAGES, CHARTS", "CREATED"},
		Row: func(k api.Credential) []string {
			return []string{k.Name, k.Username, strings.Join(k.Repositories, ", "), strings.Join(k.Modules, ", "),
				k.CreatedAt.Local().Format(time.DateOnly)}
		},
		Page: func(ctx context.Context, client *apiclient.Client, _ listing.Page) ([]api.Credential, string, error) {
			l, err := apiclient.Decode[api.CredentialList](client.ListCredentials(ctx))
			return l.Items, "", err
		},
	}
	return l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List credentials without their secrets", Args: cobra.NoArgs,
		Example: `  nuon credentials list`,
	})
}

func newUpdateCredential(e *cmdenv.Env) *cobra.Command {
	var change api.CredentialUpdate
	var images, charts []string
	c := &cobra.Command{
		Use:   "update CREDENTIAL",
		Short: "Change the repositories that a token may be sent to",
		Args:  cobra.ExactArgs(1),
		Example: `  nuon credentials update github --add-repository https://github.com/acme/modules
  nuon credentials update github --add-repository 'https://github.com/acme/*' --remove-repository https://github.com/acme/app`,
		ValidArgsFunction: complete.Args(e, complete.Credentials),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			change.AddModules = slices.Concat(change.AddModules, imagePatterns(images), chartPatterns(charts))
			if len(change.AddRepositories)+len(change.RemoveRepositories)+len(change.AddModules)+len(change.RemoveModules) == 0 {
				return exitcode.Usagef("name a repository with --add-repository or --remove-repository, modules with " +
					"--add-module or --remove-module, images with --add-image, or charts with --add-chart")
			}
			updated, err := apiclient.Decode[api.Credential](client.UpdateCredential(ctx, args[0], change))
			if err != nil {
				return err
			}
			return e.Console.Result(updated, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "credential %s may be used for:\n  %s\n",
					updated.Name, strings.Join(updated.Repositories, "\n  "))
				if err == nil && len(updated.Modules) > 0 {
					_, err = fmt.Fprintf(w, "and by builds for modules, images and charts at:\n  %s\n",
						strings.Join(updated.Modules, "\n  "))
				}
				return err
			})
		}),
	}
	c.Flags().StringArrayVar(&change.AddRepositories, "add-repository", nil,
		"`URL` to allow, or https://host/owner/* (repeatable)")
	c.Flags().StringArrayVar(&change.RemoveRepositories, "remove-repository", nil,
		"`URL` to remove, as it is listed (repeatable)")
	c.Flags().StringArrayVar(&change.AddModules, "add-module", nil,
		"`ADDRESS` of Terraform modules to allow (repeatable)")
	c.Flags().StringArrayVar(&change.RemoveModules, "remove-module", nil,
		"`ADDRESS` of Terraform modules, images or charts to remove, as it is listed (repeatable)")
	c.Flags().StringArrayVar(&images, "add-image", nil,
		"`ADDRESS` of images to allow, such as ghcr.io/acme/* (repeatable)")
	c.Flags().StringArrayVar(&charts, "add-chart", nil, "`URL` of a chart repository to allow (repeatable)")
	return c
}

func newDeleteCredential(e *cmdenv.Env) *cobra.Command {
	return e.Sure(&cobra.Command{
		Use:               "delete CREDENTIAL",
		Short:             "Delete a credential that no polled repository needs",
		Args:              cobra.ExactArgs(1),
		Example:           `  nuon credentials delete github --yes`,
		ValidArgsFunction: complete.Args(e, complete.Credentials),
	}, "skip the confirmation prompt", func(args []string) string {
		return fmt.Sprintf("this deletes credential %s, whose token cannot be recovered", args[0])
	}, func(ctx context.Context, client *apiclient.Client, args []string) error {
		if err := apiclient.CheckDone(client.DeleteCredential(ctx, args[0])); err != nil {
			return err
		}
		e.Console.Messagef("deleted credential %s", args[0])
		return nil
	})
}
