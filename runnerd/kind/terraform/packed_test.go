package terraform

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// caller returns a component that calls a registry module, which calls a module in git, and a server
// that has both.
func caller(t *testing.T) (server *registrytest.Server, source []string) {
	t.Helper()
	server = registrytest.New(t)
	repo, at := server.Repository("text")
	repo.Write("main.tf", "variable \"line\" {}\noutput \"line\" {\n  value = \"[${var.line}]\"\n}\n").Commit("first")
	repo.Git("tag", "v1")
	server.PublishModule("acme/page/null", "1.0.0", "main.tf",
		fmt.Sprintf("variable \"greeting\" {}\nmodule \"text\" {\n  "+
			"source = %q\n  line = var.greeting\n}\nresource \"terraform_data\" \"page\" {\n  input = module.text.line\n}\n"+
			"output \"page\" {\n  value = terraform_data.page.output\n}\n", "git::"+at+"?ref=v1"))
	return server, []string{"modules/web/main.tf", fmt.Sprintf("variable \"greeting\" {\n  type = string\n}\nmodule "+
		"\"page\" {\n  source  = %q\n  version = \"~> 1.0\"\n  greeting = var.greeting\n}\noutput \"page\" {\n  value = "+
		"module.page.page\n}\n", server.Host+"/acme/page/null")}
}

// buildWith builds a source whose modules come from a server, with an earlier resolution.
func (r *rig) buildWith(server *registrytest.Server, earlier api.ModuleResolution, files ...string) (api.BuildResult,
	error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindBuild)
	env.Spec.Build = api.BuildSpec{
		Build: "bld_1", Component: "web", ComponentKind: "terraform_module", Source: r.source(files...),
		Directory: "modules/web", Repository: "vendor/web", TerraformVersion: terraformVersion, Tree: "sha256:0123",
		Modules: earlier,
	}
	result, err := r.run(context.Background(), Build{resolver: modules.Options{
		Roots: server.Roots, AllowPrivate: netguard.AllowHosts("127.0.0.1"),
	}}, env)
	return result.Build, err
}

func (r *rig) mustBuildWith(
	server *registrytest.Server, earlier api.ModuleResolution, files ...string,
) api.BuildResult {
	r.t.Helper()
	built, err := r.buildWith(server, earlier, files...)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.log.String())
	}
	return built
}

// pulled returns an artifact of the rig.
func (r *rig) pulled(ref api.ArtifactRef) artifact.Artifact {
	r.t.Helper()
	opened, err := oci.Open(r.plainHost().Child(ref.Repository), oci.Credential{})
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := opened.Pull(r.t.Context(), ref.Digest)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// TestModulesArePacked: a build packs the modules that it resolved. Plan and apply work without the
// registry, and send it no request.
func TestModulesArePacked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, source := caller(t)
	built := r.mustBuildWith(server, api.ModuleResolution{}, source...)
	var listed []string
	for _, m := range built.Modules.Modules {
		if err := sha256digest.Check(m.Tree); err != nil {
			t.Error(err)
		}
		listed = append(listed, m.Key+" "+m.Version)
	}
	diff := cmp.Diff([]string{"page 1.0.0", "page.text "}, listed)
	if diff != "" || built.Modules.Tool != string(testedTool) {
		t.Error(built.Modules.Tool, diff)
	}
	packed := r.pulled(built.Artifact)
	if got := packed.Annotations["dev.nuon.tool"]; got != string(testedTool) {
		t.Errorf("the artifact is for the tool %q", got)
	}
	files, err := packed.Files(artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Path)
	}
	if diff := cmp.Diff([]string{"modules/web/.terraform/modules/modules.json",
		"modules/web/.terraform/modules/page.text/main.tf", "modules/web/.terraform/modules/page/main.tf",
		"modules/web/main.tf"}, names); diff != "" {
		t.Error(diff)
	}

	server.Requests()
	server.Stop()
	spec := r.spec(built.Artifact)
	spec.Terraform.Vars = map[string]string{"greeting": "hello"}
	result := r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	if len(result.Outputs) != 1 || string(result.Outputs[0].Value) != `"[hello]"` {
		t.Errorf("the outputs are %+v", result.Outputs)
	}
	if asked := server.Requests(); len(asked) > 0 {
		t.Errorf("the deploy asked for %v", asked)
	}
	r.mustBeFree()
}

