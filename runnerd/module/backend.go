package module

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/nuon-toolkit/nuon/runnerd/child"
)

// backendFile sorts behind every other override file that people write, and the last one wins. checkBackend makes sure that it
// did.
const backendFile = "zzzz_nuon_backend_override.tf"

const backendOverride = `# Written by runnerd: the state of this module is kept by nuon.
terraform {
  backend "http" {}
}
`

// overrideBackend puts our backend over the module's own. Whatever has the file's name already goes: a link would be written
// through.
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

// maxBackend bounds what Terraform writes about a backend, in bytes.
const maxBackend = 1 << 20

// checkBackend says, after init, whether Terraform really uses our backend, and with nothing but what the environment says of it.
// A state that went elsewhere would be out of everybody's sight, and readable there.
func checkBackend(moduleDir string) error {
	content, err := child.ReadLeft(moduleDir, filepath.Join(".terraform", "terraform.tfstate"), maxBackend)
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
		return fmt.Errorf("the module keeps its state in a %q backend by an override file; remove it, nuon keeps the state", settled.Backend.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(settled.Backend.Config)) {
		if settled.Backend.Config[name] != nil {
			return fmt.Errorf("the module sets %s of the backend by an override file; remove it, nuon keeps the state", name)
		}
	}
	return nil
}
