// Package initialize is `nuon init`: the config of a small app, written into a directory where there is none, around a Terraform
// module that is there or around a sample. It overwrites nothing, and asks nobody but the person at the terminal: what it has to
// know of git it reads, and no control plane is needed.
package initialize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// options are the command's flags.
type options struct {
	name string
	from string
}

// New is the command.
func New(e *env.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "init [DIRECTORY]", Short: "Write a small app to begin with, and say what comes next", Args: cobra.MaximumNArgs(1),
		Long: `Writes the config of an app into a directory: its metadata, a sandbox, one component and its inputs. The component is a Terraform
module of yours (--from), whose variables without a default become inputs; or a sample, which runs offline on any machine.
Nothing is overwritten. On a terminal it asks for what no flag says; in a pipe it never asks.`,
		Example: "  nuon init hello\n  nuon init --name shop --from modules/shop",
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return run(c.Context(), e.Console, o, dir, !c.Flags().Changed("from"))
		},
	}
	c.Flags().StringVar(&o.name, "name", "", "name of the app (default: the directory's)")
	c.Flags().StringVar(&o.from, "from", "", "directory of a Terraform module in the same repository")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	_ = c.MarkFlagDirname("from") // fails only for a flag that is not there
	_ = c.RegisterFlagCompletionFunc("name", complete.Nothing)
	return c
}

// Made is what the command prints as data.
type Made struct {
	Name      string   `json:"name"`
	Directory string   `json:"directory"`
	Files     []string `json:"files"` // relative to the directory
	Next      []string `json:"next"`  // commands, in their order
}

func run(ctx context.Context, c *console.Console, o options, dir string, askModule bool) error {
	at, err := findPlace(dir)
	if err != nil {
		return err
	}
	if o, err = o.ask(ctx, c, at, askModule); err != nil {
		return err
	}
	if !named.MatchString(o.name) {
		return exit.Usagef("an app cannot be named %q: use lower-case letters, digits, - and _, at most 63; say --name", o.name)
	}
	a := app{name: o.name, place: at, component: "web"}
	if o.from != "" {
		if err := a.take(o.from); err != nil {
			return err
		}
	}
	files, err := a.files()
	if err != nil {
		return err
	}
	if err := at.write(files); err != nil {
		return err
	}
	_, found := appconfig.Load(os.DirFS(at.dir), appconfig.Options{})
	for _, d := range found {
		c.Say("%s", console.Line(d.String()))
	}
	made := Made{Name: a.name, Directory: at.dir, Next: a.next(dir)}
	for _, f := range files {
		made.Files = append(made.Files, f.path)
	}
	return c.Result(made, func(w io.Writer) error { return show(w, made, a.notes()) })
}

// named is what the control plane takes for an app's name.
var named = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// unnamed are runs of characters that no name has.
var unnamed = regexp.MustCompile(`[^a-z0-9]+`)

// ask fills in what no flag says: from a person where there is one, else by itself.
func (o options) ask(ctx context.Context, c *console.Console, at place, module bool) (options, error) {
	byDefault := strings.Trim(unnamed.ReplaceAllString(strings.ToLower(filepath.Base(at.dir)), "-"), "-")
	questions := []struct {
		to     *string
		prompt string
		asked  bool
	}{
		{&o.name, fmt.Sprintf("Name of the app [%s]: ", byDefault), o.name == ""},
		{&o.from, "Directory of the Terraform module to ship (empty for a sample that runs anywhere): ", module},
	}
	for _, q := range questions {
		if !q.asked || !c.Asks() {
			continue
		}
		answer, err := c.Ask(ctx, q.prompt)
		if err != nil {
			return o, err
		}
		*q.to = strings.TrimSpace(answer)
	}
	if o.name == "" {
		o.name = byDefault
	}
	return o, nil
}

// show says what was written and what comes next.
func show(w io.Writer, m Made, notes []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "app %s written into %s:\n", m.Name, m.Directory)
	for _, f := range m.Files {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	for i, n := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", n)
	}
	b.WriteString("\nWhat comes next:\n\n")
	for _, n := range m.Next {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	b.WriteString("\n`nuon dev` in another terminal, begun in the same directory, is a whole control plane to try it with.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// file is one to be written: its path relative to the directory, with slashes.
type file struct{ path, text string }

// write writes files where there are none. It refuses before the first one if any is there.
func (p place) write(files []file) error {
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(p.dir, filepath.FromSlash(f.path))); err == nil {
			there = append(there, f.path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("write the app: %w", err)
		}
	}
	if len(there) > 0 {
		slices.Sort(there)
		return exit.Usagef("%s has %s already, and nothing is overwritten; name another directory", p.dir, strings.Join(there, ", "))
	}
	for _, f := range files {
		name := filepath.Join(p.dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write the app: %w", err)
		}
		out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("write the app: %w", err)
		}
		_, err = out.WriteString(f.text)
		if err := errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("write the app: %w", err)
		}
	}
	return nil
}
