// Package providertest builds the provider in examples/internal/provider, and configures tests
// to use it from a mirror.
//
// It owns the cache of the built provider: it is in the user's cache directory by the digest
// of its source, so that it is built once for each version, even if many tests need it at once.
// With its configuration Terraform never uses the network, because it names only the
// mirror. Only tests call it.
package providertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// The provider as a module names it.
const (
	Source  = "nuon.test/examples/trouble"
	Version = "0.1.0"
)

// Required is the configuration of a module that uses the provider.
const Required = `
terraform {
  required_providers {
    trouble = {
      source = "` + Source + `"
    }
  }
}
`

// Use makes the Terraform of this test find the provider, as the owner of a runner would,
// and returns the directory of its objects and its journal. A parallel subtest may call it only
// if its parent test has called it, too.
func Use(t *testing.T) (directory string) {
	t.Helper()
	config, err := Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(tfbinary.EnvConfig) != config {
		t.Setenv(tfbinary.EnvConfig, config)
	}
	return t.TempDir()
}

// Config returns the path of a Terraform CLI configuration that names a mirror with the
// provider, and builds the provider if necessary.
func Config(ctx context.Context) (file string, err error) {
	source, err := sourceDir()
	if err != nil {
		return "", err
	}
	digest, err := digestOf(source)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the provider: %w", err)
	}
	kept := filepath.Join(cache, "nuon-tools", "provider-trouble-"+digest[:16])
	file = filepath.Join(kept, "terraform.rc")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return "", fmt.Errorf("find a place for the provider: %w", err)
	}
	release, err := filelock.Wait(ctx, kept+".lock", nil)
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	mirror := filepath.Join(kept, "mirror")
	program := filepath.Join(mirror, filepath.FromSlash(Source), Version, runtime.GOOS+"_"+runtime.GOARCH,
		"terraform-provider-trouble_v"+Version)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build examples/internal/provider: %w\n%s", err, said)
	}
	rules := fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n"+
		"  }\n}\n", mirror)
	// It is written last, because its existence means that the mirror is complete.
	return file, os.WriteFile(file, []byte(rules), 0o644)
}

// sourceDir finds examples/internal/provider in a directory above the one in which the test runs.
func sourceDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		found := filepath.Join(dir, "examples", "internal", "provider")
		if _, err := os.Stat(filepath.Join(found, "go.mod")); err == nil {
			return found, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("examples/internal/provider is not above the directory that the test runs in")
		}
		dir = above
	}
}

// digestOf returns a digest of the provider's source.
func digestOf(dir string) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, runtime.Version())
	for _, pattern := range []string{"*.go", "go.mod", "go.sum"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			opened, err := os.Open(file)
			if err != nil {
				return "", err
			}
			_, _ = fmt.Fprintln(sum, filepath.Base(file))
			_, err = io.Copy(sum, opened)
			_ = opened.Close()
			if err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
