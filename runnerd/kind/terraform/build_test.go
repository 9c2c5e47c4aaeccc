package terraform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
)

// tree is a small repository with a module that calls another one beside it.
var tree = []string{
	"README.md", "not a part of the module",
	"modules/web/main.tf", "variable \"greeting\" {\n  type = string\n}\n\nmodule \"text\" {\n  source = \"../shared\"\n" +
		"  line   = var.greeting\n}\n\nresource \"terraform_data\" \"page\" {\n  input = module.text.line\n}\n\noutput " +
		"\"page\" {\n  value = terraform_data.page.output\n}\n",
	"modules/web/.terraform.lock.hcl", "# nothing is locked\n",
	"modules/web/terraform.tfstate", "left behind",
	"modules/shared/main.tf", "variable \"line\" {}\noutput \"line\" {\n  value = \"<${var.line}>\"\n}\n",
	"modules/other/main.tf", "resource \"terraform_data\" \"x\" {}\n",
}

func TestBuild(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	built := r.mustBuild("modules/web", tree...)
	opened, err := oci.Open(r.plainHost().Child("vendor/web"), oci.Credential{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := opened.Pull(t.Context(), built.Digest)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{
		"dev.nuon.kind": "terraform_module", "dev.nuon.tree": "sha256:0123", "dev.nuon.format": "1",
		"dev.nuon.directory": "modules/web",
	}
	if testedTool == modules.OpenTofu {
		wanted[annotationTool] = "tofu"
	}
	if diff := cmp.Diff(wanted, got.Annotations); diff != "" || got.Type != artifact.MediaTerraform ||
		built.Repository != "vendor/web" {
		t.Fatal(diff, got.Type, built)
	}
	files, err := got.Files(artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Path)
	}
	if diff := cmp.Diff([]string{"modules/shared/main.tf", "modules/web/.terraform.lock.hcl", "modules/web/main.tf"},
		names); diff != "" {
		t.Fatal(diff)
	}
}

// TestBuildIsReproducible builds two clones in different directories, on different days,
// with different runners.
func TestBuildIsReproducible(t *testing.T) {
	t.Parallel()
	clone := func(day time.Time, reversed bool) []artifact.File {
		dir := filepath.Join(t.TempDir(), "a-clone")
		order := append([]string{}, tree...)
		if reversed {
			for i := 0; i < len(order)/2; i += 2 {
				j := len(order) - 2 - i
				order[i], order[i+1], order[j], order[j+1] = order[j], order[j+1], order[i], order[i+1]
			}
		}
		for i := 0; i < len(order); i += 2 {
			name := filepath.Join(dir, order[i])
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(order[i+1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(name, day, day); err != nil {
				t.Fatal(err)
			}
		}
		files, err := artifact.ReadDir(dir, artifact.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	build := func(files []artifact.File) string {
		r := newRig(t)
		var pairs []string
		for _, file := range files {
			pairs = append(pairs, file.Path, string(file.Content))
		}
		return r.mustBuild("modules/web", pairs...).Digest
	}
	first := build(clone(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), false))
	second := build(clone(time.Now(), true))
	if first != second {
		t.Fatalf("one source, two digests: %s and %s", first, second)
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tests := map[string]struct {
		dir   string
		files []string
		want  []string
	}{
		"module in a bucket": {"m", []string{"m/main.tf",
			"\nmodule \"vpc\" {\n  source  = \"s3::https://x.test/v.zip\"\n}\n"},
			[]string{`m/main.tf:2: module "vpc" (s3::https://x.test/v.zip): modules are not read with s3::`,
				"publish the module in a git repository"}},
		"module in a private network": {"m", []string{"m/main.tf",
			"\nmodule \"vpc\" {\n  source  = \"https://127.0.0.1/v.zip\"\n}\n"},
			[]string{"m/main.tf:2", "have the operator of the build runner allow this host"}},
		"way out": {"m", []string{"m/main.tf", "module \"x\" {\n  source = \"../../x\"\n}\n"},
			[]string{"m/main.tf:1", "leads out of the repository"}},
		"missing directory": {"n", []string{"m/main.tf", ""}, []string{"there is no directory n"}},
		"broken syntax":     {"m", []string{"m/main.tf", "resource \"terraform_data\" {\n"}, []string{"m/main.tf:1"}},
		"unknown reference": {"m", []string{"m/main.tf", "output \"x\" {\n  value = terraform_data.nothing.id\n}\n"},
			[]string{"terraform validate: m/main.tf:2", "undeclared resource"}},
		"unknown argument": {"m", []string{"m/main.tf", "resource \"terraform_data\" \"x\" {\n  inputt = 1\n}\n"},
			[]string{"m/main.tf:2", "inputt"}},
		"failing init": {"m", []string{"m/main.tf", "terraform {\n  required_version = \"< 1.0.0\"\n}\n"},
			[]string{"terraform init: m/main.tf:2", "Unsupported Terraform Core version"}},
	}
	if testedTool == modules.OpenTofu {
		delete(tests, "failing init") // OpenTofu ignores versions of Terraform
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.build(test.dir, test.files...)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
		})
	}
}

func TestBuildSaysWhatRegistryRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	env := r.env(api.JobSpecKindBuild)
	env.Spec.Build = api.BuildSpec{Source: api.ArtifactRef{Repository: "vendor/source", Digest: "sha256:" +
		strings.Repeat("0", 64)}, Directory: "m", Repository: "vendor/web", TerraformVersion: terraformVersion}
	if _, err := r.run(t.Context(), Build{}, env); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Fatal(err)
	}
	env.Vendor = nil
	if _, err := r.run(t.Context(), Build{}, env); err == nil || !strings.Contains(err.Error(), "NUON_REGISTRY") {
		t.Fatal(err)
	}
}
