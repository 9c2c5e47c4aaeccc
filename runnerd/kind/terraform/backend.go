package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// backendFile is a name that sorts after all override files that people write, and Terraform
// uses the last one. checkBackend verifies that.
const backendFile = "zzzz_nuon_backend_override.tf"

const backendOverride = `# Written by runnerd: the state of this module is kept by nuon.
terraform {
  backend "http" {}
}
`

// overrideBackend replaces the module's backend with ours. It first removes an existing file
// with the same name, because a write would follow a link.
func overrideBackend(moduleDir string) error {
	name := filepath.Join(moduleDir, backendFile)
	if err := os.RemoveAll(name); err != nil {
		return fmt.Errorf("set the backend: %w", err)
	}
	if err := os.WriteFile(name, []byte(backendOverride), 0o600); err != nil {
		return fmt.Errorf("set the backend: %w", err)
	}
	return nil
}

// maxBackend bounds the file that Terraform writes about a backend, in bytes.
const maxBackend = 1 << 20

// checkBackend returns an error after init unless Terraform uses our backend,
// configured only by the environment. A state that went elsewhere would be readable there,
// and nobody would know of it.
func checkBackend(moduleDir string) error {
	content, err := subprocess.ReadUntrusted(moduleDir, filepath.Join(".terraform", "terraform.tfstate"), maxBackend)
	if err != nil {
		return fmt.Errorf("the module does not keep its state with nuon: %w; remove its backend or cloud block", err)
	}
	var settled struct {
		Backend struct {
			Type   string         `json:"type"`
			Config map[string]any `json:"config"`
		} `json:"backend"`
	}
	if err := json.Unmarshal(content, &settled); err != nil {
		return fmt.Errorf("read Terraform's backend settings: %w", err)
	}
	if settled.Backend.Type != "http" {
		return fmt.Errorf("the module keeps its state in a %q backend by an override file; remove it, nuon stores the state",
			settled.Backend.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(settled.Backend.Config)) {
		if settled.Backend.Config[name] != nil {
			return fmt.Errorf("the module sets %s of the backend by an override file; remove it, nuon stores the state", name)
		}
	}
	return nil
}
