package modules

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// publish fills a server with modules of all kinds of sources and returns a component that calls
// them.
func publish(t *testing.T, server *registrytest.Server) []string {
	t.Helper()
	server.PublishModule("acme/net/aws", "1.0.0", "main.tf", "old = 1")
	server.PublishModule("acme/net/aws", "1.2.0", "main.tf", calling("inner", "./modules/inner", ""),
		"modules/inner/main.tf", calling("label", server.Host+"/acme/label/null", "~> 0.1"), "README.md", "net")
	server.PublishModule("acme/net/aws", "2.0.0", "main.tf", "")
	server.PublishModule("acme/label/null", "0.1.7", "repo-abc123/main.tf", `output "id" { value = "label" }`)
	server.Module("acme/label/null", "0.1.7",
		server.URL+"/archives/acme/label/null/0.1.7.tar.gz//repo-abc123?archive=tar.gz")
	repo, at := server.Repository("infra")
	repo.Write("main.tf", "", "vpc/main.tf", calling("shared", "../shared", ""), "shared/main.tf",
		`output "id" { value = "shared" }`).Symlink("shared/main.tf", "linked.tf").Commit("first")
	repo.Git("tag", "--annotate", "--message", "v1", "v1.0.0")
	server.Module("acme/git/aws", "3.0.0", registrytest.GitSource(at, "v1.0.0"))
	server.Content("/files/pack.zip", registrytest.Zip(t, "mods/a/main.tf", `output "id" { value = "zip" }`,
		"mods/b/main.tf", ""))
	return []string{
		"app/main.tf", calling("net", server.Host+"/acme/net/aws", "~> 1.0") +
			calling("vpc", registrytest.GitSource(at, "v1.0.0")[:len("git::"+at)]+"//vpc?ref=v1.0.0", "") +
			calling("zip", server.URL+"/files/pack.zip//mod*/a", "") +
			calling("git", server.Host+"/acme/git/aws//shared", "3.0.0") + calling("local", "../local", ""),
		"local/main.tf", calling("label", server.Host+"/acme/label/null", "0.1.7"),
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t)
	source := publish(t, server)
	result := mustResolve(t, trusting(server), nil, source...)
	var got []string
	for _, module := range result.Resolution.Modules {
		got = append(got, module.Key+" "+module.Version+" "+module.Directory)
		if module.Tree == "" || (module.Commit == "") == (module.Archive == "") ||
			(module.Commit == "") != (module.Repository == "") {
			t.Errorf("%+v is not complete", module)
		}
	}
	want := []string{"git 3.0.0 shared", "local.label 0.1.7 repo-abc123", "net 1.2.0 .",
		"net.inner.label 0.1.7 repo-abc123",
		"vpc  vpc", "zip  mods/a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var manifest struct{ Modules []entry }
	if err := json.Unmarshal([]byte(content(t, result.Files, ".terraform/modules/modules.json")),
		&manifest); err != nil {
		t.Fatal(err)
	}
	var installed []string
	for _, one := range manifest.Modules {
		installed = append(installed, one.Key+" "+one.Version+" "+one.Dir)
	}
	want = []string{"  .", "git 3.0.0 .terraform/modules/git/shared", "local  ../local",
		"local.label 0.1.7 .terraform/modules/local.label/repo-abc123", "net 1.2.0 .terraform/modules/net",
		"net.inner  .terraform/modules/net/modules/inner",
		"net.inner.label 0.1.7 .terraform/modules/net.inner.label/repo-abc123", "vpc  .terraform/modules/vpc/vpc",
		"vpc.shared  .terraform/modules/vpc/shared", "zip  .terraform/modules/zip/mods/a"}
	if diff := cmp.Diff(want, installed); diff != "" {
		t.Error(diff)
	}
	if content(t, result.Files, ".terraform/modules/net/README.md") != "net" || strings.Contains(paths(result.Files),
		".git/") {
		t.Error(paths(result.Files))
	}
	// two archives of the registry, a zip, and a repository, regardless of the sources that lead to them
	if result.Fetched != 4 {
		t.Errorf("%d packages were fetched", result.Fetched)
	}
}

func TestResolveAgain(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t)
	source := publish(t, server)
	options := trusting(server)
	options.Cache = t.TempDir()
	first := mustResolve(t, options, nil, source...)
	digest, err := first.Resolution.Digest()
	if err != nil {
		t.Fatal(err)
	}
	server.Requests()

	// The record comes back from JSON. With a warm cache nothing is requested.
	text, err := json.Marshal(first.Resolution)
	if err != nil {
		t.Fatal(err)
	}
	var recorded Resolution
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	same := func(name string, again *Result) {
		t.Helper()
		if diff := cmp.Diff(first.Resolution, again.Resolution); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got, err := again.Resolution.Digest(); err != nil || got != digest {
			t.Errorf("%s: digest %s, %v, want %s", name, got, err, digest)
		}
		if diff := cmp.Diff(first.Files, again.Files); diff != "" {
			t.Errorf("%s: %.500s", name, diff)
		}
	}
	again := mustResolve(t, options, &recorded, source...)
	same("warm", again)
	if asked := server.Requests(); len(asked) != 0 || again.Fetched != 0 {
		t.Errorf("%d packages were fetched: %v", again.Fetched, asked)
	}

	// Newer versions and a moved tag change nothing, without the cache as well.
	server.PublishModule("acme/net/aws", "1.3.0", "main.tf", "# new")
	server.PublishModule("acme/label/null", "0.1.8", "main.tf", "# new")
	options.Cache = ""
	same("cold", mustResolve(t, options, &recorded, source...))

	// Without the record they are found.
	fresh := mustResolve(t, options, nil, source...)
	if got := fresh.Resolution.Modules[2].Version; got != "1.3.0" {
		t.Errorf("net is %s", got)
	}
	// A changed constraint is resolved, the others stay.
	source[1] = strings.Replace(source[1], "~> 1.0", ">= 1.3", 1)
	changed := mustResolve(t, options, &recorded, source...)
	if got := changed.Resolution.Modules; got[2].Version != "2.0.0" || got[1].Version != "0.1.7" {
		t.Errorf("%+v", got)
	}
}

