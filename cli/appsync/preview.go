package appsync

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// preview prints what a sync of the directory in its present state would cause.
func preview(ctx context.Context, e *cmdenv.Env, o options, args []string) error {
	client, err := e.Client()
	if err != nil {
		return err
	}
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	at, err := resolveDirectory(ctx, e, client, o, dir)
	if err != nil {
		return err
	}
	p, err := requestPreview(ctx, client, at)
	if err != nil {
		return err
	}
	if o.markdown {
		err = e.Console.Print(func(w io.Writer) error {
			_, err := io.WriteString(w, formatMarkdown(at.app, p))
			return err
		})
	} else {
		err = e.Console.Result(p, func(w io.Writer) error { return printPreview(w, e.Console, at.app, p) })
	}
	if err != nil {
		return err
	}
	return previewError(p)
}

// requestPreview sends the files and returns the preview: for a connected app it sends the work
// tree, for another the directory.
func requestPreview(ctx context.Context, client *apiclient.Client, at directory) (api.AppPreview, error) {
	app := at.app
	if app.Repository == "" {
		archive, err := at.pack(ctx)
		if err != nil {
			return api.AppPreview{}, err
		}
		return apiclient.Decode[api.AppPreview](client.PreviewAppWithBody(ctx, app.ID, &api.PreviewAppParams{},
			"application/gzip", archive))
	}
	tree, err := openWorkTree(at.path)
	if err != nil {
		return api.AppPreview{}, err
	}
	archive, err := packTree(tree)
	if err != nil {
		return api.AppPreview{}, err
	}
	return apiclient.Decode[api.AppPreview](client.PreviewAppWithBody(ctx, app.ID,
		&api.PreviewAppParams{Directory: tree.Dir},
		"application/gzip", archive))
}

// previewError returns the exit code of a preview. Only components that cannot be built
// make it fail; people judge the rest.
func previewError(p api.AppPreview) error {
	var failing []string
	for _, c := range p.Components {
		if c.Problem != "" {
			failing = append(failing, c.Name)
		}
	}
	if len(failing) == 0 {
		return nil
	}
	return exitcode.With(exitcode.Failed, fmt.Errorf("%s cannot be built; fix it before you merge",
		strings.Join(failing, ", ")))
}

// describeChange describes the effect on a component in a few words.
func describeChange(c api.PreviewedComponent) string {
	switch {
	case c.Problem != "":
		return "cannot be built"
	case c.Change == api.PreviewedComponentChangeRemoved:
		return "removed"
	case c.Change == api.PreviewedComponentChangeAdded:
		return "new, built"
	case c.Rebuild:
		return "rebuilt"
	case c.Change == api.PreviewedComponentChangeChanged:
		return "config changed"
	}
	return "unchanged"
}

// previewSummary returns the first sentence of a preview.
func previewSummary(app api.App, p api.AppPreview) string {
	switch {
	case !p.Changed:
		return fmt.Sprintf("A sync of %s would change nothing.", app.Name)
	case p.Release == 0:
		return fmt.Sprintf("A sync of %s would create no release: what changes is not deployed.", app.Name)
	case p.Held != "":
		return fmt.Sprintf("A sync of %s would create release %d, which is not deployed, because it would be "+
			"incomplete: %s.", app.Name, p.Release, p.Held)
	case p.Release == 1:
		return fmt.Sprintf("A sync of %s would create its first release.", app.Name)
	}
	return fmt.Sprintf("A sync of %s would create release %d.", app.Name, p.Release)
}

// describeInput describes an input that the change adds, removes or changes.
func describeInput(i api.PreviewedInput) string {
	s := fmt.Sprintf("input %s is %s", i.Name, i.Change)
	if i.Required && i.Change != api.PreviewedInputChangeRemoved {
		s += ", required and without a default: installs without a value for it stall"
	}
	return s
}

