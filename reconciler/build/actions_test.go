package build_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// actionText returns an action with one step that runs a command from a directory of the repository.
func actionText(name, command, directory string) string {
	return "name = \"" + name + "\"\n[[triggers]]\ntype = \"manual\"\n[[steps]]\nname = \"run\"\ncommand = \"" + command +
		"\"\n[steps.public_repo]\nrepo = \".\"\ndirectory = \"" + directory + "\"\n"
}

// writeProgram writes an executable file.
func writeProgram(t *testing.T, repo *gittest.Repo, name, text string) {
	t.Helper()
	repo.Write(name, text)
	if err := os.Chmod(filepath.Join(repo.Dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestSourcesOfActions checks that the directory from which actions run commands is built and released like a
// component: once for all steps, and again only when a file in it or one that it links to changes.
func TestSourcesOfActions(t *testing.T) {
	repo := hello(t).Write(
		"app/actions/check.toml", actionText("check", "./check.sh now", "scripts"),
		"app/actions/clean.toml", actionText("clean", "lib/clean.sh", "scripts"),
	)
	writeProgram(t, repo, "scripts/check.sh", "#!/bin/sh\necho one\n")
	writeProgram(t, repo, "shared/clean.sh", "#!/bin/sh\n")
	repo.Symlink("../shared", "scripts/lib")
	repo.Commit("actions")
	b := newBench(t, repo)
	b.connect(true)
	outcome := b.sync().Outcome
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1, "actions:scripts": 1})
	if !strings.Contains(outcome, "source actions:scripts: first input, build 1") {
		t.Errorf("the outcome is %q", outcome)
	}
	built := b.builds("actions:scripts")[0]
	if diff := cmp.Diff(map[string]string{"scripts/check.sh": "#!/bin/sh\necho one\n", "scripts/lib": "",
		"shared/clean.sh": "#!/bin/sh\n"}, b.sourceOf(built)); diff != "" {
		t.Error(diff)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		shown, err := build.ScriptFiles(ctx, tx, built.ID)
		if diff := cmp.Diff(map[string]string{"scripts/check.sh": "#!/bin/sh\necho one\n",
			"scripts/lib": "symbolic link to ../shared", "shared/clean.sh": "#!/bin/sh\n",
			"executable files/": "scripts/check.sh\nshared/clean.sh\n", "symbolic links/": "scripts/lib\n"}, shown); diff != "" {
			t.Error(diff)
		}
		return err
	})
	spec := b.job(built)
	if spec.TimeoutSeconds != 1800 || spec.Build.ComponentKind != "action_source" || spec.Build.Directory != "scripts" {
		t.Errorf("the job is %+v", spec)
	}
	b.wantReleases("1 building: build 1 of sandbox has not ended; build 1 of actions:scripts has not ended; " +
		"build 1 of metrics has not ended; build 1 of web has not ended")
	b.succeed("sandbox", "web", "metrics", "actions:scripts")
	b.wantReleases("1 complete")

	// Other files, and another command, are no reason to build.
	repo.Write("README.md", "# words\n", "app/actions/check.toml", actionText("check", "./check.sh later", "scripts"))
	b.push("words")
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1, "actions:scripts": 1})
	b.wantReleases("1 complete", "2 complete")

	writeProgram(t, repo, "shared/clean.sh", "#!/bin/sh\necho two\n")
	if draft := b.drafts()["actions:scripts"]; !draft.Rebuild || draft.Reason != "the code in shared would change" {
		t.Errorf("the draft is %+v", draft)
	}
	outcome = b.push("clean more").Outcome
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1, "actions:scripts": 2})
	b.succeed("actions:scripts")
	if diff := cmp.Diff(map[string]int32{"sandbox": 1, "web": 1, "metrics": 1, "actions:scripts": 2},
		b.contents(3)); diff != "" {
		t.Error(diff)
	}
	if want := `("clean more") changed shared/clean.sh, which source actions:scripts is built from`; !strings.Contains(
		b.releaseRows()[2].Cause, want) {
		t.Errorf("the cause is %q, and the outcome %q", b.releaseRows()[2].Cause, outcome)
	}

	// A command that is not there, and a link out of the repository, are problems of the source.
	repo.Remove("scripts/check.sh")
	b.push("remove the script")
	if got := b.component("actions:scripts").Problem; !strings.Contains(got,
		`step "run" of action check: there is no file scripts/check.sh in `) {
		t.Errorf("the problem is %q", got)
	}
	writeProgram(t, repo, "scripts/check.sh", "#!/bin/sh\n")
	repo.Symlink("../../../etc/passwd", "scripts/secret")
	b.push("a hostile link")
	if got := b.component("actions:scripts").Problem; !strings.Contains(got,
		"the symbolic link scripts/secret leads out of the repository") {
		t.Errorf("the problem is %q", got)
	}
	releases := b.releases()
	if last := releases[len(releases)-1]; !strings.Contains(last, "incomplete: actions:scripts cannot be built") {
		t.Errorf("the releases are %q", releases)
	}

	// An action that is gone takes its source with it.
	repo.Remove("app/actions/check.toml", "app/actions/clean.toml")
	b.push("no actions")
	rows := b.releaseRows()
	if diff := cmp.Diff(map[string]int32{"sandbox": 1, "web": 1, "metrics": 1},
		b.contents(rows[len(rows)-1].Number)); diff != "" {
		t.Error(diff)
	}
}

// TestSourceOfAnotherRepository checks that a push to the repository that only an action names is built, and that
// one beside the directory is not.
func TestSourceOfAnotherRepository(t *testing.T) {
	tools := gittest.New(t).Write("README.md", "tools\n")
	writeProgram(t, tools, "kube/restart", "#!/bin/sh\n")
	tools.Commit("tools")
	text := strings.Replace(actionText("restart", "./restart", "kube"), "repo = \".\"",
		"repo = \""+tools.URL()+"\"\nbranch = \"main\"", 1)
	repo := hello(t).Write("app/actions/restart.toml", text)
	repo.Commit("an action")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	name := "actions:" + tools.URL() + "//kube@main"
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1, name: 1})
	if got := b.builds(name)[0]; got.Commit != tools.Head() || got.Repository != tools.URL() {
		t.Errorf("built from %s at %s", got.Repository, got.Commit)
	}
	b.end(b.builds(name)[0], api.JobResult{Status: api.JobResultStatusFailed, Error: "the disk is full"})
	b.succeed("sandbox", "web", "metrics")
	b.wantReleases("1 incomplete: build 1 of " + name + " failed")

	tools.Write("README.md", "more tools\n")
	tools.Commit("words")
	b.sync()
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1, name: 1})
	writeProgram(t, tools, "kube/restart", "#!/bin/sh\necho restarted\n")
	tools.Commit("say it")
	b.sync()
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1, name: 2})
	b.succeed(name)
	releases := b.releases()
	if !slices.Contains(releases, "2 complete") {
		t.Errorf("the releases are %q", releases)
	}
}
