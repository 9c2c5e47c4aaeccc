package modules

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// runTerraform runs Terraform in a directory, without a proxy and without the user's configuration.
func runTerraform(t testing.TB, dir string, environ []string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Fatal("these tests compare with Terraform; put terraform 1.11.4 on PATH, as make test does")
	}
	command := exec.CommandContext(t.Context(), path, args...)
	command.Dir = dir
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CHECKPOINT_DISABLE=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "TF_IN_AUTOMATION=1"}, environ...)
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, printed)
	}
	return string(printed)
}

// readManifest returns the lines of the manifest that Terraform wrote or reads, with sources in
// Terraform's form.
func readManifest(t *testing.T, text []byte) []entry {
	t.Helper()
	var manifest struct{ Modules []entry }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(manifest.Modules, func(a, b entry) int { return cmp.Compare(a.Key, b.Key) })
	return manifest.Modules
}

// TestTerraformAgrees: Terraform's own init finds the same versions and writes the same manifest and
// files, and a component with the packed files works without any server.
func TestTerraformAgrees(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t)
	source := publish(t, server)
	inner, innerURL := server.Repository("inner")
	inner.Write("main.tf", `output "id" { value = "inner" }`).Commit("x")
	outer, outerURL := server.Repository("outer")
	withSubmodule(outer, "lib", innerURL, inner.Head())
	server.PublishModule("acme/range/aws", "1.0.0-beta.1", "main.tf", "")
	server.PublishModule("acme/range/aws", "1.0.1", "main.tf", "")
	server.PublishModule("acme/range/aws", "1.1.0-rc.1", "main.tf", "")
	server.Handle("/page",
		page(`<html><head><meta name="terraform-get" content="`+server.URL+`/files/pack.zip//mods/b"></head></html>`))
	source[1] += calling("outer", "git::"+outerURL+"//lib", "") +
		calling("range", server.Host+"/acme/range/aws", "~> 1.0") +
		calling("beta", server.Host+"/acme/range/aws", "1.0.0-beta.1") +
		calling("page", server.URL+"/page", "")
	result := mustResolve(t, trusting(server), nil, source...)

	// With the files and no server at all.
	offline := t.TempDir()
	packed := filesOf(source...)
	for _, file := range result.Files {
		file.Path = "app/" + file.Path
		packed = append(packed, file)
	}
	if err := artifact.WriteTree(packed, filepath.Join(offline, "tree"), artifact.Limits{}); err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(offline, "tree", "app")
	nowhere := []string{"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY="}
	server.Requests()
	runTerraform(t, app, nowhere, "init", "-get=false", "-input=false")
	runTerraform(t, app, nowhere, "validate")
	runTerraform(t, app, nowhere, "plan", "-input=false")
	if asked := server.Requests(); len(asked) > 0 {
		t.Errorf("Terraform asked for %v", asked)
	}

	// Terraform's own init.
	own := filepath.Join(t.TempDir(), "tree")
	if err := artifact.WriteTree(filesOf(source...), own, artifact.Limits{}); err != nil {
		t.Fatal(err)
	}
	roots := server.CertificateFile()
	runTerraform(t, filepath.Join(own, "app"), []string{"SSL_CERT_FILE=" + roots, "GIT_SSL_CAINFO=" + roots}, "init",
		"-input=false")
	theirs, err := os.ReadFile(filepath.Join(own, "app", manifestName))
	if err != nil {
		t.Fatal(err)
	}
	ours := readManifest(t, []byte(content(t, result.Files, manifestName)))
	if diff := diff.Diff(readManifest(t, theirs), ours); diff != "" {
		t.Errorf("the manifests differ (-Terraform's +ours):\n%s", diff)
	}
	files, err := artifact.ReadDir(filepath.Join(own, "app", ".terraform", "modules"), artifact.ReadOptions{
		Skip: func(_ string, entry os.DirEntry) bool {
			return entry.Name() == ".git" || entry.Name() == "modules.json"
		}})
	if err != nil {
		t.Fatal(err)
	}
	var installed []artifact.File
	for _, file := range result.Files {
		if file.Path != manifestName {
			file.Path = strings.TrimPrefix(file.Path, modulesDir+"/")
			installed = append(installed, file)
		}
	}
	if diff := diff.Diff(contents(files), contents(installed)); diff != "" {
		t.Errorf("the files differ (-Terraform's +ours):\n%s", diff)
	}
}

// contents maps paths to contents, for comparison.
func contents(files []artifact.File) map[string]string {
	found := map[string]string{}
	for _, file := range files {
		found[file.Path] = string(file.Content) + file.Link
	}
	return found
}
