// Package validate is `nuon validate`: an app's config checked where it lies, with the rules that the control plane applies.
package validate

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// New is the command.
func New(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "validate [DIRECTORY]", Short: "Check an app's config and list all that is wrong with it", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			app, found, err := Load(dir)
			if err != nil {
				return err
			}
			if err := e.Console.Result(found, func(w io.Writer) error { return show(w, app, found) }); err != nil {
				return err
			}
			if found.HasErrors() {
				return &exit.Error{Code: exit.Usage}
			}
			return nil
		},
	}
}

// Load reads the config in a directory.
func Load(dir string) (*appconfig.App, appconfig.Diagnostics, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err != nil {
		return nil, nil, exit.With(exit.Usage, fmt.Errorf("read the config in %s: %w", dir, err))
	}
	app, found := appconfig.Load(os.DirFS(dir), appconfig.Options{})
	if found == nil {
		found = appconfig.Diagnostics{}
	}
	return app, found, nil
}

func show(w io.Writer, app *appconfig.App, found appconfig.Diagnostics) error {
	for _, d := range found {
		if _, err := fmt.Fprintln(w, console.Line(d.String())); err != nil {
			return err
		}
	}
	if app == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "valid: %s, %s, %s, %s (%s)\n", count(len(app.Components), "component"), count(len(app.Actions), "action"),
		count(len(app.Inputs), "input"), count(len(app.Installs), "install"), console.Short(app.Digest()))
	return err
}

// count says how many of something there are.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
