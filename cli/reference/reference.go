// Package reference generates reference documentation from the commands: docs/cli.md, a
// Markdown page with all of them, and a manual page for each command. It refers to no
// command by name. It also generates docs/config.md, the reference of the app config format.
package reference

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// New returns the hidden command `nuon reference`, which is for the developers of nuon.
func New(e *cmdenv.Env) *cobra.Command {
	var format, directory string
	c := &cobra.Command{
		Use:               "reference",
		Short:             "Print the reference of all commands",
		Args:              cobra.NoArgs,
		Hidden:            true,
		ValidArgsFunction: complete.Nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case format == "markdown" && directory == "":
				return Markdown(e.Console.Out, c.Root())
			case format == "config" && directory == "":
				return Config(e.Console.Out)
			case format == "man" && directory != "":
				return manPages(directory, c.Root())
			}
			return exitcode.Usagef("use --format markdown or config to print, or --format man with a --directory " +
				"for the pages")
		},
	}
	c.Flags().StringVar(&format, "format", "markdown", "format: markdown, config (the format of app configs) or man")
	c.Flags().StringVar(&directory, "directory", "", "directory for the manual pages")
	complete.FlagWords(c, "format", "markdown", "config", "man")
	return c
}

// manPages writes the manual pages of all commands into a directory, which it creates.
func manPages(directory string, root *cobra.Command) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	return each(root, func(c *cobra.Command) error {
		var page strings.Builder
		man(&page, c)
		if err := os.WriteFile(filepath.Join(directory, pageOf(c)+".1"), []byte(page.String()), 0o644); err != nil {
			return fmt.Errorf("write manual pages: %w", err)
		}
		return nil
	})
}

// pageOf returns the name of a command's manual page.
func pageOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// each visits a command and its visible descendants, in order.
func each(c *cobra.Command, visit func(*cobra.Command) error) error {
	if err := visit(c); err != nil {
		return err
	}
	for _, sub := range seen(c) {
		if err := each(sub, visit); err != nil {
			return err
		}
	}
	return nil
}

// seen returns the visible subcommands of a command.
func seen(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, sub)
		}
	}
	return all
}

// flag is a flag for its description.
type flag struct{ name, value, usage, byDefault string }

// flagsOf returns the visible flags of a set, except --help and --version.
func flagsOf(set *pflag.FlagSet) []flag {
	var all []flag
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		byDefault := f.DefValue
		switch byDefault {
		case "false", "0", "0s", "[]":
			byDefault = ""
		}
		all = append(all, flag{name, value, usage, byDefault})
	})
	return all
}

// says returns the description of a flag with its default, unless the description
// contains the default.
func (f flag) says() string {
	if f.byDefault == "" || strings.Contains(f.usage, "default") {
		return f.usage
	}
	return fmt.Sprintf("%s (default %s)", f.usage, f.byDefault)
}

// usage returns the command line of a command.
func usage(c *cobra.Command) string {
	if c.HasSubCommands() && !c.Runnable() {
		return c.CommandPath() + " COMMAND"
	}
	return c.UseLine()
}

// description returns the long description of a command, or the short one if there is none.
func description(c *cobra.Command) string { return cmp.Or(strings.TrimSpace(c.Long), c.Short+".") }

// Markdown writes all commands on one page.
func Markdown(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	b.WriteString("# The nuon command\n\nGenerated from the commands by `make generate`; `nuon COMMAND --help` " +
		"prints the same.\n\n")
	b.WriteString(root.Short + ".\n")
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n**%s**\n\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range seen(root) {
			if c.GroupID == g.ID {
				fmt.Fprintf(&b, "- [`%s`](#%s): %s\n", c.CommandPath(), pageOf(c), text(c.Short))
			}
		}
	}
	b.WriteString("\n## For all commands\n\n")
	flagTable(&b, flagsOf(root.PersistentFlags()))
	b.WriteString("\nResults go to stdout, progress and messages to stderr. In a pipe, a table has no header and " +
		"tabs between its cells; `-o name` prints names that other commands accept.\n")
	b.WriteString("\n### Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, c := range exitcode.Codes {
		fmt.Fprintf(&b, "| %d | %s |\n", c.Code, cell(c.Means))
	}
	b.WriteString("\n### Environment\n\n| variable | description |\n|---|---|\n")
	for _, v := range cmdenv.Variables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, cell(v.Means))
	}
	for _, c := range seen(root) {
		_ = each(c, func(c *cobra.Command) error { // never returns an error
			section(&b, c)
			return nil
		})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// section writes the section of one command.
func section(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", min(1+strings.Count(c.CommandPath(), " "), 4)), c.CommandPath())
	fmt.Fprintf(b, "%s\n\n```\n%s\n```\n", text(description(c)), usage(c))
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlso `%s`.\n", strings.Join(c.Aliases, "`, `"))
	}
	if c.HasExample() {
		fmt.Fprintf(b, "\n```console\n%s\n```\n", lines(c.Example))
	}
	if flags := flagsOf(c.NonInheritedFlags()); len(flags) > 0 {
		b.WriteString("\n")
		flagTable(b, flags)
	}
}

func flagTable(b *strings.Builder, flags []flag) {
	b.WriteString("| flag | description |\n|---|---|\n")
	for _, f := range flags {
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.TrimSpace(f.name+" "+f.value), cell(f.says()))
	}
}

// lines removes the indentation of examples, and adds a prompt before each command.
func lines(example string) string {
	var out []string
	for line := range strings.Lines(strings.TrimRight(example, "\n")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "nuon ") {
			line = "$ " + line
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// text escapes HTML and Markdown characters outside of code.
func text(s string) string {
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

// cell escapes text for a table cell.
func cell(s string) string { return strings.ReplaceAll(text(s), "|", `\|`) }