// TestMovedTag: the recorded commit is fetched again, also from a server that lists other commits
// only.
func TestMovedTag(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t)
	repo, at := server.Repository("infra")
	first := repo.Write("main.tf", "# 1").Commit("1")
	repo.Git("tag", "v1")
	source := []string{"app/main.tf", calling("x", registrytest.GitSource(at, "v1"), "")}
	before := mustResolve(t, trusting(server), nil, source...)
	repo.Write("main.tf", "# 2").Commit("2")
	repo.Git("tag", "--force", "v1")
	after := mustResolve(t, trusting(server), &before.Resolution, source...)
	if got := after.Resolution.Modules[0].Commit; got != first {
		t.Errorf("commit %s, want %s", got, first)
	}
	if got := content(t, after.Files, ".terraform/modules/x/main.tf"); got != "# 1" {
		t.Errorf("content %q", got)
	}
	if fresh := mustResolve(t, trusting(server), nil, source...); fresh.Resolution.Modules[0].Commit == first {
		t.Error("the new commit is not found")
	}
}

func TestChangedContent(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t)
	server.PublishModule("acme/net/aws", "1.0.0", "main.tf", "# 1")
	source := []string{"app/main.tf", "\n" + calling("net", server.Host+"/acme/net/aws", "1.0.0")}
	before := mustResolve(t, trusting(server), nil, source...)

	// The same files in another archive are the same content.
	server.Content("/archives/acme/net/aws/1.0.0.tar.gz", append(registrytest.TarGz(t, "main.tf", "# 1"),
		registrytest.TarGz(t)...))
	again := mustResolve(t, trusting(server), &before.Resolution, source...)
	if diff := cmp.Diff(before.Resolution, again.Resolution); diff != "" {
		t.Error(diff)
	}

	server.PublishModule("acme/net/aws", "1.0.0", "main.tf", "# 2")
	_, err := resolve(t, trusting(server), &before.Resolution, source...)
	var changed *ChangedError
	if !errors.As(err, &changed) {
		t.Fatal(err)
	}
	after := mustResolve(t, trusting(server), nil, source...).Resolution.Modules[0].Tree
	fails(t, err, "app/main.tf:2", "version 1.0.0", before.Resolution.Modules[0].Tree, after, "nuon builds refresh")
	if IsTemporary(err) {
		t.Error("it does not pass")
	}
}

