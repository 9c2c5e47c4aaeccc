package terraform

import (
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

const locked = `# made by terraform init
provider "registry.example.com/hashicorp/time" {
  version     = "0.14.2"
  constraints = "~> 0.14"
  hashes = [
    "zh:0000",
  ]
}
`

// TestLockFileThatIsPacked checks that hashes of another machine do not change the artifact,
// and that another provider version does.
func TestLockFileThatIsPacked(t *testing.T) {
	t.Parallel()
	moreHashes := locked[:len(locked)-4] + "    \"h1:of-this-machine\",\n  ]\n}\n"
	newer := `provider "registry.example.com/hashicorp/time" {` + "\n  version = \"0.15.0\"\n}\n"
	second := locked + `provider "registry.example.com/hashicorp/random" {` + "\n  version = \"3.0.0\"\n}\n"
	source := []artifact.File{{Path: "m/main.tf"}, {Path: "m/.terraform.lock.hcl", Content: []byte(locked)}}
	tests := map[string]struct {
		source []artifact.File
		made   string
		want   string
	}{
		"same":            {source, locked, ""},
		"more hashes":     {source, moreHashes, ""},
		"newer version":   {source, newer, newer},
		"second provider": {source, second, second},
		"source has none": {source[:1], locked, locked},
		"in the root":     {[]artifact.File{{Path: ".terraform.lock.hcl", Content: []byte(locked)}}, locked, locked},
	}
	for name, test := range tests {
		got := ""
		for _, file := range withLock(test.source, "m", []byte(test.made)) {
			if file.Path != "m/.terraform.lock.hcl" {
				t.Errorf("%s: %s", name, file.Path)
			}
			got = string(file.Content)
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if withLock(source, "m", nil) != nil {
		t.Error("there was no lock file to keep")
	}
}

func TestNeedsProviders(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]bool{"terraform": false, "random": true} {
		module := &tfmodule.Module{Providers: []tfmodule.Provider{{Name: provider}}}
		if got := needsProviders(module); got != want {
			t.Errorf("%s: %v", provider, got)
		}
	}
	module := &tfmodule.Module{Providers: []tfmodule.Provider{{Name: "x", Source: "terraform.io/builtin/terraform"}}}
	if needsProviders(module) {
		t.Error("what is built in is not fetched")
	}
}
