package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// tree returns a program with all features that a reference has to describe.
func tree(out *strings.Builder) *cobra.Command {
	nothing := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "nuon", Short: "Do things", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringP("output", "o", "table", "output format")
	root.AddGroup(&cobra.Group{ID: "nouns", Title: "Things:"})
	apps := &cobra.Command{Use: "apps", Short: "The apps", GroupID: "nouns"}
	list := &cobra.Command{Use: "list <X>|Y", Aliases: []string{"ls"}, Short: "List them", Run: nothing,
		Long:    "Lists <them>\\all, with `a <b>`.\n.nothing is a command\n\n  as it is",
		Example: "  nuon apps list\n    | head"}
	list.Flags().Int("limit", 20, "most to list; a|b")
	list.Flags().Duration("timeout", 0*time.Second, "stop … after this long")
	list.Flags().String("kind", "x", "which (default: any)")
	list.Flags().Bool("secret", false, "not for you")
	_ = list.Flags().MarkHidden("secret")
	apps.AddCommand(list, &cobra.Command{Use: "hidden", Short: "Not seen", Hidden: true, Run: nothing})
	root.AddCommand(apps, New(&cmdenv.Env{Console: &console.Console{Out: out, Err: out}}))
	return root
}

// TestMarkdown checks that the page describes every visible command, and that texts
// are escaped for Markdown.
func TestMarkdown(t *testing.T) {
	var out strings.Builder
	root := tree(&out)
	root.SetArgs([]string{"reference"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**Things**\n\n- [`nuon apps`](#nuon-apps): The apps\n", "| `-o, --output string` | output format (default " +
			"table) |\n", "| 130 | Ctrl-C |\n", "| `NUON_URL` | ",
		"## nuon apps\n\nThe apps.\n\n```\nnuon apps COMMAND\n```\n", "### nuon apps list\n\nLists &lt;them&gt;\\all, with " +
			"`a <b>`.\n", "```\nnuon apps list <X>|Y [flags]\n```\n\nAlso `ls`.\n",
		"```console\n$ nuon apps list\n| head\n```\n", "| `--limit int` | most to list; a\\|b (default 20) |\n",
		"| `--kind string` | which (default: any) |\n", "| `--timeout duration` | stop … after this long |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
	for _, not := range []string{"hidden", "secret", "nuon reference", "--help"} {
		if strings.Contains(strings.ReplaceAll(out.String(), "`nuon COMMAND --help`", ""), not) {
			t.Errorf("shows %q", not)
		}
	}
}

// TestMan checks that each command has a page, that pages are reproducible, and that
// texts are escaped for roff.
func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var out strings.Builder
	for range 2 {
		root := tree(&out)
		root.SetArgs([]string{"reference", "--format", "man", "--directory", dir})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("made %v, %v", files, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "nuon-apps-list.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".TH \"NUON-APPS-LIST\" 1 \"\" \"nuon ", ".SH NAME\nnuon\\-apps\\-list \\- List them\n",
		".PP\nLists <them>\\eall, with a <b>.\n\\&.nothing is a command\n.PP\n.nf\n  as it is\n.fi\n",
		".TP\n.B \\-\\-limit int\nmost to list; a|b (default 20)\n", "stop \\[u2026] after this long",
		".SH OPTIONS OF ALL COMMANDS\n.TP\n.B \\-o, \\-\\-output string\n", ".BR nuon (1).\n",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	top, err := os.ReadFile(filepath.Join(dir, "nuon.1"))
	if err != nil || !strings.Contains(string(top), ".TP\n.B 143\nSIGTERM\n") ||
		!strings.Contains(string(top), ".TP\n.B NUON_TOKEN\n") {
		t.Errorf("the first page is\n%s%v", top, err)
	}
}

// TestWrongUse checks that usage errors write nothing.
func TestWrongUse(t *testing.T) {
	for _, line := range []string{"reference --format man", "reference --format markdown --directory x",
		"reference --format html"} {
		var out strings.Builder
		root := tree(&out)
		root.SetArgs(strings.Fields(line))
		if err := root.ExecuteContext(t.Context()); exitcode.CodeOf(err) != exitcode.Usage || out.Len() > 0 {
			t.Errorf("%s: printed %q, %v", line, out.String(), err)
		}
	}
}
