package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// tree returns the root command, writing into two buffers.
func tree() (root *cobra.Command, out, remarks *bytes.Buffer) {
	out, remarks = &bytes.Buffer{}, &bytes.Buffer{}
	root = newRoot(
		&cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: out, Err: remarks, Output: "table"}})
	return root, out, remarks
}

// every calls do for the root and for each command below it, including those that cobra adds.
func every(t *testing.T, do func(t *testing.T, c *cobra.Command)) {
	t.Helper()
	root, _, _ := tree()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		t.Run(c.CommandPath(), func(t *testing.T) { do(t, c) })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// named matches an argument in a usage line that a shell cannot complete without help.
// Flags and their values come after it.
var named = regexp.MustCompile(`^ \[?([A-CE-Z]|D[A-HJ-Z])`)

// TestEveryCommandIsDescribed checks that each command and flag has a one-line
// description without a full stop, and that each command has a rule for its
// arguments, so that a surplus argument is an error.
func TestEveryCommandIsDescribed(t *testing.T) {
	ours := 0
	every(t, func(t *testing.T, c *cobra.Command) {
		if strings.HasPrefix(c.CommandPath(), "nuon completion") || c.Name() == "help" {
			return // cobra's own text
		}
		ours++
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || strings.Contains(c.Short, "\n") {
			t.Errorf("its line is %q", c.Short)
		}
		if c.HasParent() && c.Args == nil {
			t.Error("has no rule for its arguments")
		}
		if !c.HasSubCommands() && named.MatchString(strings.TrimPrefix(c.Use, c.Name())) &&
			c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			t.Errorf("takes names (%s) and completes none", c.Use)
		}
		if c.Parent() == c.Root() && c.GroupID == "" && !c.Hidden {
			t.Error("is in no group of the help")
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("--%s has the help %q", f.Name, f.Usage)
			}
			if value, _ := pflag.UnquoteUsage(f); strings.Contains(value, " ") {
				t.Errorf("--%s seems to take %q: cobra takes what is in backquotes for the name of the value", f.Name,
					value)
			}
		})
		for _, other := range c.Commands() {
			if other.Runnable() && other.Name() != "completion" && other.Example != "" &&
				!strings.HasPrefix(other.Example, "  nuon ") {
				t.Errorf("the example of %s is %q", other.Name(), other.Example)
			}
		}
	})
	if ours < 40 {
		t.Errorf("saw %d commands alone", ours)
	}
}

// TestHelpOfEveryCommand checks that `nuon help x` and `nuon x --help` print
// the same text, with the usage, and need no control plane.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Setenv("NUON_URL", "http://127.0.0.1:1")
	every(t, func(t *testing.T, c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		help := func(args ...string) string {
			root, out, remarks := tree()
			root.SetArgs(args)
			if err := root.ExecuteContext(t.Context()); err != nil || remarks.Len() > 0 {
				t.Errorf("nuon %v: %v, %s", args, err, remarks)
			}
			return out.String()
		}
		byFlag := help(append(path, "--help")...)
		if !strings.Contains(byFlag, "Usage:\n  "+c.CommandPath()) ||
			!strings.Contains(byFlag, strings.TrimSpace(c.Short)) && c.Long == "" {
			t.Errorf("--help says\n%s", byFlag)
		}
		if strings.Contains(byFlag, " COMMAND\n") && strings.Contains(byFlag, " [command]\n") {
			t.Errorf("two lines of usage say the same:\n%s", byFlag)
		}
		if byCommand := help(append([]string{"help"}, path...)...); byCommand != byFlag {
			t.Errorf("nuon help %v says otherwise:\n%s", path, byCommand)
		}
	})
}

// TestVersion checks that --version prints one line on stdout.
func TestVersion(t *testing.T) {
	root, out, remarks := tree()
	root.SetArgs([]string{"--version"})
	if err := root.ExecuteContext(t.Context()); err != nil ||
		out.String() != "nuon "+version.Number+"\n" || remarks.Len() > 0 {
		t.Errorf("printed %q and %q, %v", out, remarks, err)
	}
}

