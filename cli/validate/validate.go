// Package validate implements `nuon validate`, which checks the configs of apps on
// this machine with the rules that the control plane applies.
//
// It reads config directories and prints their diagnostics: for people with the source lines,
// for programs as lines, JSON, YAML or SARIF. The rules are implemented in pkg/appconfig. The
// package contacts no control plane, and uses the network only with --fetch.
package validate

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// formatSARIF is the value of -o for code hosts; the other values are those of all commands.
const formatSARIF = "sarif"

var formats = []string{"table", "json", "yaml", formatSARIF}

// options are the flags of the command.
type options struct {
	output string
	strict bool
	fetch  bool
}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "validate [DIRECTORY...]",
		Short: "Validate the config of an app",
		Args:  cobra.ArbitraryArgs,
		Long: `Validate the config of an app in a directory by the rules of the control plane, and list all errors at
once: misspelled keys, values of the wrong type, names and template references that do not exist,
dependency cycles, schedules, policies that do not compile. Nothing is sent anywhere, and no credentials
are needed.

In a git work tree, the code of the same repository (repo = ".") is checked, too: directories that do not
exist, variables that Terraform modules lack or need, outputs that templates read and modules lack. Code
in other repositories is checked when it is built, with the same messages.

On a terminal each error is shown with its line. In a pipe, the format is one line for each:

    FILE:LINE:COLUMN: error|warning: MESSAGE (HINT)

The exit code is 2 if there are errors. Warnings report what has no effect or can never work; with
--strict they count as errors.

Files that the config refers to by https:// or git:: are read only with --fetch.`,
		Example: `  nuon validate
  nuon validate --strict apps/*
  nuon validate -o sarif > nuon.sarif`,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("output") {
				o.output = e.Console.Output // NUON_OUTPUT
			}
			return validate(c.Context(), e.Console, o, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	// This flag overrides the persistent flag of the same name.
	c.Flags().StringVarP(&o.output, "output", "o", "table", "output format: table, json, yaml or sarif")
	c.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	c.Flags().BoolVar(&o.fetch, "fetch", false, "also read remote files that the config refers to")
	complete.FlagWords(c, "output", formats...)
	return c
}

func validate(ctx context.Context, c *console.Console, o options, args []string) error {
	if o.output != "" && !slices.Contains(formats, o.output) {
		return exitcode.Usagef("-o %s: use one of %s", console.Line(o.output), strings.Join(formats, ", "))
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	all, err := readAll(ctx, c, o, args)
	if err != nil {
		return err
	}
	found := findings(all)
	as := *c
	as.Output = o.output
	if o.output == formatSARIF {
		as.Output = "json"
		err = as.Result(report(all), nil)
	} else {
		err = as.Result(found, (&view{console: c, configs: all}).print)
	}
	if err != nil {
		return err
	}
	if found.HasErrors() {
		return &exitcode.Error{Code: exitcode.Usage}
	}
	return nil
}
