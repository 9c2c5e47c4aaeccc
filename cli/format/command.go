// Package format implements `nuon fmt`, which formats the TOML files of apps in one fixed style.
// It finds the files and prints or writes the changes; package style does the formatting. It
// reads no other files, follows no symbolic links and contacts no control plane.
package format

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// options are the flags of the command.
type options struct {
	check, diff bool
}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "fmt [FILE|DIRECTORY...]",
		Short: "Format the TOML files of an app",
		Args:  cobra.ArbitraryArgs,
		Long: `Format TOML files in the style of all apps: aligned =, a blank line before each table, comments in
place. Values, the order of keys and the meaning of the file do not change. There are no options of
style, and formatting a formatted file changes nothing.

For a directory, the app's files in it are formatted, or those of each app below it (a directory with
metadata.toml, sandbox.toml or nuon.NAME.toml); other files are left alone. The default is the current
directory. A single - formats stdin to stdout.

The names of changed files are printed, and only these are written. A file with a syntax error is
reported with its position and left unchanged, the others are formatted, and the exit code is 2.`,
		Example: "  nuon fmt\n  nuon fmt --check .              # in CI: writes nothing, exit code 1 if something would " +
			"change\n  nuon fmt --diff components/web.toml",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return run(c.Context(), e.Console, o, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"toml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	c.Flags().BoolVar(&o.check, "check", false,
		"write nothing, list files that would change, and exit with 1 if there are any")
	c.Flags().BoolVar(&o.diff, "diff", false, "write nothing, print a diff of what would change")
	return c
}

// Formatted is the output of the command as data.
type Formatted struct {
	// files that were written, or would be without --check or --diff
	Changed     []string               `json:"changed"`
	Unchanged   int                    `json:"unchanged"`   // number of files that were formatted already
	Written     bool                   `json:"written"`     // whether files may be written
	Text        string                 `json:"text"`        // for - only: the formatted input
	Diagnostics diagnostic.Diagnostics `json:"diagnostics"` // of files that were not changed because of an error
}

func run(ctx context.Context, c *console.Console, o options, args []string) error {
	j := job{options: o, done: Formatted{Changed: []string{}, Diagnostics: diagnostic.Diagnostics{}}}
	if err := j.all(ctx, c.In, args); err != nil {
		return err
	}
	if err := c.Result(j.done, func(w io.Writer) error { return j.show(c, w) }); err != nil {
		return err
	}
	switch {
	case len(j.done.Diagnostics) > 0:
		return &exitcode.Error{Code: exitcode.Usage}
	case o.check && len(j.done.Changed) > 0:
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

// all formats the files that the arguments name.
func (j *job) all(ctx context.Context, in io.Reader, args []string) error {
	if len(args) == 1 && args[0] == "-" {
		return j.stream(in)
	}
	files, err := find(ctx, args)
	if err != nil {
		return err
	}
	j.done.Written = !j.check && !j.diff
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.file(name); err != nil {
			return err
		}
	}
	return nil
}

// show prints for people: diagnostics on standard error, and the changed files.
func (j *job) show(c *console.Console, w io.Writer) error {
	for _, d := range j.done.Diagnostics {
		c.Messagef("%s", console.Line(d.String()))
	}
	if j.streamed && !j.check && !j.diff {
		_, err := io.WriteString(w, j.done.Text)
		return err
	}
	for i, name := range j.done.Changed {
		var err error
		if j.diff {
			_, err = io.WriteString(w, j.diffs[i])
		} else {
			_, err = fmt.Fprintln(w, console.Line(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing returns the error for a file or directory that does not exist or cannot be read.
func missing(name string, err error) error {
	if os.IsNotExist(err) {
		return exitcode.Usagef("format %s: no such file or directory", name)
	}
	return exitcode.With(exitcode.Usage, fmt.Errorf("format %s: %w", name, err))
}
