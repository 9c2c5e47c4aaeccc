// Package initialize implements `nuon init`, which writes the config of a small app into
// a directory: for the Helm charts, Terraform modules and Kubernetes manifests of the
// repository, or for a sample. It overwrites no file, executes nothing that it finds, and
// asks only with --interactive. It reads git data directly and needs no control plane.
package initialize

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// options are the flags of the command.
type options struct {
	name        string
	from        string
	cloud       string
	dryRun      bool
	interactive bool
}

// clouds are the values of --cloud.
var clouds = []string{"aws", "azure", "gcp", "none"}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "init [DIRECTORY]",
		Short: "Create the config of a new app",
		Args:  cobra.MaximumNArgs(1),
		Long: `Create the config of a new app in a directory: its metadata, a sandbox, its components and their inputs.

--from makes components from a Helm chart, a Terraform module (its variables without a default become
inputs), a kustomization or a directory of Kubernetes manifests in the same repository, or from all of
these below a directory. Without --from, the app is a sample that runs offline on any machine.

No file is overwritten. --interactive (-i) searches the current directory, asks which of its charts,
modules and manifests to use, and asks for each value that no flag sets. Without it nothing is asked:
--from . uses everything that is found.`,
		Example: "  nuon init hello\n  nuon init --name shop --from deploy/chart\n  nuon init --from . --dry-run\n  " +
			"nuon init -i",
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return run(c.Context(), e.Console, o, dir, c.Flags().Changed("from"))
		},
	}
	c.Flags().StringVar(&o.name, "name", "", "name of the app (default: the directory's name)")
	c.Flags().StringVar(&o.from, "from", "", "directory in the same repository to create components from")
	c.Flags().StringVar(&o.cloud, "cloud", "",
		"cloud of the installs: "+strings.Join(clouds, ", ")+" (default: that of the modules' providers)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "write nothing, print the files that would be written")
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "ask for values that no flag sets")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	_ = c.MarkFlagDirname("from") // fails only for an unknown flag
	_ = c.RegisterFlagCompletionFunc("name", complete.Nothing)
	complete.FlagWords(c, "cloud", clouds...)
	return c
}

// Created is the output of the command as data.
type Created struct {
	Name      string            `json:"name"`
	Directory string            `json:"directory"`
	Files     []string          `json:"files"`           // relative to the directory
	Next      []string          `json:"next"`            // commands to run next, in order
	Notes     []string          `json:"notes"`           // remarks on what was written
	Texts     map[string]string `json:"texts,omitempty"` // contents of the files, with --dry-run
}

func run(ctx context.Context, c *console.Console, o options, dir string, from bool) error {
	if err := c.CheckInteractive(o.interactive); err != nil {
		return err
	}
	at, err := findPlace(dir)
	if err != nil {
		return err
	}
	q := questions{options: o, console: c, place: at}
	a, err := q.answer(ctx, from)
	if err != nil {
		return err
	}
	files, err := a.files()
	if err != nil {
		return err
	}
	made := Created{Name: a.name, Directory: at.dir, Next: a.next(dir),
		Notes: append([]string{}, a.notes...), Files: []string{}}
	for _, f := range files {
		made.Files = append(made.Files, f.path)
	}
	if o.dryRun {
		made.Texts = map[string]string{}
		for _, f := range files {
			made.Texts[f.path] = f.text
		}
		return c.Result(made, func(w io.Writer) error { return preview(w, made, files) })
	}
	if err := at.write(files); err != nil {
		return err
	}
	_, found := appconfig.Load(os.DirFS(at.dir), appconfig.Options{})
	for _, d := range found {
		c.Messagef("%s", console.Line(d.String()))
	}
	return c.Result(made, func(w io.Writer) error { return show(w, made) })
}

// isName reports whether the control plane accepts a name for an app.
func isName(name string) bool {
	const longest = 63
	if name == "" || len(name) > longest || !isPlain(rune(name[0])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r != '_' && r != '-' && !isPlain(r) })
}

// isPlain reports whether a character is allowed in all kinds of names.
func isPlain(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }

// simplifyName returns a lower-case name in which a separator replaces each run of
// characters that are not plain.
func simplifyName(name, separator string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !isPlain(r) }), separator)
}

// show prints what was written and the commands to run next.
func show(w io.Writer, m Created) error {
	var b strings.Builder
	fmt.Fprintf(&b, "created app %s in %s:\n", m.Name, console.Line(m.Directory))
	for _, f := range m.Files {
		fmt.Fprintf(&b, "  %s\n", console.Line(f))
	}
	writeNotes(&b, m.Notes)
	b.WriteString("\nNext steps:\n\n")
	for _, n := range m.Next {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	b.WriteString("\nTo try it with a local control plane, run `nuon dev` in another terminal, in the same directory.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// preview prints what would be written.
func preview(w io.Writer, m Created, files []file) error {
	var b strings.Builder
	fmt.Fprintf(&b, "app %s would be created in %s:\n", m.Name, console.Line(m.Directory))
	for _, f := range files {
		fmt.Fprintf(&b, "\n--- %s\n%s", console.Line(f.path), console.Text(f.text))
	}
	writeNotes(&b, m.Notes)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeNotes(b *strings.Builder, notes []string) {
	for i, n := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s\n", console.Line(n))
	}
}
