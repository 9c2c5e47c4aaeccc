package tfbinary

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hc-install/product"
	"github.com/hashicorp/hc-install/releases"

	"github.com/nuon-toolkit/nuon/pkg/filelock"
)

// fetchLimit is how long a download may take.
const fetchLimit = 5 * time.Minute

// fetch returns the executable of the version below Root/tools/terraform, and downloads it if
// necessary. It installs the download completely or not at all.
func fetch(ctx context.Context, options Options) (string, error) {
	shelf := filepath.Join(options.Root, "tools", "terraform")
	path := filepath.Join(shelf, options.Version, "terraform")
	if isExecutable(path) {
		return path, nil
	}
	if err := os.MkdirAll(shelf, 0o755); err != nil {
		return "", err
	}
	release, err := filelock.Wait(ctx, filepath.Join(shelf, ".lock"), nil)
	if err != nil {
		return "", err
	}
	defer release()
	if isExecutable(path) {
		return path, nil // another job fetched it in the meantime
	}
	wanted, err := version.NewVersion(options.Version)
	if err != nil {
		return "", err
	}
	beside, err := os.MkdirTemp(shelf, ".new-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(beside) }()
	options.Logf("fetching Terraform %s", options.Version)
	getting := &releases.ExactVersion{
		Product:          product.Terraform,
		Version:          wanted,
		InstallDir:       beside,
		Timeout:          fetchLimit,
		ApiBaseURL:       options.getenv(EnvReleases),
		ArmoredPublicKey: options.publicKey,
	}
	if _, err := getting.Install(ctx); err != nil {
		return "", err
	}
	if err := os.Chmod(filepath.Join(beside, "terraform"), 0o755); err != nil {
		return "", err
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := os.Rename(beside, filepath.Dir(path)); err != nil {
		return "", err
	}
	return path, os.Chmod(filepath.Dir(path), 0o755)
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o100 != 0
}
