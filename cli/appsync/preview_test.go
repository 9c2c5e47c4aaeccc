package appsync

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestPackTree checks that the archive has the content of a commit of everything: with
// new files, and without ignored and removed ones.
func TestPackTree(t *testing.T) {
	dir, _ := repository(t)
	write(t, dir, "apps/shop/new.toml", "new\n")
	write(t, dir, "apps/shop/staged.toml", "staged\n")
	runGit(t, dir, "add", "apps/shop/staged.toml")
	write(t, dir, "apps/shop/metadata.toml", "changed\n")
	write(t, dir, "apps/shop/build.log", "ignored\n")
	write(t, dir, "forced.log", "ignored, and yet added\n")
	runGit(t, dir, "add", "-f", "forced.log")
	runGit(t, dir, "rm", "-q", "--cached", "README.md") // the file stays, untracked
	runGit(t, dir, "mv", "apps/shop/components/web.toml", "apps/shop/components/page.toml")
	w, err := openWorkTree(dir + "/apps/shop")
	if err != nil {
		t.Fatal(err)
	}
	if w.Dir != "apps/shop" {
		t.Errorf("the directory is %q", w.Dir)
	}
	archive, err := packTree(w)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".gitignore": "*.log\n", "README.md": "about\n", "apps/shop/metadata.toml": "changed\n",
		"apps/shop/components/page.toml": "name = \"web\"\n",
		"apps/shop/new.toml":             "new\n", "apps/shop/staged.toml": "staged\n",
		"forced.log": "ignored, and yet added\n",
	}
	if d := cmp.Diff(want, unpack(t, archive)); d != "" {
		t.Error(d)
	}
}

// draft returns a preview with an effect of each kind.
func draft() api.AppPreview {
	return api.AppPreview{
		Changed: true, Release: 5,
		Components: []api.PreviewedComponent{
			{Name: "sandbox", Change: "none", Reason: "nothing that it is built from would change"},
			{Name: "net", Change: "none", Rebuild: true, Reason: "the code in modules/net would change"},
			{Name: "page", Change: "added", Rebuild: true, Reason: "it is new; it would be built for the first time"},
			{Name: "web", Change: "changed", Reason: "its config changed: vars.greeting; nothing that it is built from " +
				"would change"},
			{Name: "zoo", Change: "removed", Reason: "it leaves the app"},
		},
		Inputs: []api.PreviewedInput{{Name: "size", Change: "added", Required: true}, {Name: "old", Change: "removed"}},
		Installs: []api.PreviewedInstall{
			{Name: "acme", Components: []string{"net", "web"}, Reason: "net: artifact changed"},
			{Name: "globex", Components: []string{}, Reason: "it is pinned to release 1"},
		},
	}
}

// TestShowPreview checks the output for people, for programs, and as a comment.
func TestShowPreview(t *testing.T) {
	app := api.App{Name: "shop"}
	var out strings.Builder
	if err := printPreview(&out, &console.Console{}, app, draft()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A sync of shop would create release 5.\n", "input size is added, required and without a default",
		"sandbox\tunchanged\t", "net\trebuilt\tthe code", "page\tnew, built\t",
		"web\tconfig changed\t", "zoo\tremoved\t", "acme\tnet, web\tnet: artifact changed\n",
		"Nothing would change on 1 other install.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	comment := formatMarkdown(app, draft())
	for _, want := range []string{"| net | rebuilt | the code in modules/net would change |\n",
		"| 1 other | unchanged | |\n", "- input size is added", "| acme | net, web | net: artifact changed |\n"} {
		if !strings.Contains(comment, want) {
			t.Errorf("%q is not in\n%s", want, comment)
		}
	}
	if got := formatMarkdown(app, api.AppPreview{}); got != "**nuon**: A sync of shop would change nothing.\n\nIt has no "+
		"installs.\n" {
		t.Errorf("nothing is %q", got)
	}
}

// TestPlain checks that names and commit subjects cannot add markup or mentions to the comment.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a|b\n[x](http://y) <b>": `a\|b \[x\](http://y) &lt;b\>`, "@vera `rm`": "@\u2060vera \\`rm\\`",
		"modules/web": "modules/web", "**# &amp;": `\*\*\# &amp;amp;`,
	} {
		if got := escapeMarkdown(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestOutlookAndVerdict checks the first sentence in each case, and that a preview
// fails only for what cannot be built.
func TestOutlookAndVerdict(t *testing.T) {
	app := api.App{Name: "shop"}
	for want, p := range map[string]api.AppPreview{
		"A sync of shop would change nothing.":                                  {},
		"A sync of shop would create no release: what changes is not deployed.": {Changed: true},
		"A sync of shop would create its first release.":                        {Changed: true, Release: 1},
		"A sync of shop would create release 2.":                                {Changed: true, Release: 2},
		"A sync of shop would create release 2, which is not deployed, because it would be incomplete: " +
			"web cannot be built.": {Changed: true, Release: 2, Held: "web cannot be built"},
	} {
		if got := previewSummary(app, p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if err := previewError(draft()); err != nil {
		t.Errorf("ended with %v", err)
	}
	broken := draft()
	broken.Components[1].Problem = "it calls a module outside"
	if err := previewError(broken); exitcode.CodeOf(err) != exitcode.Failed ||
		!strings.Contains(err.Error(), "net cannot be built; fix it") {
		t.Errorf("ended with %v", err)
	}
}

// TestDryRunSendsTheFiles checks that a dry run sends the whole work tree of a connected
// app, with the path of its config in it, and only the directory of another app.
func TestDryRunSendsTheFiles(t *testing.T) {
	for name, c := range map[string]struct {
		app             api.App
		directory, file string
	}{
		"connected": {api.App{ID: "app_1", Name: "shop", Repository: "https://git.example/shop"}, "apps/shop",
			"apps/shop/metadata.toml"},
		"uploaded": {api.App{ID: "app_1", Name: "shop"}, "", "metadata.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := valid(t)
			write(t, dir, "apps/shop/notes.md", "not committed\n")
			p := &plane{app: c.app}
			e := p.start(t)
			if err := execute(t, e, "--dry-run", dir+"/apps/shop"); err != nil {
				t.Fatal(err)
			}
			if p.sync != nil || p.directory != c.directory || p.files[c.file] == "" {
				t.Errorf("asked for %+v, sent %v of %q", p.sync, p.files, p.directory)
			}
		})
	}
}
