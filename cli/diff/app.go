package diff

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	model "github.com/nuon-toolkit/nuon/diff"
	appdiff "github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/configfetch"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// configs holds the flags of `nuon diff app`.
type configs struct {
	options
	old, new origin
	fetch    bool
}

func newApp(e *cmdenv.Env) *cobra.Command {
	var a configs
	c := &cobra.Command{
		Use: "app [OLD [NEW]]", Short: "Compare two versions of an app's config and code, and show the consequences",
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: directories,
		Long: `Compare two versions of an app's config and code, and show what syncing the change would cause: what is
built and deployed again, which inputs installs must supply, whether customers must run the install
stack again, and what is destroyed. Nothing is sent anywhere.

The comparison covers the configs, and the modules, charts, kustomizations and scripts of actions in the
same git repository: a component or an action whose code changed is listed with the changed files,
because a push builds it again. For a directory, the code is what git would commit if everything were added now. Code in other
repositories is not compared.

Each side is a directory, or a revision of the current git repository: main, HEAD~1, v1.4.0, a commit.
A revision has its config in the other side's directory, else in the current directory; to name
another, use REVISION:DIRECTORY, relative to the root of the repository. If a directory and a revision
have the same name, the directory is used. NEW is the current directory by default. With one directory,
or none, OLD is what is committed (HEAD).

A config with errors is not compared; its errors are listed. Files that a config refers to by https://
or git:: are read only with --fetch.`,
		Example: `  nuon diff app
  nuon diff app main
  nuon diff app v1.4.0:apps/ledger apps/ledger -o markdown
  nuon diff app last/ wanted/ --exit-code`,
		RunE: func(c *cobra.Command, args []string) error {
			a.given = c.Flags().Changed("output")
			if err := a.name(args); err != nil {
				return usageError(err)
			}
			compare := func(onto *console.Console, s *resolvedOptions) (*model.Report, error) {
				return a.report(c.Context(), onto, s)
			}
			return run(c.Context(), e.Console, a.options, nil, compare)
		},
	}
	a.flags(c)
	c.Flags().BoolVar(&a.fetch, "fetch", false, "also read remote files that the configs refer to")
	return c
}

// directories completes both arguments with directory names. Revisions are not completed.
func directories(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// name resolves the arguments to the two sides.
func (a *configs) name(args []string) error {
	var err error
	switch len(args) {
	case 2:
		a.old.name, a.new.name = args[0], args[1]
	case 1:
		a.old.name, a.new.name = args[0], "."
		if isDirectory(args[0]) {
			a.old.name, a.new.name = head, args[0]
		}
	default:
		a.old.name, a.new.name = head, "."
	}
	for _, s := range []*origin{&a.old, &a.new} {
		if s.name == stdin {
			return exitcode.Usagef("a config cannot be read from stdin; name a directory or a revision")
		}
		if s.directory, err = directoryOf(s.name); err != nil {
			return err
		}
	}
	// A revision has its config at the same path as the other side.
	for _, pair := range [][2]*origin{{&a.old, &a.new}, {&a.new, &a.old}} {
		if !pair[0].directory {
			pair[0].beside = "."
			if pair[1].directory {
				pair[0].beside = pair[1].name
			}
		}
	}
	return nil
}

// report loads both sides and compares them.
func (a *configs) report(ctx context.Context, c *console.Console, s *resolvedOptions) (*model.Report, error) {
	before, err := a.load(ctx, c, &a.old)
	if err != nil {
		return nil, err
	}
	after, err := a.load(ctx, c, &a.new)
	if err != nil {
		return nil, err
	}
	o := appdiff.Options{Secrets: s.secrets, TagKey: s.tagKey}
	o.Limit, o.Lines, o.Context = s.bounds()
	if o.Code, err = a.code(before, after); err != nil {
		return nil, err
	}
	return appdiff.Report(before, after, o)
}

// code compares the code of the components. It returns nil if a side is in no
// git repository, or if both sides are directories of the same work tree.
func (a *configs) code(before, after *appconfig.App) (map[string]appcode.Change, error) {
	was, is := a.old.repository, a.new.repository
	if a.old.directory && a.new.directory && was != nil && is != nil && was.Root == is.Root {
		return nil, nil
	}
	return a.compareCode(before, after)
}

func (a *configs) compareCode(before, after *appconfig.App) (map[string]appcode.Change, error) {
	was, err := a.old.side(before)
	if err != nil || was.Tree == nil {
		return nil, err
	}
	is, err := a.new.side(after)
	if err != nil || is.Tree == nil {
		return nil, err
	}
	return appcode.Compare(was, is)
}

// side returns an app with the code of its repository.
func (s *origin) side(app *appconfig.App) (appcode.Side, error) {
	tree, err := s.tree()
	if err != nil || tree == nil {
		return appcode.Side{}, err
	}
	return appcode.Side{App: app, Tree: tree, Repository: s.repository.Remote(), Branch: s.repository.Branch()}, nil
}

// load reads the config of a side. It prints errors but no warnings, which `nuon validate` prints.
func (a *configs) load(ctx context.Context, c *console.Console, s *origin) (*appconfig.App, error) {
	files, err := s.open()
	if err != nil {
		return nil, err
	}
	o, done := s.inRepository()
	defer done()
	if a.fetch {
		o.Fetch = configfetch.Local().Load(ctx)
	}
	app, found := appconfig.Load(files, o)
	if app != nil {
		return app, nil
	}
	for _, d := range found {
		if d.Severity == diagnostic.Error {
			d.File = s.prefix() + d.File
			c.Messagef("%s", console.Line(d.String()))
		}
	}
	return nil, &exitcode.Error{Code: exitcode.Usage}
}

// prefix returns the prefix for the file names of a side.
func (s *origin) prefix() string {
	name := cmp.Or(s.shown, s.name)
	if name == "." || strings.HasSuffix(name, ":") || strings.HasSuffix(name, "/") {
		return strings.TrimPrefix(name, ".")
	}
	return name + "/"
}
