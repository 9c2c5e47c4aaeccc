// Package images implements `nuon images`, which finds the container images that an app runs: in its
// manifests, and in what its charts render.
//
// An image is mirrored if its address comes from the outputs of a container_image or docker_build
// component; every other image is pulled from outside of the customer's registry. The package reads
// config directories, has runnerd render charts, and contacts no control plane. Only adopt --write
// changes files.
package images

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/format"
	"github.com/nuon-toolkit/nuon/cli/validate"
	"github.com/nuon-toolkit/nuon/cli/worktree"
)

const listHelp = `List the images of an app: those in the manifests and in the rendered charts of the config in a
directory, with the component that mirrors each into the customer's registry.

Templates are rendered with the defaults of inputs, and with placeholders for everything else that only
an install knows. Charts are rendered as for an installation, without a cluster. Charts and manifests of
other repositories, and kustomizations, are listed as not read.

An image without a component is pulled from outside of the customer's registry. With --require-mirrored,
the exit code is 1 if there is one, or if something was not read. "nuon images adopt" writes the components.

Chart repositories are read without credentials. This command runs runnerd, which must be beside nuon or
on PATH.`

const adoptHelp = `Mirror images that the app pulls from outside of the customer's registry: write a container_image
component for each, and change the manifests and the values of charts that name it, so that they read the
address from the component's outputs.

Without --write, the changes are printed as a diff and no file is changed. Every change is checked first:
the app is rendered with it, and an image that would still be pulled from outside is left as it was and
listed with the reason.`

// New returns the images command.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "images", Short: "Find and mirror container images"}
	c.AddCommand(newList(e), newAdopt(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use: "list [DIRECTORY]", Short: "List the images of an app, and which component mirrors each", Long: listHelp,
		Example: "  nuon images list\n  nuon images list --require-mirrored -o json",
	}
	runOnApp(c, func(ctx context.Context, a *app) error {
		found := a.list(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.Console.Result(found, func(w io.Writer) error { return found.print(w, e.Console) }); err != nil {
			return err
		}
		if strict && !found.mirrored() {
			return &exitcode.Error{Code: exitcode.Failed}
		}
		return nil
	})
	c.Flags().BoolVar(&strict, "require-mirrored", false, "exit with 1 if an image is not mirrored")
	return c
}

func newAdopt(e *cmdenv.Env) *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use: "adopt [DIRECTORY]", Short: "Write components for the images that are not mirrored", Long: adoptHelp,
		Example: "  nuon images adopt\n  nuon images adopt --write",
	}
	runOnApp(c, func(ctx context.Context, a *app) error {
		adoption, err := a.adopt(ctx)
		if err == nil && write {
			err = adoption.write(a.dir)
		}
		if err != nil {
			return err
		}
		adoption.Written = write
		return e.Console.Result(adoption, adoption.print)
	})
	c.Flags().BoolVar(&write, "write", false, "change the files")
	return c
}

// runOnApp makes a command take the directory of an app's config, and run with the app.
func runOnApp(c *cobra.Command, run func(ctx context.Context, a *app) error) {
	c.Args = cobra.MaximumNArgs(1)
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		a, err := open(c.Context(), args)
		if err != nil {
			return err
		}
		return run(c.Context(), a)
	}
}

// open reads the config of an app.
func open(ctx context.Context, args []string) (*app, error) {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	config, _, err := validate.Load(ctx, dir)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return nil, exitcode.Usagef("the config in %s has errors; run \"nuon validate %s\"", console.Line(dir),
			console.Line(dir))
	}
	a := &app{dir: dir, config: config}
	if tree, err := worktree.Open(dir); err == nil { // without one, only the config itself is read
		a.root, a.repository, a.branch = tree.Root, tree.Remote(), tree.Branch()
	}
	return a, nil
}

// print prints the images as a table, and what was not read.
func (l *List) print(w io.Writer, c *console.Console) error {
	rows := [][]string{}
	for _, i := range l.Images {
		rows = append(rows, []string{i.Component, i.Object, i.Image, i.state()})
	}
	if err := c.Table(w, []string{"COMPONENT", "OBJECT", "IMAGE", "MIRRORED BY"}, rows); err != nil {
		return err
	}
	for _, p := range l.NotRead {
		if _, err := fmt.Fprintf(w, "%s was not read: %s\n", p.Component, console.Line(p.Problem)); err != nil {
			return err
		}
	}
	return nil
}

// print prints the changes as a diff, and what is left.
func (m *Adoption) print(w io.Writer) error {
	for _, file := range m.Files {
		if _, err := io.WriteString(w, format.Unified(file.Path, file.Before, file.After)); err != nil {
			return err
		}
	}
	for _, left := range m.Left {
		_, err := fmt.Fprintf(w, "%s of %s is left: %s\n", console.Line(left.Image), left.Component, left.Problem)
		if err != nil {
			return err
		}
	}
	summary := "nothing was changed; with --write these files are written"
	switch {
	case len(m.Files) == 0:
		summary = "there is nothing to change"
	case m.Written:
		summary = fmt.Sprintf("%d files were written; run \"nuon validate\" and commit them", len(m.Files))
	}
	_, err := fmt.Fprintln(w, summary)
	return err
}
