package installs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// readStack returns a version of an install's stack. Without a version it renders the stack, which becomes a new
// version if it differs from the newest one.
func readStack(ctx context.Context, client *apiclient.Client, install string, version int) (api.Stack, error) {
	if version == 0 {
		return apiclient.Decode[api.Stack](client.RenderStack(ctx, install, &api.RenderStackParams{}))
	}
	return apiclient.Decode[api.Stack](client.GetStackVersion(ctx, install, version))
}

func newStackRender(e *cmdenv.Env) *cobra.Command {
	var version int
	var dir string
	c := &cobra.Command{
		Use:   "render INSTALL",
		Short: "Render the stack that the customer creates for an install",
		Long: `Renders the stack that the customer creates in the cloud account before anything can be deployed: the network,
the machine of the runner, the roles, and the parameters and secrets that the customer sets. On AWS it is a
CloudFormation template, on Azure an ARM template, and on GCP a Terraform module.

A stack whose files differ from those of the newest version becomes the next version. --version prints an earlier one.`,
		Example: "  nuon installs stack render acme --output-dir ./acme-stack\n" +
			"  nuon installs stack render acme --version 2 -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			stack, err := readStack(ctx, client, args[0], version)
			if err != nil {
				return err
			}
			for _, f := range stack.Findings {
				e.Console.Messagef("%s: %s: %s", f.Severity, console.Line(f.File), console.Line(f.Message))
			}
			if dir != "" {
				if err := writeStack(dir, stack); err != nil {
					return err
				}
			}
			return e.Console.Result(stack, func(w io.Writer) error { return showStack(w, stack, dir) })
		}),
	}
	c.Flags().IntVar(&version, "version", 0, "number of an earlier version (default: render it now)")
	c.Flags().StringVar(&dir, "output-dir", "", "write the files into this `directory` instead of printing them")
	c.PreRunE = func(c *cobra.Command, _ []string) error { return checkVersion(c, "version", version) }
	return c
}

// checkVersion requires that a flag with the number of a version is left out or positive.
func checkVersion(c *cobra.Command, flag string, version int) error {
	if c.Flags().Changed(flag) && version < 1 {
		return exitcode.Usagef("--%s %d: versions are numbered from 1", flag, version)
	}
	return nil
}

// stackFileForm matches the names of the files of a stack: in one directory, not hidden, and only of the kinds that
// stacks have.
var stackFileForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*\.(json|service|sh|tf)$`)

// writeStack writes the files of a stack into a directory, or none if the name of one is not that of a stack's file: a
// control plane could otherwise choose files that programs run, such as a Makefile.
func writeStack(dir string, stack api.Stack) error {
	for _, f := range stack.Files {
		if !stackFileForm.MatchString(f.Name) {
			return fmt.Errorf("the control plane returned a file %q in the stack, which no stack has; nothing was written",
				f.Name)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the files hold no secrets
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only a directory
	for _, f := range stack.Files {
		if err := root.WriteFile(f.Name, []byte(f.Content), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	return nil
}

// showStack prints the files of a stack, or where they were written.
func showStack(w io.Writer, stack api.Stack, dir string) error {
	for _, f := range stack.Files {
		var err error
		switch {
		case dir != "":
			_, err = fmt.Fprintf(w, "wrote %s (version %d, release %d)\n", filepath.Join(dir, f.Name), stack.Version,
				stack.Release)
		case len(stack.Files) == 1:
			_, err = io.WriteString(w, f.Content)
		default:
			_, err = fmt.Fprintf(w, "# %s\n%s", console.Line(f.Name), f.Content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newStackVersions(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.StackVersion]{
		Header: []string{"VERSION", "AT", "RELEASE", "NAME", "DIGEST"}, Limit: 20,
		Row: func(v api.StackVersion) []string {
			return []string{strconv.Itoa(v.Version), v.CreatedAt.Local().Format(time.DateTime), strconv.Itoa(v.Release), v.Name,
				shortDigest(v.Digest)}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.StackVersion, string, error) {
			l, err := apiclient.Decode[api.StackVersionList](client.ListStackVersions(ctx, at.Args[0],
				&api.ListStackVersionsParams{Cursor: at.Cursor, Limit: at.Limit}))
			return l.Items, l.Next, err
		},
	}
	return l.Command(e, &cobra.Command{
		Use:               "versions INSTALL",
		Short:             "List the versions of an install's stack, the newest first",
		Args:              cobra.ExactArgs(1),
		Example:           "  nuon installs stack versions acme",
		ValidArgsFunction: complete.Args(e, complete.Installs),
	})
}

// shortDigest returns the first digits of a digest.
func shortDigest(digest string) string {
	_, digits, _ := strings.Cut(digest, ":")
	return digits[:min(len(digits), 12)]
}

// stackToDelete names the stack that the customer deletes when the install is deprovisioned. last is its last report,
// or nil.
func stackToDelete(last *api.PhoneHomeState) string {
	text := "nothing of the app is left, so the customer deletes the stack now"
	switch {
	case last == nil:
	case last.StackID != "":
		text += ": " + last.StackID
	default:
		text += ", in the " + string(last.Subject.Cloud) + " account " + last.Subject.Account
	}
	return text
}

// stackLine describes the status of a stack for people.
func stackLine(i api.Install) string {
	install, s := i.Name, i.Stack
	switch {
	case s.Status == api.StackPending:
		return fmt.Sprintf("version %d, which the customer has not created yet, as far as is known", s.Newest)
	case s.Status == api.StackDeleted:
		return "deleted by the customer"
	case i.Status == api.InstallStatusDeprovisioned:
		return stackToDelete(i.StackOutputs.PhoneHome)
	case s.Status == api.StackOutOfDate:
		return fmt.Sprintf("out of date: the customer runs version %s, and version %d is the newest; show the difference: "+
			"nuon installs stack diff %s", s.Running, s.Newest, install)
	case s.Status == api.StackUnknown:
		return fmt.Sprintf("version %d is the newest; it is not known which one the customer runs: "+
			"nuon installs stack set %s --stack-version NUMBER", s.Newest, install)
	}
	return fmt.Sprintf("version %d, the newest", s.Newest)
}
