// Command nuon is the CLI for vendors: it validates and syncs apps, shows approvals
// and answers them, and runs the whole system on one machine with `nuon dev`. It is
// a client of the control API and changes nothing in customer accounts itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/terminit"
	"github.com/nuon-toolkit/nuon/cli/versionflag"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

func main() {
	relaxCollector()
	terminit.Restore()
	ctx, stop := interruptible()
	err := run(ctx)
	stop()
	os.Exit(exitcode.CodeOf(err))
}

func run(ctx context.Context) error {
	e := &cmdenv.Env{Console: console.System()}
	root := newRoot(e, os.Args[1:]...)
	cmd, err := root.ExecuteContextC(ctx)
	if err = exitError(ctx, err); err == nil {
		return nil
	}
	if text := err.Error(); text != "" {
		e.Console.Messagef("%s%s", errorPrefix(err), text)
	}
	var coded *exitcode.Error
	if !errors.As(err, &coded) && isUsageError(err) {
		e.Console.Messagef("Usage: %s\nRun `%s --help` for more information.", cmd.UseLine(), cmd.CommandPath())
		return exitcode.With(exitcode.Usage, err)
	}
	return err
}

// errorPrefix returns the prefix of an error message: "error: ", or "" for an exit code
// that only reports a state (a plan waits for approval, or a person rejected it).
func errorPrefix(err error) string {
	switch exitcode.CodeOf(err) {
	case exitcode.Waiting, exitcode.Rejected:
		return ""
	}
	return "error: "
}

// isUsageError reports whether err is one of cobra's own errors about arguments and
// flags. Cobra has no type for them, so the message decides.
func isUsageError(err error) bool {
	for _, p := range []string{
		"unknown command", "unknown flag", "unknown shorthand",
		"accepts ", "requires at least", "required flag",
		"invalid argument", "flag needs an argument",
		"if any flags in the group", "at least one of the flags in the group"} {
		if strings.HasPrefix(err.Error(), p) {
			return true
		}
	}
	return false
}

// newRoot returns the root command with all others or, if args are those of one of them, with only that one.
func newRoot(e *cmdenv.Env, args ...string) *cobra.Command {
	noColor := false
	root := &cobra.Command{
		Use:           "nuon",
		Short:         "Deploy an app into your customers' accounts and keep it up to date from git",
		Version:       version.Number,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			e.Console.Color = e.Console.Color && !noColor
			e.Debug = e.Debug || cmdenv.Debugging()
			asked := "-o "
			if format, set := cmdenv.Output(); set && !c.Flags().Changed("output") {
				e.Console.Output, asked = format, "NUON_OUTPUT="
			}
			if !slices.Contains(console.Formats, e.Console.Output) {
				return exitcode.Usagef("%s%s: use one of %s", asked, e.Console.Output, strings.Join(console.Formats, ", "))
			}
			return nil
		},
	}
	root.SetOut(e.Console.Out)
	root.SetErr(e.Console.Err)
	root.SetVersionTemplate(versionflag.Text())
	root.PersistentFlags().StringVarP(&e.Console.Output, "output", "o", "table",
		"output format: table, json, yaml or name")
	root.PersistentFlags().StringVar(&e.Context, "context", "", "name of the context to use")
	root.PersistentFlags().BoolVar(&e.Debug, "debug", false,
		"print requests and responses on stderr, secrets masked (also NUON_DEBUG=1)")
	root.PersistentFlags().BoolVar(&noColor, "no-color", false, "disable color (also NO_COLOR)")
	complete.FlagWords(root, "output", console.Formats...)
	_ = root.RegisterFlagCompletionFunc("context", complete.Contexts) // fails only for an undefined flag

	root.AddGroup(
		&cobra.Group{ID: "journeys", Title: "Core commands:"},
		&cobra.Group{ID: "nouns", Title: "Resources:"},
		&cobra.Group{ID: "machine", Title: "This machine:"},
	)
	root.SetCompletionCommandGroupID("machine")
	addCommands(e, root, args)
	strict(root)
	opensHome(e, root)
	return root
}

// strict makes cobra's built-in commands return an error for unknown arguments. By default
// they print help and exit with 0.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, path []string) error {
				found, rest, err := root.Find(path)
				if err == nil && len(rest) > 0 {
					err = fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
				}
				return err
			}
		case "completion":
			verbsOnly(c)
		}
	}
}

// groupsOnly calls verbsOnly for a command and those below it that only group others.
func groupsOnly(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		verbsOnly(c)
	}
	for _, sub := range c.Commands() {
		groupsOnly(sub)
	}
}

// verbsOnly configures a command that only groups subcommands: without arguments it prints
// its help, and an unknown subcommand is an error. By default cobra would print the help
// and exit with 0.
func verbsOnly(c *cobra.Command) {
	c.Use, c.DisableFlagsInUseLine, c.SuggestionsMinimumDistance = c.Name()+" COMMAND", true, 2
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		like := ""
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			like = fmt.Sprintf(" (did you mean %q?)", near[0])
		}
		return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), like)
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	// Cobra prints one usage line for a command that runs and another for a command with
	// subcommands. This command runs only to print its help, so the second line is enough.
	c.SetUsageTemplate(strings.Replace(c.UsageTemplate(),
		"{{if .HasAvailableSubCommands}}\n  {{.CommandPath}} [command]{{end}}", "", 1))
}