// TestUnchangedModulesStay: with the earlier resolution, neither a newer version nor a moved tag
// changes the artifact, and nothing is fetched. Without the runner's copies, a package that changed
// under its version is an error with both digests.
func TestUnchangedModulesStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, source := caller(t)
	first := r.mustBuildWith(server, api.ModuleResolution{}, source...)
	server.PublishModule("acme/page/null", "1.1.0", "main.tf",
		"variable \"greeting\" {}\noutput \"page\" {\n  value = 1\n}\n")
	server.PublishModule("acme/page/null", "1.0.0", "main.tf",
		"variable \"greeting\" {}\noutput \"page\" {\n  value = 2\n}\n")
	server.Requests()
	again := r.mustBuildWith(server, first.Modules, append(source, "modules/web/notes.md", "new")...)
	if diff := cmp.Diff(first.Modules, again.Modules); diff != "" {
		t.Errorf("an unchanged source got other modules:\n%s", diff)
	}
	if asked := server.Requests(); len(asked) > 0 {
		t.Errorf("unchanged modules were fetched again: %v", asked)
	}

	if err := os.RemoveAll(filepath.Join(r.root, "modules")); err != nil {
		t.Fatal(err)
	}
	_, err := r.buildWith(server, first.Modules, source...)
	if err == nil || !strings.Contains(err.Error(), "the content of version 1.0.0 changed: "+first.Modules.Modules[0].Tree+
		" was recorded, sha256:") {
		t.Errorf("a package that changed under its version: %v", err)
	}
	if newer := r.mustBuildWith(server, api.ModuleResolution{}, source...); newer.Modules.Modules[0].Version != "1.1.0" {
		t.Errorf("without an earlier resolution: %+v", newer.Modules)
	}
}

// TestModulesThatWereNotPacked: a deploy of an artifact without the modules that it calls fails before
// Terraform runs.
func TestModulesThatWereNotPacked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, source := caller(t)
	packed, err := artifact.Pack(artifact.MediaTerraform, []artifact.File{{Path: source[0], Content: []byte(source[1])}},
		map[string]string{artifact.AnnotationFormat: "1", annotationDirectory: "modules/web"}, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := oci.Open(r.plainHost().Child("vendor/web"), oci.Credential{})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := opened.Push(t.Context(), packed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.plan(r.spec(api.ArtifactRef{Repository: "vendor/web", Digest: digest}), false)
	if err == nil || !strings.Contains(err.Error(), `modules/web/main.tf:4: module "page" (`) ||
		!strings.Contains(err.Error(), "a deploy downloads no modules") {
		t.Errorf("got %v", err)
	}
	if asked := server.Requests(); len(asked) > 0 {
		t.Errorf("it asked for %v", asked)
	}
}

// TestModulesOfAnotherTool: modules that were packed for Terraform are not used by OpenTofu, and the
// other way round.
func TestModulesOfAnotherTool(t *testing.T) {
	real, err := exec.LookPath("terraform")
	if err != nil {
		t.Fatal(err)
	}
	tofu := filepath.Join(t.TempDir(), "tofu")
	script := "#!/bin/sh\nif [ \"$*\" = version ]; then echo 'OpenTofu v1.11.4'; exit; fi\nexec " + real + " \"$@\"\n"
	testprogram.Write(t, tofu, script)
	for _, test := range []struct{ build, deploy, want string }{
		{"", tofu, "the modules in the artifact were packed for Terraform, and this runner has OpenTofu 1.11.4"},
		{tofu, real, "the modules in the artifact were packed for OpenTofu, and this runner has Terraform 1.11.4"},
		{tofu, tofu, ""},
	} {
		r := newRig(t)
		server, source := caller(t)
		t.Setenv(tfbinary.EnvExecutable, test.build)
		built := r.mustBuildWith(server, api.ModuleResolution{}, source...)
		t.Setenv(tfbinary.EnvExecutable, test.deploy)
		spec := r.spec(built.Artifact)
		spec.Terraform.Vars = map[string]string{"greeting": "hello"}
		_, err := r.plan(spec, false)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("built with %q, planned with %q: %v, want %q", test.build, test.deploy, err, test.want)
		}
	}
}