// TestWrongUse checks that wrong use fails before any request or change, with
// exit code Usage or with an error of cobra that run maps to Usage.
func TestWrongUse(t *testing.T) {
	t.Setenv("NUON_CONFIG", t.TempDir()+"/none.toml")
	t.Setenv("NUON_URL", "")
	t.Setenv("NUON_TOKEN", "")
	t.Setenv("NUON_CONTEXT", "")
	for line, says := range map[string]string{
		"status -o xml":                 "-o xml: use one of table, json, yaml, name",
		"validate -o xml":               "-o xml: use one of table, json, yaml, sarif",
		"graph a b":                     "accepts at most 1 arg(s)",
		"--nonsense":                    "unknown flag: --nonsense",
		"-z":                            "unknown shorthand flag",
		"installs list -o":              "flag needs an argument",
		"sync --wait --no-wait":         "if any flags in the group",
		"sync --timeout soon":           "invalid argument",
		"deploy":                        "name the install, such as `nuon deploy acme`",
		"deploy --":                     "name the install, such as `nuon deploy acme`",
		"installs rollback":             "name the install, such as `nuon installs rollback acme`",
		"apps create":                   "name the app, such as `nuon apps create hello",
		"sync -i":                       "--interactive needs a terminal",
		"help nonsense":                 `unknown command "nonsense" for "nuon"`,
		"help apps nonsense":            `unknown command "nonsense" for "nuon apps"`,
		"completion tcsh":               `unknown command "tcsh" for "nuon completion"`,
		"apps create a b":               "accepts at most 1 arg(s)",
		"installs create acme":          "name the app with --app",
		"approve":                       "or pass --all",
		"reject apr_1":                  "--reason",
		"approvals list --status odd":   "--status odd: use one of waiting",
		"context use nowhere":           `context "nowhere" not found`,
		"context add ci --url x":        "--url x: use the address of the control API",
		"context add ci --url http://x": "no terminal",
		"context add ci --url http://x --token-from y": "env:NAME or @FILE",
		"context remove nowhere":                       `context "nowhere" not found`,
		"apps delete hello":                            "this deletes app hello with all its versions and builds; pass --yes",
		"runners delete r":                             "pass --yes",
		"credentials delete c":                         "pass --yes",
		"webhooks delete w":                            "pass --yes",
		"webhooks create --forge x":                    "--forge x: use one of github",
		"apps list --limit -1":                         "--limit -1: use a number from 1 up, or 0 for all",
		"builds list --app x --status odd":             "--status odd: use one of queued, running",
		"runners list --status odd":                    "--status odd: use one of online",
		"runners list --kind odd":                      "--kind odd: use install or build",
		"builds list":                                  `required flag(s) "app" not set`,
		"reference --format man":                       "--directory",
		"apps list --context nowhere":                  `context "nowhere" not found`,
	} {
		t.Run(line, func(t *testing.T) {
			root, out, _ := tree()
			root.SetArgs(strings.Fields(line))
			err := root.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Fatalf("ended with %v, want %q", err, says)
			}
			if exitcode.CodeOf(err) != exitcode.Usage && !isUsageError(err) {
				t.Errorf("%v does not count as wrong use", err)
			}
			if out.Len() > 0 {
				t.Errorf("printed %q", out)
			}
		})
	}
}

// TestWithoutAControlPlane checks for every command that needs a control plane
// that its error has the right exit code and explains what to do.
func TestWithoutAControlPlane(t *testing.T) {
	t.Setenv("NUON_CONFIG", t.TempDir()+"/none.toml")
	t.Setenv("NUON_URL", "")
	t.Setenv("NUON_TOKEN", "")
	t.Setenv("NUON_CONTEXT", "")
	for _, line := range []string{
		"apps list", "apps get hello", "apps create hello", "apps delete hello --yes",
		"apps versions hello", "apps config hello",
		"components list hello", "components get hello web", "builds list --app hello", "builds get bld_1",
		"builds retry bld_1", "builds create hello", "builds refresh hello",
		"repos list", "repos get rep_1", "repos poll https://x/y", "orgs get", "runners get r",
		"runners delete r --yes", "runners register r",
		"runners replace r --reason x --yes", "credentials delete c --yes", "webhooks list", "webhooks get w",
		"webhooks rotate w", "webhooks delete w --yes",
		"installs list", "installs get acme", "installs create acme --app hello",
		"installs update acme --approval prompt", "installs forget acme", "installs deprovision acme --yes",
		"workflows list", "workflows get wfl_1", "workflows watch wfl_1", "workflows cancel wfl_1", "runners list",
		"runners create r", "credentials list",
		"approvals list", "tokens list", "tokens create ci --role viewer", "tokens revoke ci", "audit",
		"webhooks create", "review", "approve --all", "reject --all --reason x", "deploy acme", "run acme migrate",
		"logs job_1", "explain install acme", "status", "sync --app hello",
	} {
		root, out, _ := tree()
		root.SetArgs(strings.Fields(line))
		err := root.ExecuteContext(t.Context())
		if exitcode.CodeOf(err) != exitcode.Unreachable || !strings.Contains(err.Error(), "nuon context add") ||
			out.Len() > 0 {
			t.Errorf("nuon %s: printed %q, ended with %v", line, out, err)
		}
	}
}

