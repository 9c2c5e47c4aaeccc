package terraform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// TestRegistriesOfTheOwner: a build fetches a module of registry.terraform.io from the registry in a
// private network that the host block of the owner's configuration names.
func TestRegistriesOfTheOwner(t *testing.T) {
	r := newRig(t)
	server := registrytest.New(t)
	server.PublishModule("acme/page/null", "1.0.0", "main.tf", "output \"page\" {\n  value = \"page\"\n}\n")
	config := filepath.Join(t.TempDir(), "terraform.rc")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("disable_checkpoint = true\nhost \"registry.terraform.io\" {\n  services = {\n    \"modules.v1\" = \"" +
		server.Services() + "\"\n  }\n}\n")
	t.Setenv(tfbinary.EnvConfig, config)
	build := func() (api.BuildResult, error) {
		env := r.env(api.JobSpecKindBuild)
		env.Spec.Build = api.BuildSpec{
			Build: "bld_1", Component: "web", ComponentKind: "terraform_module", Directory: "modules/web",
			Source:     r.source("modules/web/main.tf", "module \"page\" {\n  source = \"acme/page/null\"\n}\n"),
			Repository: "vendor/web", TerraformVersion: terraformVersion, Tree: "sha256:0123",
		}
		resolver := Build{}.resolver
		resolver.Roots = server.Roots
		result, err := r.run(t.Context(), Build{resolver: resolver}, env)
		return result.Build, err
	}
	built, err := build()
	if err != nil || len(built.Modules.Modules) != 1 || built.Modules.Modules[0].Version != "1.0.0" {
		t.Errorf("the build has the modules %+v, %v", built.Modules.Modules, err)
	}
	for text, want := range map[string]string{
		"host \"registry.terraform.io\" {\n  services = {\n    \"modules.v1\" = \"/v1\"\n  }\n}\n": "is no URL",
		"host \"registry.terraform.io\" {\n  services = {\n    \"modules.v1\" = 1\n  }\n}\n":       "is no text",
		"host {": "host blocks of Terraform's CLI configuration",
	} {
		write(text)
		if _, err := build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