// TestModuleCredentialsReachTheirHost: a build reads modules of a private registry and of a private
// repository with the org's credentials. Each is requested and sent only for its own address, and
// none leaves the job.
func TestModuleCredentialsReachTheirHost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, source := caller(t)
	other := registrytest.New(t)
	var stray []string
	other.Handle("/x.zip", http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if given := request.Header.Get("Authorization"); given != "" {
			stray = append(stray, given)
		}
		_, _ = w.Write(registrytest.Zip(t, "main.tf", ""))
	}))
	source[1] += fmt.Sprintf("module \"elsewhere\" {\n  source = %q\n}\n", other.URL+"/x.zip")
	server.Require("/v1/modules/", "registry-token-123456")
	server.Require("/git/", "repository-token-123456")
	_, err := r.buildWith(server, api.ModuleResolution{}, source...)
	if err == nil || !strings.Contains(err.Error(), "modules/web/main.tf:4: module \"page\"") {
		t.Errorf("without credentials: %v", err)
	}
	r.credentials = map[string]string{
		server.URL: "registry-token-123456", server.URL + "/git/text": "repository-token-123456",
		server.URL + "/git/text.git": "repository-token-123456"}
	r.asked = nil
	built := r.mustBuildWith(server, api.ModuleResolution{}, source...)
	if len(built.Modules.Modules) != 3 {
		t.Errorf("got %+v", built.Modules)
	}
	for _, address := range r.asked {
		if strings.Contains(address, "?") || strings.Contains(address, "token") {
			t.Errorf("a credential was requested for %s", address)
		}
	}
	if len(stray) > 0 {
		t.Errorf("another server got %v", stray)
	}
	r.credentials = nil
	r.mustNotLeak("registry-token-123456", "repository-token-123456")
}

// TestModuleOverSSH: a build reads a module of a private repository over ssh, with the key and the host key of a
// credential, and the module is in the artifact.
func TestModuleOverSSH(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	repo := gittest.New(t)
	commit := repo.Write("text/main.tf", "output \"line\" {\n  value = \"over ssh\"\n}\n").Commit("1")
	key, signer := registrytest.KeyPair(t)
	_, host := registrytest.KeyPair(t)
	at := registrytest.SSH(t, host, signer.PublicKey(), filepath.Dir(repo.Dir))
	source := []string{"modules/web/main.tf", fmt.Sprintf("module \"text\" {\n"+
		"  source = \"git::ssh://git@%s/repo//text\"\n}\n\noutput \"line\" {\n  value = module.text.line\n}\n", at)}
	build := func() (api.BuildResult, error) {
		return r.buildWith(registrytest.New(t), api.ModuleResolution{}, source...)
	}
	if _, err := build(); err == nil || !strings.Contains(err.Error(), "reading over ssh needs a key") {
		t.Errorf("without a credential: %v", err)
	}
	r.credentials = map[string]string{"ssh://git@" + at + "/repo": string(key.Reveal()) +
		knownhosts.Line([]string{at}, host.PublicKey()) + "\n"}
	built, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Modules.Modules) != 1 || built.Modules.Modules[0].Commit != commit {
		t.Fatalf("packed %+v", built.Modules.Modules)
	}
	r.credentials = nil
	planned := r.mustPlan(r.spec(built.Artifact), false) // of what was packed
	applied := r.mustApply(applySpec(r.spec(built.Artifact), planned, false))
	if got := find(applied.Outputs, "line"); string(got.Value) != `"over ssh"` {
		t.Errorf("the output is %s", got.Value)
	}
	r.mustNotLeak(strings.Split(string(key.Reveal()), "\n")[1])
}

func TestSplitKey(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----"
	for text, hosts := range map[string]string{
		key: "", key + "\n": "", key + "\ngit.test ssh-ed25519 AAAA\n": "git.test ssh-ed25519 AAAA\n", "no key": "",
	} {
		got, known := splitKey(seal.NewSecret([]byte(text)))
		if known != hosts || string(got.Reveal())+known != text {
			t.Errorf("%q: %q and %q", text, got.Reveal(), known)
		}
	}
}
