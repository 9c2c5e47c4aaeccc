package build_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// vpc is a resolved call of a registry module, with content that is named by a text.
func vpc(version, content string) api.ResolvedModule {
	return api.ResolvedModule{
		Key: "vpc", Source: "acme/vpc/aws", Constraint: "~> 1.0", Version: version,
		Archive: sha256digest.Of([]byte("packed " + content)), Tree: sha256digest.Of([]byte(content)), Directory: ".",
	}
}

func forTerraform(all ...api.ResolvedModule) api.ModuleResolution {
	return api.ModuleResolution{Tool: "terraform", Modules: all}
}

// calling returns hello with a component that calls a registry module.
func calling(t *testing.T) *gittest.Repo {
	t.Helper()
	repo := hello(t).Write("modules/web/main.tf",
		"module \"vpc\" {\n  source  = \"acme/vpc/aws\"\n  version = \"~> 1.0\"\n}\n")
	repo.Commit("call a registry module")
	return repo
}

// TestTheFirstResolutionWins: when two first builds of a component overlap and resolve a call differently, the one that
// ends first decides, and the other input is built again with its modules.
func TestTheFirstResolutionWins(t *testing.T) {
	repo := calling(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "metrics")
	repo.Write("modules/web/more.tf", "output \"more\" { value = 1 }\n")
	b.push("more")
	all := b.builds("web")
	if len(all) != 2 || b.job(all[1]).Build.Modules.Tool != "" {
		t.Fatalf("%d builds of web, the second starts from %+v", len(all), b.job(all[1]).Build.Modules)
	}
	ended := func(built store.Build, version, content string) store.Build {
		t.Helper()
		result := succeeded(b.org, built)
		result.Build.Modules = forTerraform(vpc(version, content))
		b.end(built, result)
		return b.builds("web")[built.Number-1]
	}
	if second := ended(all[1], "1.1.0", "new"); second.Status != "succeeded" {
		t.Fatalf("the build that ended first %s: %s", second.Status, second.Error)
	}
	first := ended(all[0], "1.0.0", "old")
	if first.Status != "failed" || !strings.Contains(first.Error, "1.1.0 (") ||
		!strings.Contains(first.Error, "1.0.0 (") {
		t.Errorf("the build that ended later %s: %s", first.Status, first.Error)
	}
	b.wantBuilds(map[string]int{"web": 3})
	again := b.builds("web")[2]
	const reason = "build 1 has other versions of modules than the build that ended first"
	if again.InputID != first.InputID || again.Reason != reason {
		t.Errorf("%s is built again because %q", again.InputID, again.Reason)
	}
	want := forTerraform(vpc("1.1.0", "new"))
	if diff := cmp.Diff(want, b.job(again).Build.Modules); diff != "" {
		t.Errorf("it starts from %s", diff)
	}
	if last := ended(again, "1.0.0", "old"); last.Status != "failed" {
		t.Errorf("a runner that does not keep to the modules: %s", last.Status)
	}
	b.wantBuilds(map[string]int{"web": 3})
	b.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := b.builder.Retry(ctx, tx, again.ID)
		return err
	})
	last := ended(b.builds("web")[3], "1.1.0", "new")
	if diff := cmp.Diff(want, b.modules(last)); diff != "" || last.Status != "succeeded" {
		t.Errorf("%s %s: %s", last.Status, last.Error, diff)
	}
}

// succeedWith simulates a runner that ends the newest build of web with modules.
func (b *bench) succeedWith(made api.ModuleResolution) store.Build {
	b.t.Helper()
	all := b.builds("web")
	built := all[len(all)-1]
	result := succeeded(b.org, built)
	result.Build.Modules = made
	b.end(built, result)
	all = b.builds("web")
	return all[len(all)-1]
}

// modules returns the stored resolution of a build.
func (b *bench) modules(built store.Build) (made api.ModuleResolution) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		made, err = build.Modules(ctx, tx, built.ID, built.ModulesTool)
		return err
	})
	return made
}

func (b *bench) input(id string) (input store.ComponentInput) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		input, err = tx.ComponentInputByID(ctx, b.org, id)
		return err
	})
	return input
}

