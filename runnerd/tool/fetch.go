package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hc-install/product"
	"github.com/hashicorp/hc-install/releases"
	"golang.org/x/sys/unix"
)

// fetchLimit is how long a download may take.
const fetchLimit = 5 * time.Minute

// fetch gives the executable of that version below Root/tools/terraform, and gets it first when it is not there. It is put in
// place whole or not at all.
func fetch(ctx context.Context, options Options) (string, error) {
	shelf := filepath.Join(options.Root, "tools", "terraform")
	path := filepath.Join(shelf, options.Version, "terraform")
	if isExecutable(path) {
		return path, nil
	}
	if err := os.MkdirAll(shelf, 0o755); err != nil {
		return "", err
	}
	release, err := Lock(ctx, filepath.Join(shelf, ".lock"))
	if err != nil {
		return "", err
	}
	defer release()
	if isExecutable(path) {
		return path, nil // another job fetched it while this one waited
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
	options.Say("fetching Terraform %s", options.Version)
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

// lockLook is how often a lock that somebody holds is tried again. The kernel can wait for it by itself, but not for a context as
// well.
const lockLook = 50 * time.Millisecond

// Lock takes the exclusive lock on a file, which is made, and waits for it as long as ctx lives. The kernel frees it when the
// process is gone.
func Lock(ctx context.Context, path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	look := time.NewTicker(lockLook)
	defer look.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the lock %s: %w", path, ctx.Err()), file.Close())
		}
	}
}