// changedInstalls returns the installs that would change, and the number of those that would not.
func changedInstalls(p api.AppPreview) (changed []api.PreviewedInstall, unchanged int) {
	for _, i := range p.Installs {
		if len(i.Components) == 0 {
			unchanged++
			continue
		}
		changed = append(changed, i)
	}
	return changed, unchanged
}

// unchangedSummary describes how many installs would not change.
func unchangedSummary(unchanged, others int) string {
	switch {
	case unchanged == 0 && others == 0:
		return "It has no installs."
	case unchanged == 0:
		return ""
	case others == 0:
		return "Nothing would change on " + diff.Plural(unchanged, "install", "installs") + "."
	}
	return "Nothing would change on " + diff.Plural(unchanged, "other install", "other installs") + "."
}

// printPreview prints a preview for people; in a pipe it prints only the tables.
func printPreview(w io.Writer, c *console.Console, app api.App, p api.AppPreview) error {
	var components, installs [][]string
	for _, x := range p.Components {
		components = append(components, []string{x.Name, describeChange(x), x.Reason})
	}
	changed, unchanged := changedInstalls(p)
	for _, i := range changed {
		installs = append(installs, []string{i.Name, strings.Join(i.Components, ", "), i.Reason})
	}
	fmt.Fprintln(w, previewSummary(app, p))
	for _, i := range p.Inputs {
		fmt.Fprintln(w, c.Wrap("  "+console.Line(describeInput(i)), 4))
	}
	if len(components) > 0 {
		printBlankLine(w, c)
		if err := c.Table(w, []string{"COMPONENT", "CHANGE", "REASON"}, components); err != nil {
			return err
		}
	}
	if len(installs) > 0 {
		printBlankLine(w, c)
		if err := c.Table(w, []string{"INSTALL", "UPDATES", "REASON"}, installs); err != nil {
			return err
		}
	}
	if summary := unchangedSummary(unchanged, len(changed)); summary != "" {
		printBlankLine(w, c)
		if _, err := fmt.Fprintln(w, summary); err != nil {
			return err
		}
	}
	return nil
}

// printBlankLine prints a blank line between sections on a terminal.
func printBlankLine(w io.Writer, c *console.Console) {
	if c.OutIsTerminal {
		fmt.Fprintln(w)
	}
}

// maxCommentInstalls is the maximum number of installs that a comment names one by one.
const maxCommentInstalls = 50

// formatMarkdown formats a preview as a comment on a pull request.
func formatMarkdown(app api.App, p api.AppPreview) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**nuon**: %s\n", escapeMarkdown(previewSummary(app, p)))
	if p.Changed {
		b.WriteString("\n| component | change | reason |\n|---|---|---|\n")
		same := 0
		for _, c := range p.Components {
			if describeChange(c) == "unchanged" {
				same++
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", escapeMarkdown(c.Name), describeChange(c), escapeMarkdown(c.Reason))
		}
		if same > 0 {
			fmt.Fprintf(&b, "| %s | unchanged | |\n", diff.Plural(same, "other", "others"))
		}
	}
	for n, i := range p.Inputs {
		if n == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", escapeMarkdown(describeInput(i)))
	}
	changed, unchanged := changedInstalls(p)
	if len(changed) > 0 {
		b.WriteString("\n| install | updates | reason |\n|---|---|---|\n")
	}
	for n, i := range changed {
		if n == maxCommentInstalls {
			fmt.Fprintf(&b, "| %d more | | |\n", len(changed)-n)
			break
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", escapeMarkdown(i.Name), escapeMarkdown(strings.Join(i.Components, ", ")),
			escapeMarkdown(i.Reason))
	}
	if summary := unchangedSummary(unchanged, len(changed)); summary != "" {
		fmt.Fprintf(&b, "\n%s\n", summary)
	}
	return b.String()
}

// escapeMarkdown escapes untrusted text for Markdown, so that it is not parsed as markup, HTML,
// a mention or a table cell.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range console.Line(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case r == '@': // prevents a mention, which would notify the user of that name
			b.WriteString("@\u2060")
			continue
		case strings.ContainsRune("\\`*_[]|#~!>", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