// TestModulesStayForTheSameSource: the resolution of a build is stored, and the next build of the
// component starts from it. It is part of the digest of that build's input.
func TestModulesStayForTheSameSource(t *testing.T) {
	repo := calling(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "metrics")
	if given := b.job(b.builds("web")[0]).Build.Modules; given.Tool != "" {
		t.Errorf("the first build starts from %+v", given)
	}
	resolved := forTerraform(vpc("1.0.0", "a"), api.ResolvedModule{
		Key: "vpc.text", Source: "git::https://git.test/text.git?ref=v1", Repository: "https://git.test/text.git",
		Commit: strings.Repeat("a", 40), Tree: sha256digest.Of(nil), Directory: "sub",
	})
	first := b.succeedWith(resolved)
	if diff := cmp.Diff(resolved, b.modules(first)); diff != "" || first.Status != "succeeded" {
		t.Errorf("%s %s: %s", first.Status, first.Error, diff)
	}
	b.sync()
	b.wantBuilds(map[string]int{"web": 1})
	b.wantReleases("1 complete")

	repo.Write("modules/web/more.tf", "output \"more\" { value = 1 }\n")
	b.push("more")
	b.wantBuilds(map[string]int{"web": 2})
	second := b.builds("web")[1]
	if diff := cmp.Diff(resolved, b.job(second).Build.Modules); diff != "" {
		t.Errorf("the second build does not start from the first one's modules: %s", diff)
	}
	input := b.input(second.InputID)
	var recipe build.Recipe
	if err := json.Unmarshal(input.Recipe, &recipe); err != nil {
		t.Fatal(err)
	}
	encoded, _ := json.Marshal(resolved)
	if recipe.Modules != sha256digest.Of(encoded) || recipe.Digest() != input.Digest || input.Base == input.Digest {
		t.Errorf("the input %s is made from %+v", input.Digest, recipe)
	}
	b.sync() // finds the input again
	b.wantBuilds(map[string]int{"web": 2})

	// The same version with other content is an error with both digests, regardless of the runner.
	failed := b.succeedWith(forTerraform(vpc("1.0.0", "b"), resolved.Modules[1]))
	for _, want := range []string{"module vpc (acme/vpc/aws): the content changed: 1.0.0 (" +
		sha256digest.Of([]byte("a")) + ") was recorded, 1.0.0 (" + sha256digest.Of([]byte("b")) + ") was packed",
		"nuon builds refresh"} {
		if failed.Status != "failed" || !strings.Contains(failed.Error, want) {
			t.Errorf("the build %s with %q, want %q", failed.Status, failed.Error, want)
		}
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := b.builder.Retry(ctx, tx, failed.ID)
		return err
	})
	if diff := cmp.Diff(resolved, b.job(b.builds("web")[2]).Build.Modules); diff != "" {
		t.Errorf("the retried build starts from other modules: %s", diff)
	}

	// Back to the first commit's code: its build, not a new one.
	b.succeedWith(resolved)
	repo.Remove("modules/web/more.tf")
	if outcome := b.push("less").Outcome; !strings.Contains(outcome, "the same input as that of build 1") {
		t.Errorf("the outcome is %q", outcome)
	}

	// Code that calls no module starts from none.
	repo.Write("modules/web/main.tf", "output \"x\" { value = 1 }\n")
	b.push("none")
	all := b.builds("web")
	if last := b.input(all[len(all)-1].InputID); last.Base != "" || last.Resolution != nil {
		t.Errorf("got %+v", last)
	}
}

// TestReportedModulesAreChecked: a runner can report anything.
func TestReportedModulesAreChecked(t *testing.T) {
	many := make([]api.ResolvedModule, 501)
	for i := range many {
		many[i] = vpc("1.0.0", "a")
		many[i].Key = fmt.Sprint("m", i)
	}
	with := func(change func(*api.ResolvedModule)) api.ModuleResolution {
		m := vpc("1.0.0", "a")
		change(&m)
		return forTerraform(m)
	}
	for name, c := range map[string]struct {
		made api.ModuleResolution
		want string
	}{
		"unknown tool":    {api.ModuleResolution{Tool: "pulumi", Modules: many[:1]}, "an unknown tool"},
		"no tool":         {api.ModuleResolution{Modules: many[:1]}, "an unknown tool"},
		"no modules":      {api.ModuleResolution{Tool: "terraform"}, "0 modules"},
		"too many":        {forTerraform(many...), "501 modules"},
		"twice":           {forTerraform(many[0], many[0]), "m0 twice"},
		"path as key":     {with(func(m *api.ResolvedModule) { m.Key = "../vpc" }), "invalid key"},
		"long key":        {with(func(m *api.ResolvedModule) { m.Key = strings.Repeat("k", 301) }), "invalid key"},
		"no source":       {with(func(m *api.ResolvedModule) { m.Source = "" }), "invalid source"},
		"long source":     {with(func(m *api.ResolvedModule) { m.Source = strings.Repeat("s", 3001) }), "invalid source"},
		"escape sequence": {with(func(m *api.ResolvedModule) { m.Version = "1\x1b[2J" }), "invalid version"},
		"line break":      {with(func(m *api.ResolvedModule) { m.Constraint = "1\n2" }), "invalid constraint"},
		"password": {with(func(m *api.ResolvedModule) { m.Repository = "https://a:hunter2@git.test/x" }),
			"invalid repository"},
		"short commit":   {with(func(m *api.ResolvedModule) { m.Commit = "abc" }), "invalid commit"},
		"no digest":      {with(func(m *api.ResolvedModule) { m.Tree = "latest" }), "invalid digest"},
		"archive digest": {with(func(m *api.ResolvedModule) { m.Archive = "sha256:0" }), "invalid digest of the archive"},
		"way out":        {with(func(m *api.ResolvedModule) { m.Directory = "../x" }), "invalid directory"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, calling(t))
			b.connect(true)
			b.sync()
			got := b.succeedWith(c.made)
			if got.Status != "failed" || !strings.Contains(got.Error, c.want) || got.ArtifactDigest != "" ||
				strings.Contains(got.Error, "hunter2") {
				t.Errorf("the build %s with %q, want %q", got.Status, got.Error, c.want)
			}
			if stored := b.modules(got); len(stored.Modules) > 0 {
				t.Errorf("%+v was stored", stored)
			}
		})
	}
}
