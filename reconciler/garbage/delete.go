package garbage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// deleteAll deletes what is recorded, until its time is over. An error of the registry about one content does
// not keep the others.
func (c *Collector) deleteAll(ctx context.Context, org string, made *api.RegistryCollection) error {
	var garbage []store.RegistryGarbage
	if err := c.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) (err error) {
		garbage, err = tx.Garbage(ctx, tx.Org, maxDeletions)
		return err
	}); err != nil {
		return err
	}
	made.More = len(garbage) == maxDeletions
	images := images{collector: c, read: map[string][]string{}}
	for began := time.Now(); len(garbage) > 0; garbage = garbage[1:] {
		if time.Since(began) > maxTime {
			made.More = true
			return nil
		}
		shown := viewOf(garbage[0], api.GarbageDeleted)
		deleted, err := c.delete(ctx, org, garbage[0], &images)
		var refusal *oci.Error
		switch {
		case errors.As(err, &refusal) && refusal.Reason == oci.NoDeletion:
			made.Unsupported, made.More = explain(c.registry.Base.Host, refusal.Err), false
			for _, left := range garbage {
				made.Garbage = append(made.Garbage, viewOf(left, api.GarbageUnneeded))
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &contentError{}):
			shown.Status, shown.Error = api.GarbageFailed, err.Error()
		case err != nil:
			return err
		case !deleted:
			shown.Status = api.GarbageNeeded
		}
		made.Garbage = append(made.Garbage, shown)
	}
	return nil
}

// delete deletes one content, unless it is needed again. It first records that it begins, because a transaction
// that fails leaves no trace of what it deleted.
func (c *Collector) delete(ctx context.Context, org string, g store.RegistryGarbage, images *images) (
	deleted bool, err error) {
	ctx, stop := context.WithTimeout(ctx, maxDeletionTime)
	defer stop()
	if err := c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.BeginDeletion(ctx, tx.Org, g.Repository, g.Digest)
		return err
	}); err != nil {
		return false, err
	}
	err = c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		deleted = false
		if _, err := tx.LockApp(ctx, tx.Org, g.AppID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if _, err := tx.LockGarbage(ctx, tx.Org, g.Repository, g.Digest); errors.Is(err, store.ErrNotFound) {
			return nil // it is about to be pushed again, or another replica has deleted it
		} else if err != nil {
			return err
		}
		needed, err := tx.ContentIsNeeded(ctx, store.ContentIsNeededParams{OrgID: tx.Org, ComponentID: g.ComponentID,
			Digest: g.Digest, Kind: g.Kind})
		if err != nil {
			return err
		}
		if needed {
			return tx.DropGarbage(ctx, tx.Org, g.Repository, g.Digest)
		}
		if err := images.delete(ctx, tx, g); err != nil {
			return err
		}
		deleted = true
		return tx.EndDeletion(ctx, tx.Org, g.Repository, g.Digest)
	})
	return deleted, err
}

// contentError is an error about one content, as people see it.
type contentError struct{ error }

// Unwrap returns the cause.
func (e contentError) Unwrap() error { return e.error }

// images deletes content, with the image that it lists if it is one.
type images struct {
	collector *Collector
	read      map[string][]string // the manifests of images, by the digest of their artifact
}

// delete deletes content. The artifact of an image goes last: it lists what else is to be deleted.
func (i *images) delete(ctx context.Context, tx *store.Tx, g store.RegistryGarbage) error {
	c := i.collector
	repository, err := oci.OpenClient(c.registry.Base.Child(g.Repository), c.registry.Credential, c.registry.Client)
	if err != nil {
		return err
	}
	var manifests []string
	if g.Kind == string(api.GarbageArtifact) {
		if manifests, err = i.manifests(ctx, repository, g.Digest); err != nil {
			return err
		}
	}
	if len(manifests) > 0 {
		others, err := tx.ArtifactsOfComponent(ctx, tx.Org, g.ComponentID)
		if err != nil {
			return err
		}
		for _, other := range others {
			needed, err := i.manifests(ctx, repository, other)
			if err != nil {
				return err
			}
			manifests = slices.DeleteFunc(manifests, func(m string) bool { return slices.Contains(needed, m) })
		}
	}
	for _, digest := range append(manifests, g.Digest) {
		if err := repository.Delete(ctx, digest); err != nil {
			return contentError{err}
		}
	}
	return nil
}

// manifests returns the manifests of the image that an artifact lists, each before those that it names. It
// returns none for another artifact, and for one that the registry does not have.
func (i *images) manifests(ctx context.Context, repository *oci.Repository, digest string) ([]string, error) {
	key := repository.Reference().Repository + "@" + digest
	if known, done := i.read[key]; done {
		return slices.Clone(known), nil
	}
	parts, err := repository.Parts(ctx, digest)
	var refusal *oci.Error
	if errors.As(err, &refusal) && refusal.Reason == oci.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, contentError{err}
	}
	var digests []string
	if parts.Type == artifact.MediaImage {
		packed, err := repository.Pull(ctx, digest)
		if err != nil {
			return nil, contentError{err}
		}
		listed, err := image.Unpack(packed)
		if err != nil {
			return nil, contentError{fmt.Errorf("read the image %s: %w", digest, err)}
		}
		for _, m := range slices.Backward(listed.Manifests) {
			digests = append(digests, m.Digest)
		}
	}
	i.read[key] = digests
	return slices.Clone(digests), nil
}