// TestCompletion checks that commands and flags are completed and that each
// shell has a completion script.
func TestCompletion(t *testing.T) {
	for line, want := range map[string][]string{
		"__complete ":                  {"validate\t", "sync\t", "installs\t", "dev\t"},
		"__complete installs ":         {"create\t", "list\t", "forget\t"},
		"__complete in":                {"installs\t"},
		"__complete sync --":           {"--wait\t", "--app\t", "--output\t"},
		"__complete explain ":          {"install\n", "build\n"},
		"completion bash":              {"__start_nuon"},
		"completion zsh":               {"#compdef nuon"},
		"completion fish":              {"complete -c nuon"},
		"completion powershell":        {"Register-ArgumentCompleter"},
		"__complete installs create -": {"--app\t"}, // required flags come first
		"__complete help ":             {"installs\t"},
	} {
		root, out, _ := tree()
		args := strings.Split(line, " ")
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("nuon %s: %v", line, err)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("nuon %s lacks %q:\n%.600s", line, w, out)
			}
		}
	}
}

// TestNoColor checks that --no-color disables color before a command prints anything.
func TestNoColor(t *testing.T) {
	e := &cmdenv.Env{Console: &console.Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Output: "table", Color: true}}
	root := newRoot(e)
	root.SetArgs([]string{"--no-color", "validate", t.TempDir()})
	_ = root.ExecuteContext(t.Context()) // fails: an empty directory is not an app
	if e.Console.Color {
		t.Error("is still coloured")
	}
}

// TestLabel checks which exit codes have the prefix "error: ". Codes that only
// report a state have none.
func TestLabel(t *testing.T) {
	for code, want := range map[int]string{exitcode.Failed: "error: ", exitcode.Usage: "error: ",
		exitcode.Unreachable: "error: ",
		exitcode.Waiting:     "", exitcode.Rejected: ""} {
		if got := errorPrefix(exitcode.With(code, nil)); got != want {
			t.Errorf("code %d has the label %q", code, got)
		}
	}
}

// TestReferenceIsUpToDate checks that docs/cli.md is the output of `nuon reference`.
func TestReferenceIsUpToDate(t *testing.T) {
	root, out, _ := tree()
	root.SetArgs([]string{"reference"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(kept), out.String()); d != "" {
		t.Errorf("docs/cli.md is out of date: run `make generate`\n%s", d)
	}
}

// TestOutputFromTheEnvironment checks that NUON_OUTPUT sets the default of -o.
func TestOutputFromTheEnvironment(t *testing.T) {
	t.Setenv("NUON_CONFIG", t.TempDir()+"/none.toml")
	for _, c := range []struct{ set, line, prints, says string }{
		{"json", "context list", "[]\n", ""},
		{"json", "context list -o name", "", ""},
		{"", "context list -o json", "[]\n", ""},
		{"xml", "context list", "", "NUON_OUTPUT=xml: use one of table"},
	} {
		t.Setenv("NUON_OUTPUT", c.set)
		root, out, _ := tree()
		root.SetArgs(strings.Fields(c.line))
		err := root.ExecuteContext(t.Context())
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			out.String() != c.prints {
			t.Errorf("NUON_OUTPUT=%s nuon %s: printed %q, %v", c.set, c.line, out, err)
		}
	}
}
