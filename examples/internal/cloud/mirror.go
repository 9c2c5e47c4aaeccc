package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// providers are the sources of the simulated providers, and the versions that they are offered as.
// The schema is the recorded one of the major version, so a version is only a label that satisfies
// the constraints of modules.
var providers = map[string][]string{
	"hashicorp/aws":         {"5.94.1", "5.99.1", "5.100.0", "6.0.0", "6.21.0", "6.25.0", "6.50.0"},
	"hashicorp/google":      {"6.50.0"},
	"hashicorp/google-beta": {"6.50.0"},
	"hashicorp/azurerm":     {"4.34.0", "4.35.0"},
	"hashicorp/kubernetes":  {"2.35.1", "2.38.0"},
	"hashicorp/helm":        {"2.17.0", "3.0.2", "3.1.1"},
	"hashicorp/random":      {"3.6.3", "3.7.2"},
	"hashicorp/tls":         {"4.0.6", "4.1.0"},
	"hashicorp/time":        {"0.12.1", "0.13.1"},
	"hashicorp/null":        {"3.2.4"},
	"hashicorp/local":       {"2.5.3", "2.6.1"},
	"hashicorp/http":        {"3.5.0"},
	"hashicorp/external":    {"2.3.5"},
	"hashicorp/archive":     {"2.7.1"},
	"hashicorp/cloudinit":   {"2.3.7"},
	"alekc/kubectl":         {"2.1.3"},
	"gavinbunny/kubectl":    {"1.19.0"},
	"azure/azapi":           {"2.4.0"},
	"cloudposse/utils":      {"1.31.0"},
	"datadog/datadog":       {"3.60.0"},
}

// hosts are the registries whose providers are simulated: that of Terraform and that of OpenTofu.
var hosts = []string{"registry.terraform.io", "registry.opentofu.org"}

// built is the program that this process built last.
var built struct {
	sync.Mutex
	program string
}

// build builds the program, once for all clouds of this process.
func build(ctx context.Context, program string) error {
	built.Lock()
	defer built.Unlock()
	if built.program != "" && built.program != program && link(built.program, program) == nil {
		return nil
	}
	if err := os.Remove(program); err != nil && !errors.Is(err, fs.ErrNotExist) { // other clouds may run it
		return fmt.Errorf("replace the simulated providers: %w", err)
	}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/nuon-toolkit/nuon").Output()
	if err != nil {
		return fmt.Errorf("find the root of this repository: %w", err)
	}
	// Lock files have the hash of the program, so that of two clouds from the same sources must be the same,
	// also if something was committed in between.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, ".")
	cmd.Dir = filepath.Join(strings.TrimSpace(string(root)), "examples", "internal", "cloud", "provider")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the simulated providers: %w\n%s", err, out)
	}
	built.program = program
	return nil
}

// makeMirror links the program under the names of all providers.
func makeMirror(program, mirror string) error {
	for source, versions := range providers {
		_, typ, _ := strings.Cut(source, "/")
		for _, host := range hosts {
			for _, version := range versions {
				name := filepath.Join(mirror, host, filepath.FromSlash(source), version, runtime.GOOS+"_"+runtime.GOARCH,
					"terraform-provider-"+typ+"_v"+version)
				if err := link(program, name); err != nil {
					return fmt.Errorf("make the mirror: %w", err)
				}
			}
		}
	}
	return nil
}

// link makes name a hard link to a file, and replaces what has that name.
func link(file, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(file, name)
}
