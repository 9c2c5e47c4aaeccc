package preview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/diff"
	appdiff "github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/preview"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// side reads a revision as `nuon diff app` does.
func (w *world) side(revision string) appcode.Side {
	w.Helper()
	repository, err := git.PlainOpen(w.repo.Dir)
	must(w, err)
	tree := gittree.New(repository.Storer, plumbing.NewHash(w.repo.Git("rev-parse", revision+"^{tree}")), nil)
	files, err := fs.Sub(tree, "app")
	must(w, err)
	config, found := appconfig.Load(files, appconfig.Options{})
	if config == nil {
		w.Fatal(found)
	}
	return appcode.Side{App: config, Tree: tree, Repository: w.repo.URL(), Branch: "main"}
}

// rebuilt returns the components that `nuon diff app` reports as built from something else.
func rebuilt(t testing.TB, before, after appcode.Side) []string {
	t.Helper()
	code, err := appcode.Compare(before, after)
	must(t, err)
	r, err := appdiff.Report(before.App, after.App, appdiff.Options{Code: code})
	must(t, err)
	names := []string{}
	for _, c := range r.Changes {
		for _, f := range c.Findings {
			switch f.Rule {
			case "component-rebuilt", "component-code":
				names = append(names, strings.TrimPrefix(c.Address, "component/"))
			case "action-code":
				names = append(names, "actions:scripts")
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// inputs returns the digest of each component's build input.
func (w *world) inputs() map[string]string {
	w.Helper()
	rows, err := w.db.Query(w.Context(),
		"select c.name, i.digest from components c join component_inputs i on i.id = c.input_id")
	must(w, err)
	all := map[string]string{}
	var name, digest string
	_, err = pgx.ForEachRow(rows, []any{&name, &digest}, func() error { all[name] = digest; return nil })
	must(w, err)
	return all
}

// push changes some of the repository's files: code of components, other files, and configs.
func (w *world) push(r *rand.Rand, step int) {
	w.Helper()
	module := func(name string) string {
		return map[string]string{
			"web": "module \"shared\" {\n  source = \"../shared\"\n}\n", "shared": "output \"name\" { value = \"shared\" }\n",
			"metrics": "output \"port\" { value = 1 }\n", "sandbox": "output \"region\" { value = \"here\" }\n",
		}[name]
	}
	for range 1 + r.IntN(3) {
		name := []string{"web", "metrics", "shared", "sandbox"}[r.IntN(4)]
		switch r.IntN(8) {
		case 0:
			w.repo.Write("modules/"+name+"/main.tf", module(name)+fmt.Sprintf("# %d\n", r.IntN(3)))
		case 1:
			w.repo.Write("modules/"+name+"/files/"+fmt.Sprint(r.IntN(2)), fmt.Sprint(r.IntN(2)))
		case 2:
			w.repo.Write("README.md", fmt.Sprint(step), "modules/unused/main.tf", fmt.Sprint("# ", step))
		case 3:
			w.repo.Write("app/components/metrics.toml",
				previewComponent("metrics", fmt.Sprintf("max_auto_retries = %d", r.IntN(3))))
		case 4:
			w.repo.Write("app/components/metrics.toml",
				strings.Replace(previewComponent("metrics", ""), "1.11.4", fmt.Sprintf("1.11.%d", 4+r.IntN(3)), 1))
		case 5: // the same code, by the URL of the repository
			w.repo.Write("app/components/metrics.toml",
				strings.Replace(previewComponent("metrics", ""), `repo = "."`,
					fmt.Sprintf("repo = %q\nbranch = \"main\"", w.repo.URL()), 1))
		case 6:
			w.repo.Git("rm", "-r", "--force", "--quiet", "--ignore-unmatch", "modules/"+name+"/files")
		case 7:
			w.repo.Write("scripts/check.sh", fmt.Sprintf("exit %d\n", r.IntN(3)))
		}
	}
	w.repo.Git("add", "--all")
	w.repo.Git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint("step ", step))
}

// TestDiffOfCodeAgreesWithBuilds pushes random changes, and compares the components and actions that `nuon
// diff app HEAD~1` reports as built from something else with those whose build input the control
// plane changes.
func TestDiffOfCodeAgreesWithBuilds(t *testing.T) {
	seed := rand.Uint64()
	w, r := newWorld(t), rand.New(rand.NewPCG(seed, 1))
	w.repo.Write("scripts/check.sh", "exit 0\n", "app/actions/check.toml", `
name = "check"

[[triggers]]
type = "manual"

[[steps]]
name    = "check"
command = "sh check.sh"

[steps.public_repo]
repo      = "."
directory = "scripts"
branch    = "main"
`)
	w.repo.Git("add", "--all")
	w.repo.Git("commit", "--quiet", "--message", "an action")
	w.sync()
	moved := 0
	for step := range 15 {
		before := w.inputs()
		w.push(r, step)
		said := rebuilt(t, w.side("HEAD~1"), w.side("HEAD"))
		w.sync()
		want := []string{}
		for name, digest := range w.inputs() {
			if digest != before[name] {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		if d := cmp.Diff(want, said); d != "" {
			t.Fatalf("seed %d, step %d: %s\n%s", seed, step, d, w.repo.Git("show", "--stat", "HEAD"))
		}
		moved += len(want)
	}
	if moved == 0 {
		t.Errorf("seed %d: no push changed the code of a component", seed)
	}
}

// TestReleasesDiff compares releases: code, config, both, in both directions, and one with itself.
func TestReleasesDiff(t *testing.T) {
	w := newWorld(t)
	w.repo.Write("modules/shared/main.tf", "output \"name\" { value = \"other\" }\n")
	w.repo.Commit("code")
	w.sync()
	w.repo.Write("app/components/metrics.toml", previewComponent("metrics", "[vars]\nzone = \"b\"\n"))
	w.repo.Commit("config")
	w.sync()
	for _, c := range []struct {
		from, to int32
		want     []string
	}{
		{1, 1, []string{}},
		{1, 2, []string{"web changed rebuilt redeployed modules/shared", "component/web component-code"}},
		{2, 3, []string{"metrics changed redeployed", "component/metrics component-redeployed"}},
		{3, 1, []string{"metrics changed redeployed", "web changed rebuilt redeployed modules/shared",
			"component/metrics component-redeployed", "component/web component-code"}},
	} {
		got := []string{}
		must(t, w.store.ReadTx(t.Context(), org, func(ctx context.Context, tx *store.Tx) error {
			var sides []store.Release
			for _, number := range []int32{c.from, c.to} {
				row, err := tx.ViewRelease(ctx, org, app, number)
				if err != nil {
					return err
				}
				sides = append(sides, store.Release{ID: row.ID, Number: row.Number, VersionID: row.VersionID})
			}
			d, err := preview.Releases(ctx, tx, sides[0], sides[1])
			if err != nil {
				return err
			}
			got = inWords(t, d)
			return nil
		}))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("from %d to %d: %s", c.from, c.to, d)
		}
	}
}

// inWords returns the difference between two releases in lines.
func inWords(t *testing.T, d api.ReleaseDiff) []string {
	t.Helper()
	lines := []string{}
	for _, c := range d.Components {
		if c.Change == api.ReleaseDiffComponentChangeNone {
			continue
		}
		words := []string{c.Name, string(c.Change)}
		if c.Rebuilt {
			words = append(words, "rebuilt")
		}
		if c.Redeployed {
			words = append(words, "redeployed")
		}
		for _, code := range c.Code {
			words = append(words, code.Directory)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	var r diff.Report
	must(t, json.Unmarshal(d.Report, &r))
	must(t, r.Validate())
	for _, c := range r.Changes {
		for _, f := range c.Findings {
			lines = append(lines, c.Address+" "+f.Rule)
		}
	}
	return lines
}
