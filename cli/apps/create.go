package apps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/cli/worktree"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newCreate(e *cmdenv.Env) *cobra.Command {
	var n api.NewApp
	interactive := false
	c := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Create an app, connected to a git repository or (without --repo) uploaded by \"nuon sync\"",
		Long: `Create an app. With --repo, it is connected to a git repository, which is read again and again; without,
"nuon sync" uploads its config.

On a terminal, without NAME or with --interactive (-i), the command asks for what no flag sets. It proposes
the repository, the branch and the directory that it is run in.`,
		Example: `  nuon apps create hello --repo https://git.example/acme/hello --branch main
  nuon apps create hello --repo file://$PWD --directory examples/hello
  nuon apps create`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			args, err := askNew(c.Context(), e, c, args, interactive)
			if err != nil {
				return err
			}
			n.Name = args[0]
			if n.Directory = path.Clean(filepath.ToSlash(n.Directory)); !fs.ValidPath(n.Directory) {
				return exitcode.Usagef("--directory %s is outside the repository: use a path from the "+
					"repository's root, such as apps/shop", n.Directory)
			}
			return create(c.Context(), e, n)
		},
	}
	c.Flags().StringVar(&n.Repository, "repo", "", "https:// or file:// URL of the repository")
	c.Flags().StringVar(&n.Ref, "branch", "main", "branch, tag or commit to follow")
	c.Flags().StringVar(&n.Directory, "directory", ".", "directory of the app's config in the repository")
	c.Flags().StringVar(&n.Credential, "credential", "",
		"name of the credential for the repository (nuon credentials list)")
	c.Flags().BoolVarP(&interactive, "interactive", "i", false, "ask for what no flag sets")
	c.ValidArgsFunction = complete.Nothing
	complete.Flag(e, c, "credential", complete.Credentials)
	return c
}

func create(ctx context.Context, e *cmdenv.Env, n api.NewApp) error {
	client, err := e.Client()
	if err != nil {
		return err
	}
	if n.Repository == "" {
		n.Ref, n.Directory = "", ""
	}
	app, err := apiclient.Decode[api.App](client.CreateApp(ctx, &api.CreateAppParams{}, n))
	if err != nil {
		return err
	}
	return e.Console.Result(app, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "created app %s (%s)\n", app.Name, app.ID)
		return err
	})
}

// fieldName is the name of the field for the app's name; the others are called like their flags.
const fieldName = "name"

// askNew prompts for what the command line leaves open. It sets flags of the command and returns its arguments.
func askNew(ctx context.Context, e *cmdenv.Env, c *cobra.Command, args []string, interactive bool) ([]string, error) {
	if err := e.Console.CheckInteractive(interactive); err != nil {
		return nil, err
	}
	switch {
	case len(args) > 0 && !interactive:
		return args, nil
	case !interactive && !e.Console.AsksForMore():
		return nil, exitcode.Usagef("name the app, such as `nuon apps create hello --repo https://git.example/acme/hello`")
	}
	client, err := e.Client()
	if err != nil {
		return nil, err
	}
	credentials, err := complete.Credentials(ctx, client, nil)
	if err != nil && !apiclient.CodeIs(err, "forbidden") {
		return nil, err
	}
	fields, err := newFields(c, args, credentials)
	if err != nil {
		return nil, err
	}
	a, err := form.Ask(ctx, e.Console, []form.Page{{Title: c.Short, Fields: fields}})
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, f := range fields {
		answers[f.Name] = f.Value
		if entered, changed := a.Plain[f.Name]; changed {
			answers[f.Name] = entered
		}
	}
	if len(args) == 0 {
		args = []string{answers[fieldName]}
	}
	delete(answers, fieldName)
	if answers["repo"] == "" && !c.Flags().Changed("repo") {
		clear(answers) // an app without a repository has no branch and no directory
	}
	for flag, value := range answers {
		if value != "" && value != c.Flags().Lookup(flag).DefValue {
			if err := form.Set(c, flag, value); err != nil {
				return nil, err
			}
		}
	}
	form.ShowCommand(e.Console, c, args)
	return args, nil
}

// newFields returns the fields of what the command line leaves open. Their values are those of the current directory.
func newFields(c *cobra.Command, args []string, credentials []complete.Name) ([]form.Field, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	repo, branch, directory := "", "main", "."
	switch r, err := worktree.Open(here); {
	case errors.Is(err, worktree.ErrNone):
	case err != nil:
		return nil, fmt.Errorf("open the git work tree of %s: %w", here, err)
	default:
		repo, directory = r.URL(), r.Dir
		if b := r.Branch(); b != "" {
			branch = b
		}
	}
	var fields []form.Field
	if len(args) == 0 {
		name := strings.ToLower(filepath.Base(here))
		if form.NameProblem(name) != "" {
			name = ""
		}
		fields = append(fields, form.Field{Name: fieldName, Title: "Name", Value: name, Required: true,
			Check: form.NameProblem, Description: "Lower-case letters, digits, - and _."})
	}
	open := []form.Field{
		{Name: "repo", Title: "Repository", Value: repo,
			Description: "An https:// or file:// URL. If it is empty, nuon sync uploads the app."},
		{Name: "branch", Title: "Branch", Value: branch, Description: "A branch, tag or commit to follow."},
		{Name: "directory", Title: "Directory", Value: directory,
			Description: "The directory of the app's config in the repository."},
	}
	if len(credentials) > 0 {
		choices := append([]form.Choice{{About: "none"}}, form.Choices(credentials)...)
		open = append(open, form.Field{Name: "credential", Title: "Credential", Choices: choices})
	}
	for _, f := range open {
		if !c.Flags().Changed(f.Name) {
			fields = append(fields, f)
		}
	}
	return fields, nil
}