func TestNothingToResolve(t *testing.T) {
	t.Parallel()
	result := mustResolve(t, Options{}, nil, "app/main.tf", calling("x", "./x", ""), "app/x/main.tf", "")
	if len(result.Files) != 0 || len(result.Resolution.Modules) != 0 {
		t.Errorf("%+v", result)
	}
	text, err := json.Marshal(result.Resolution)
	if err != nil || string(text) != `{"tool":"terraform","modules":[]}` {
		t.Errorf("%s %v", text, err)
	}
}

// TestWildcards: older registries answer with //* as the directory that the archive of a forge has.
// Terraform knows it in sources only.
func TestWildcards(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t)
	server.Content("/x", registrytest.TarGz(t, "pax/main.tf", "", "pax/modules/a/main.tf", ""))
	server.Module("acme/x/aws", "1.0.0", "/x//*?archive=tar.gz")
	for source, want := range map[string]string{
		server.Host + "/acme/x/aws":               "pax",
		server.Host + "/acme/x/aws//modules/a":    "pax/modules/a",
		server.URL + "/x//*/mod*/?archive=tar.gz": "pax/modules",
	} {
		result, err := resolve(t, trusting(server), nil, "app/main.tf", calling("x", source, ""))
		if want == "pax/modules" {
			fails(t, err, `no .tf files in "pax/modules"`)
		} else if err != nil || result.Resolution.Modules[0].Directory != want {
			t.Errorf("%s: %+v, %v", source, result, err)
		}
	}
}

// TestTools: an address without a host means the registry of the tool.
func TestTools(t *testing.T) {
	t.Parallel()
	terraform, tofu := registrytest.New(t), registrytest.New(t)
	terraform.PublishModule("acme/net/aws", "1.0.0", "main.tf", "# terraform")
	tofu.PublishModule("acme/net/aws", "1.0.0", "main.tf", "# tofu")
	for tool, server := range map[Tool]*registrytest.Server{Terraform: terraform, OpenTofu: tofu} {
		options := trusting(server)
		options.Tool = tool
		options.Services = map[string]string{"registry.terraform.io": terraform.Services(),
			"registry.opentofu.org": tofu.Services()}
		result := mustResolve(t, options, nil, "app/main.tf", calling("net", "acme/net/aws", ""))
		if got := content(t, result.Files, ".terraform/modules/net/main.tf"); got != "# "+string(tool) {
			t.Errorf("%s gets %q", tool, got)
		}
		// What was resolved for one tool says nothing about the other.
		again := mustResolve(t, options, &Resolution{Tool: "other", Modules: result.Resolution.Modules},
			"app/main.tf", calling("net", "acme/net/aws", ""))
		if again.Fetched != 1 {
			t.Errorf("%s: %d packages were fetched", tool, again.Fetched)
		}
		if got := content(t, result.Files, manifestName); result.Resolution.Tool != tool ||
			!strings.Contains(got, tool.defaultHost()+"/acme/net/aws") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// TestStableForm pins the JSON form, which enters digests.
func TestStableForm(t *testing.T) {
	t.Parallel()
	resolution := Resolution{Tool: OpenTofu, Modules: []Module{
		{Key: "b", Source: "git::https://h/r", Repository: "https://h/r", Commit: "c", Tree: "sha256:2", Directory: "."},
		{Key: "a", Source: "x/y/z", Constraint: "~> 1.0", Version: "1.1.0", Archive: "sha256:3", Tree: "sha256:1",
			Directory: "d"},
	}}
	const want = "sha256:0e544e154e9be55367697ce7f88d6da23ef5a9b7195e9f65bc8de2e448597762"
	if got, err := resolution.Digest(); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if resolution.Modules[0].Key != "b" {
		t.Error("Digest changed the resolution")
	}
	const tree = "sha256:80293087a5b251e8f8347f14bdc712521edd399b12316f22553e500eba887072"
	if got := TreeDigest(filesOf("b", "-> a", "a", "1")); got != tree {
		t.Errorf("tree %s", got)
	}
}
