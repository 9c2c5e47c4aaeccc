package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// blobsAtOnce is the number of blobs of an image that are copied at the same time.
const blobsAtOnce = 4

// Images copies images to the vendor's registry. Blobs pass through memory, a few kilobytes at a time.
type Images struct {
	*copier
}

// NewImages returns a copier between two repositories.
func NewImages(env *job.Env, from, to *oci.Repository) *Images {
	return &Images{newCopier(env, from, to)}
}

// Retry repeats do while a registry is unreachable.
func (i *Images) Retry(ctx context.Context, do func() error) error { return i.retry(ctx, do) }

// Copy copies what the repository lacks of an image whose manifests were read before.
func (i *Images) Copy(ctx context.Context, img image.Image, manifests map[string]artifact.RawManifest) error {
	return i.copy(ctx, img, i.stream, manifests)
}

// Upload is Copy for an image whose blobs are on this machine, where open opens them.
func (i *Images) Upload(ctx context.Context, img image.Image, manifests map[string]artifact.RawManifest,
	open func(artifact.Blob) (io.ReadCloser, error)) error {
	return i.copy(ctx, img, func(ctx context.Context, b artifact.Blob) (sent bool, err error) {
		there, err := i.hasBlob(ctx, b)
		if err != nil || there {
			return false, err
		}
		err = i.retry(ctx, func() error {
			content, err := open(b)
			if err != nil {
				return err
			}
			defer func() { _ = content.Close() }()
			return i.to.PutBlob(ctx, b, content)
		})
		if err != nil {
			return false, err
		}
		i.noteBlob(b)
		return true, nil
	}, manifests)
}

func (i *Images) copy(ctx context.Context, img image.Image, blob func(context.Context, artifact.Blob) (bool, error),
	manifests map[string]artifact.RawManifest) error {
	return i.image(ctx, img, blob, func(_ context.Context, m image.Manifest) (artifact.RawManifest, error) {
		raw, known := manifests[m.Digest]
		if !known {
			return raw, fmt.Errorf("manifest %s of the image was not read", m.Digest)
		}
		return raw, nil
	}, false)
}

// imageOf copies the content of the image that an artifact lists.
func (c *copier) imageOf(ctx context.Context, digest string, there bool) error {
	from := c.from
	if there {
		from = c.to // then nothing has to come from the vendor
	}
	var packed artifact.Artifact
	err := c.retry(ctx, func() (err error) {
		packed, err = from.Pull(ctx, digest)
		if there && reasonOf(err) == oci.NotFound { // its list was lost
			packed, err = c.from.Pull(ctx, digest)
		}
		return err
	})
	if err != nil {
		return err
	}
	img, err := image.Unpack(packed)
	if err != nil {
		return err
	}
	return c.image(ctx, img, c.layer, c.manifest, true)
}

// manifest reads a manifest of an image: from the install's registry if it has it.
func (c *copier) manifest(ctx context.Context, m image.Manifest) (raw artifact.RawManifest, err error) {
	err = c.retry(ctx, func() (err error) {
		raw, err = c.to.Manifest(ctx, m.Digest)
		if reasonOf(err) == oci.NotFound {
			raw, err = c.from.Manifest(ctx, m.Digest)
		}
		return err
	})
	return raw, err
}

// image copies the missing blobs of an image with blob, then its missing manifests, then, with tagged, the
// tags that it has in the registries of installs.
func (c *copier) image(
	ctx context.Context, img image.Image, blob func(context.Context, artifact.Blob) (bool, error),
	manifest func(context.Context, image.Manifest) (artifact.RawManifest, error), tagged bool,
) error {
	c.clearNotes()
	blobs := img.Blobs()
	var sent, bytes atomic.Int64
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(blobsAtOnce)
	for _, b := range blobs {
		group.Go(func() error {
			did, err := blob(limited, b)
			if did {
				sent.Add(1)
				bytes.Add(b.Size)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	raws := map[string]artifact.RawManifest{}
	for _, m := range img.Manifests {
		raw, err := c.putManifest(ctx, m, manifest)
		if err != nil {
			return err
		}
		raws[m.Digest] = raw
	}
	if tagged {
		for _, tag := range append([]image.Tag{{Name: img.InstallTag(), Digest: img.Digest}}, img.Tags...) {
			if err := c.putTag(ctx, tag, tag.Name == img.InstallTag(), raws[tag.Digest], manifest); err != nil {
				return err
			}
		}
	}
	c.log.Info("image %s %s: %d manifests, %d blobs (%s), of which %d were sent (%s)", img.Repository, img.DisplayTag(),
		len(img.Manifests), len(blobs), bytesOf(img.Bytes()), sent.Load(), bytesOf(bytes.Load()))
	return nil
}

// putManifest stores a manifest unless the registry has it.
func (c *copier) putManifest(
	ctx context.Context, m image.Manifest,
	read func(context.Context, image.Manifest) (artifact.RawManifest, error),
) (raw artifact.RawManifest, err error) {
	raw = artifact.RawManifest{Digest: m.Digest, MediaType: m.MediaType}
	var there bool
	err = c.retry(ctx, func() (err error) {
		there, err = c.to.HasManifest(ctx, raw)
		return err
	})
	if err != nil || there {
		return raw, err
	}
	if raw, err = read(ctx, m); err != nil {
		return raw, err
	}
	return raw, c.retry(ctx, func() error { return c.to.PutRawManifest(ctx, raw) })
}

// putTag makes a tag name a manifest of the image, unless it does. It does not move a fixed one: workloads run what the
// tag of an image names. A tag of signatures may move, because an image can be signed again.
func (c *copier) putTag(
	ctx context.Context, tag image.Tag, fixed bool, raw artifact.RawManifest,
	read func(context.Context, image.Manifest) (artifact.RawManifest, error),
) error {
	var named string
	err := c.retry(ctx, func() (err error) {
		named, err = c.to.Resolve(ctx, tag.Name)
		return err
	})
	if err != nil || named == tag.Digest {
		return err
	}
	if fixed && named != "" {
		return fmt.Errorf("the tag %s in %s names %s, and the image is %s; the tag of an image is never moved: if nothing "+
			"uses it, delete it there, then retry this step", tag.Name, c.to.Reference(), named, tag.Digest)
	}
	if raw.Content == nil {
		if raw, err = read(ctx, image.Manifest{Digest: tag.Digest}); err != nil {
			return err
		}
	}
	return c.retry(ctx, func() error { return c.to.PutTag(ctx, raw, tag.Name) })
}

// stream copies a blob unless the registry has it, and reports whether it did.
func (c *copier) stream(ctx context.Context, blob artifact.Blob) (sent bool, err error) {
	there, err := c.hasBlob(ctx, blob)
	if err != nil || there {
		return false, err
	}
	if blob.Size >= progressFrom {
		c.log.Info("copying %s of %s", bytesOf(blob.Size), c.from.Reference())
	}
	var body *resuming
	err = c.retry(ctx, func() error {
		body = newResuming(ctx, c, blob)
		failed := errors.Join(c.to.PutBlob(ctx, blob, body), body.Close())
		if body.failed != nil {
			return nil //nolint:nilerr // it was retried already
		}
		return failed
	})
	if err = errors.Join(err, body.failed); err != nil {
		return false, err
	}
	c.noteBlob(blob)
	return true, nil
}
