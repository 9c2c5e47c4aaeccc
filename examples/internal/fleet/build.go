package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs returns the directory of nuon, reconciler and runnerd: NUON_BIN, where `make` has just
// built them, otherwise dir, into which it builds them from this tree.
func Programs(ctx context.Context, dir string) (string, error) {
	if bin := os.Getenv("NUON_BIN"); filepath.IsAbs(bin) {
		return bin, nil
	} else if bin != "" {
		return "", fmt.Errorf("NUON_BIN is %s; name the directory of the programs by its absolute path", bin)
	}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the root of this repository: %w", err)
	}
	for name, from := range map[string]string{"nuon": "./cli", "reconciler": "./reconciler", "runnerd": "./runnerd"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), from)
		cmd.Dir, cmd.Env = strings.TrimSpace(string(root)), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
}

// Place creates a directory for a fleet. The user that runs Postgres needs access to it when root
// runs the fleet.
func Place() (string, error) {
	dir, err := os.MkdirTemp("", "nuon-fleet-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}
