package transfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// copier is one copy in progress.
type copier struct {
	from, to *oci.Repository
	dir      string // of copies in progress
	notes    string // directory of the notes about blobs
	log      *job.Log
	policy   retryPolicy
}

// artifact copies the missing parts of an artifact of a component: the image that it lists, its layer, then its
// manifest. It copies the image only for a kind of component that has one: the runner's owner may not allow images.
func (c *copier) artifact(ctx context.Context, digest, kind string) error {
	parts, there, err := c.parts(ctx, digest)
	if err != nil {
		return err
	}
	hasImage := kind == appconfig.KindContainerImage || kind == appconfig.KindDockerBuild
	if isImage := parts.Type == artifact.MediaImage; isImage != hasImage {
		return fmt.Errorf("%s is of type %s, which a component of kind %.60q does not have; nothing was copied: this is a "+
			"bug in the control plane; report it", digest, parts.Type, kind)
	}
	if hasImage {
		if err := c.imageOf(ctx, digest, there); err != nil {
			return err
		}
	}
	sent, err := c.layer(ctx, parts.Layer)
	if err != nil {
		return err
	}
	if there && !sent {
		c.log.Info("%s is in %s already", digest, c.to.Reference())
		return nil
	}
	if err := c.retry(ctx, func() error { return c.to.PutManifest(ctx, parts) }); err != nil {
		return err
	}
	c.log.Info("copied %s (%s) to %s", digest, bytesOf(parts.Layer.Size), c.to.Reference())
	return nil
}

// parts reads the manifest, from the install's registry if it has it, because then nothing has
// to come from the vendor.
func (c *copier) parts(ctx context.Context, digest string) (parts oci.Parts, there bool, err error) {
	err = c.retry(ctx, func() (err error) {
		parts, err = c.to.Parts(ctx, digest)
		return err
	})
	if err == nil || reasonOf(err) != oci.NotFound {
		return parts, err == nil, err
	}
	err = c.retry(ctx, func() (err error) {
		parts, err = c.from.Parts(ctx, digest)
		return err
	})
	return parts, false, err
}

// layer copies a layer unless the registry has it, and reports whether it did. Two jobs
// that need the same layer take turns, and the second finds the result of the first.
func (c *copier) layer(ctx context.Context, blob artifact.Blob) (sent bool, err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return false, fmt.Errorf("make the directory for copies: %w", err)
	}
	path := filepath.Join(c.dir, strings.ReplaceAll(blob.Digest, ":", "-"))
	release, err := filelock.Wait(ctx, path+".lock", nil)
	if err != nil {
		return false, err
	}
	defer release()
	there, err := c.hasBlob(ctx, blob)
	if err != nil {
		return false, err
	}
	if !there {
		if err := c.downloadAndPush(ctx, blob, path); err != nil {
			return false, err
		}
		c.noteBlob(blob)
	}
	// Both are removed while the lock is held, the lock file last: a job that waits for the
	// lock checks that its file still has that name.
	_ = os.Remove(path)
	_ = os.Remove(path + ".lock")
	return !there, nil
}

// downloadAndPush downloads a layer to this machine and uploads it to the install's registry.
func (c *copier) downloadAndPush(ctx context.Context, blob artifact.Blob, path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("keep a copy under way: %w", err)
	}
	defer func() { _ = file.Close() }()
	arriving := &download{copier: c, blob: blob, file: file}
	if err := arriving.fetchVerified(ctx); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			_ = os.Remove(path) // others need the space, too
			return fmt.Errorf("there is no room for %s on the runner's disk, in %s: %w; make room there, then retry this step",
				bytesOf(blob.Size), c.dir, err)
		}
		return err
	}
	if blob.Size >= progressFrom {
		c.log.Info("sending %s to %s", bytesOf(blob.Size), c.to.Reference())
	}
	return c.retry(ctx, func() error { return c.push(ctx, blob, path) })
}

// push uploads a complete layer. It opens the file for each try, because a
// request closes its body.
func (c *copier) push(ctx context.Context, blob artifact.Blob, path string) error {
	content, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read a copy under way: %w", err)
	}
	defer func() { _ = content.Close() }()
	return c.to.PutBlob(ctx, blob, content)
}

// bytesOf formats a number of bytes for people.
func bytesOf(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
