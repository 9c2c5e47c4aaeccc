// Package tofutest finds the OpenTofu that tests run beside Terraform.
//
// It owns where that executable is: `make tools` builds it from its Go module, which takes minutes, and
// keeps it in the user's cache by its version. It never builds it itself. Only tests call it.
package tofutest

import (
	"os"
	"path/filepath"
	"testing"
)

// Version is the version that `make tools` builds.
const Version = "1.12.6"

// Path returns the path of the executable, and skips a test that needs it where it was not built.
func Path(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "nuon-tools", "opentofu-v"+Version)
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs OpenTofu " + Version + ": make tools builds it, once")
	}
	return path
}
