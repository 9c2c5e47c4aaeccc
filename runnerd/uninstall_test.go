package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

// TestUninstall checks that uninstall deletes nothing without --yes and nothing but the runner with it, and that it
// refuses a directory that is not a runner's.
func TestUninstall(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	write := func(file string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	audit, config, other := filepath.Join(dir, "audit.log"), filepath.Join(root, "etc/nuon/runner.env"),
		filepath.Join(root, "etc/hosts")
	for _, file := range []string{audit, config, other} {
		write(file)
	}
	run := func(yes bool) (string, error) {
		var out bytes.Buffer
		err := uninstallation{dir: dir, root: root, yes: yes}.run(&out)
		return out.String(), err
	}
	if _, err := run(true); err == nil || !strings.Contains(err.Error(), "is not the directory of a runner") {
		t.Errorf("a directory without a key: %v", err)
	}
	registered(t, dir)
	for _, step := range []struct {
		yes  bool
		says string
	}{{false, "would delete " + audit}, {true, "deleted " + filepath.Dir(config)}} {
		said, err := run(step.yes)
		if err != nil || !strings.Contains(said, step.says) || !strings.Contains(said, "only you can delete them") {
			t.Errorf("%s%v", said, err)
		}
		for _, file := range []string{audit, config, runner.KeyFile(dir)} {
			if _, err := os.Stat(file); (err != nil) != step.yes {
				t.Errorf("--yes=%t: %s: %v", step.yes, file, err)
			}
		}
	}
	for _, kept := range []string{other, dir} {
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
	}
}

// registered makes a directory that of a runner.
func registered(t *testing.T, dir string) {
	t.Helper()
	if _, err := seal.CreateIdentity(runner.KeyFile(dir)); err != nil {
		t.Fatal(err)
	}
}
