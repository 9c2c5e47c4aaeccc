package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// maxDepth bounds how many manifests refer to each other in a chain. maxManifestBytes bounds all
// manifests of an image together, because they are in memory.
const (
	maxDepth         = 8
	maxManifestBytes = 16 << 20
)

// maxConfig bounds the config of an image, of which the platform is read.
const maxConfig = 1 << 20

// Log receives messages for people.
type Log interface {
	Info(format string, args ...any)
	Warn(format string, args ...any)
}

// retrier repeats a request while a registry is unreachable.
type retrier func(ctx context.Context, do func() error) error

// source is where an image is read from. *oci.Repository implements it.
type source interface {
	Manifest(ctx context.Context, reference string) (artifact.RawManifest, error)
	Blob(ctx context.Context, blob artifact.Blob) ([]byte, error)
	Referrers(ctx context.Context, m artifact.RawManifest, limit int) ([]string, error)
	Resolve(ctx context.Context, tag string) (string, error)
}

// walk reads the manifests of an image and of everything that refers to it.
type walk struct {
	from  source
	retry retrier
	log   Log
	root  artifact.RawManifest // what was read already, if anything

	image image.Image
	raws  map[string]artifact.RawManifest
	bytes int
	// signable are the digests of the image and of its platforms, to which cosign's tags belong.
	signable []artifact.RawManifest
}

// descriptor is a descriptor in a manifest.
type descriptor struct {
	MediaType string   `json:"mediaType"`
	Digest    string   `json:"digest"`
	Size      int64    `json:"size"`
	URLs      []string `json:"urls,omitempty"`

	Annotations map[string]string `json:"annotations,omitempty"`
}

// content is what a manifest or an index names.
type content struct {
	ArtifactType string            `json:"artifactType"`
	Config       *descriptor       `json:"config"`
	Layers       []descriptor      `json:"layers"`
	Manifests    []descriptor      `json:"manifests"`
	Subject      *descriptor       `json:"subject"`
	Annotations  map[string]string `json:"annotations"`
}

// read reads the image with a digest. The error names the manifest or blob that cannot be copied.
func (w *walk) read(ctx context.Context, digest string) (image.Image, error) {
	w.raws = map[string]artifact.RawManifest{}
	w.image.Digest = digest
	root, err := w.add(ctx, digest, true)
	if err != nil {
		return image.Image{}, err
	}
	w.image.ArtifactType, w.image.Annotations = root.ArtifactType, root.Annotations
	if w.image.Platform, err = w.platform(ctx, root); err != nil {
		return image.Image{}, err
	}
	for _, m := range slices.Clone(w.signable) {
		if err := w.addReferrers(ctx, m, 1); err != nil {
			return image.Image{}, err
		}
		if err := w.addSignatures(ctx, m.Digest); err != nil {
			return image.Image{}, err
		}
	}
	return w.image, nil
}

// add reads a manifest, and before it those that it names.
func (w *walk) add(ctx context.Context, digest string, signable bool) (content, error) {
	raw, err := w.fetch(ctx, digest)
	if err != nil {
		return content{}, err
	}
	if w.bytes += len(raw.Content); w.bytes > maxManifestBytes || len(w.raws) >= image.MaxManifests {
		return content{}, problemf("name an image with fewer platforms, or the digest of one of them as its tag",
			"it has more than %d manifests, or more than %d MiB of them", image.MaxManifests, maxManifestBytes>>20)
	}
	w.raws[digest] = raw
	named, err := parse(raw)
	if err != nil {
		return content{}, err
	}
	entry := image.Manifest{Digest: digest, MediaType: raw.MediaType, Size: int64(len(raw.Content))}
	for _, blob := range named.blobs() {
		entry.Blobs = append(entry.Blobs, image.Blob{Digest: blob.Digest, Size: blob.Size})
	}
	for _, child := range named.Manifests {
		if _, seen := w.raws[child.Digest]; !seen {
			if _, err := w.add(ctx, child.Digest, signable); err != nil {
				return content{}, err
			}
		}
		if has := len(w.raws[child.Digest].Content); int64(has) != child.Size { // containerd pulls no such image
			return content{}, problemf("push the image again", "index %s names %s with %d bytes, and it has %d", digest,
				child.Digest, child.Size, has)
		}
	}
	w.image.Manifests = append(w.image.Manifests, entry)
	if signable {
		w.signable = append(w.signable, raw)
	}
	return named, nil
}

func (w *walk) fetch(ctx context.Context, digest string) (raw artifact.RawManifest, err error) {
	if digest == w.root.Digest {
		return w.root, nil
	}
	err = w.retry(ctx, func() (err error) {
		raw, err = w.from.Manifest(ctx, digest)
		return err
	})
	return raw, err
}

func (c content) blobs() []descriptor {
	if c.Config == nil {
		return c.Layers
	}
	return append([]descriptor{*c.Config}, c.Layers...)
}

// parse reads what a manifest names, and checks that all of it can be copied.
func parse(raw artifact.RawManifest) (content, error) {
	var named content
	if err := json.Unmarshal(raw.Content, &named); err != nil {
		return content{}, problemf("push the image again", "manifest %s is not one: %s", raw.Digest,
			netguard.OneLine(err.Error()))
	}
	isIndex := raw.MediaType == artifact.MediaIndex || raw.MediaType == artifact.MediaDockerIndex
	if isIndex && len(named.blobs()) > 0 || !isIndex && (named.Config == nil || named.Manifests != nil) {
		return content{}, problemf("push the image again", "manifest %s is not of its type %s", raw.Digest, raw.MediaType)
	}
	if len(named.Manifests) > image.MaxManifests {
		return content{}, problemf("name an image with fewer platforms, or the digest of one of them as its tag",
			"index %s has %d platforms, at most %d are copied", raw.Digest, len(named.Manifests), image.MaxManifests)
	}
	total := int64(0)
	for _, d := range append(named.blobs(), named.Manifests...) {
		switch {
		case sha256digest.Check(d.Digest) != nil:
			return content{}, problemf("push the image again, with digests of sha256",
				"manifest %s names %.100q, which is no digest", raw.Digest, d.Digest)
		case d.Size < 0 || d.Size > math.MaxInt64-total || total+d.Size > image.MaxBytes:
			return content{}, problemf("make the image smaller", "manifest %s names %s with %d bytes; an image may have %d GiB",
				raw.Digest, d.Digest, d.Size, image.MaxBytes>>30)
		case len(d.URLs) > 0 || strings.Contains(d.MediaType, "foreign") || strings.Contains(d.MediaType, "nondistributable"):
			return content{}, problemf("push the image with all of its layers",
				"layer %s of manifest %s is at an address outside of the registry (%s), from which nothing is fetched", d.Digest,
				raw.Digest, netguard.OneLine(strings.Join(d.URLs, ", ")))
		}
		total += d.Size
	}
	return named, nil
}

// addReferrers adds what refers to a manifest, and what refers to that.
func (w *walk) addReferrers(ctx context.Context, subject artifact.RawManifest, depth int) error {
	var found []string
	err := w.retry(ctx, func() (err error) {
		found, err = w.from.Referrers(ctx, subject, image.MaxManifests)
		return err
	})
	if err != nil || len(found) == 0 {
		return err
	}
	if depth > maxDepth {
		return problemf("remove some of them",
			"more than %d manifests refer to each other, up to %s", maxDepth, subject.Digest)
	}
	slices.Sort(found)
	for _, digest := range slices.Compact(found) {
		if _, seen := w.raws[digest]; seen {
			continue
		}
		if err := w.addReferrer(ctx, subject, digest, depth); err != nil {
			return err
		}
	}
	return nil
}

// addReferrer adds one manifest that, as the registry says, refers to another. One that does not is
// not copied.
func (w *walk) addReferrer(ctx context.Context, subject artifact.RawManifest, digest string, depth int) error {
	if sha256digest.Check(digest) != nil {
		return problemf("repair the registry", "the list of what refers to %s names %.100q, which is no digest",
			subject.Digest, digest)
	}
	raw, err := w.fetch(ctx, digest)
	if err != nil {
		return err
	}
	var named content
	if invalid := json.Unmarshal(raw.Content, &named); invalid != nil || named.Subject == nil ||
		named.Subject.Digest != subject.Digest {
		w.log.Warn("the registry lists %s as a reference to %s, which it is not; it is not copied", digest, subject.Digest)
		return nil //nolint:nilerr // the image is complete without it
	}
	if _, err := w.add(ctx, digest, false); err != nil {
		return err
	}
	return w.addReferrers(ctx, raw, depth+1)
}

// addSignatures adds what cosign stored under the tags that belong to a manifest.
func (w *walk) addSignatures(ctx context.Context, digest string) error {
	for _, tag := range image.SignatureTags(digest) {
		var found string
		err := w.retry(ctx, func() (err error) {
			found, err = w.from.Resolve(ctx, tag)
			return err
		})
		if err != nil {
			return err
		}
		if found == "" {
			continue
		}
		if sha256digest.Check(found) != nil {
			return problemf("push the signature again", "tag %s names %.100q, which is no digest of sha256", tag, found)
		}
		if _, seen := w.raws[found]; !seen {
			if _, err := w.add(ctx, found, false); err != nil {
				return err
			}
		}
		w.image.Tags = append(w.image.Tags, image.Tag{Name: tag, Digest: found})
	}
	return nil
}

// platform returns the platform of an image for only one, as its config states it.
func (w *walk) platform(ctx context.Context, root content) (*image.Platform, error) {
	if root.Config == nil || !strings.HasPrefix(root.Config.MediaType, "application/vnd.") ||
		!strings.Contains(root.Config.MediaType, "image") || root.Config.Size > maxConfig {
		return nil, nil //nolint:nilnil // it has none
	}
	var raw []byte
	err := w.retry(ctx, func() (err error) {
		raw, err = w.from.Blob(ctx, artifact.Blob{Digest: root.Config.Digest, Size: root.Config.Size})
		return err
	})
	if err != nil {
		return nil, err
	}
	var made image.Platform
	if err := json.Unmarshal(raw, &struct {
		OS           *string `json:"os"`
		Architecture *string `json:"architecture"`
		Variant      *string `json:"variant"`
	}{&made.OS, &made.Architecture, &made.Variant}); err != nil || made.OS == "" {
		return nil, nil //nolint:nilnil,nilerr // it states none
	}
	return &made, nil
}

// problem is what is wrong with an image, and what to do.
type problem struct{ netguard.Problem }

func problemf(remedy, format string, args ...any) error {
	return &problem{netguard.Problem{Why: fmt.Sprintf(format, args...), Remedy: remedy}}
}

// Error returns what is wrong and what to do.
func (p *problem) Error() string { return p.Why + "; " + p.Remedy }

// explain adds to an error of the source which image it is about, and what its owner can do.
func explain(err error, what string, from artifact.Reference) error {
	var (
		refused *oci.Error
		wrong   *problem
	)
	if errors.As(err, &wrong) {
		return fmt.Errorf("image %s: %w", what, err)
	}
	if !errors.As(err, &refused) || refused.Repository != from {
		return err
	}
	why, remedy := netguard.OneLine(refused.Err.Error()), ""
	if described, known := netguard.Describe(refused.Err); known {
		why, remedy = described.Why, described.Remedy
		if blocked := (*netguard.BlockedError)(nil); errors.As(err, &blocked) {
			remedy = "if that is right, name the host in " + varPrivate + " of the build runner"
		}
	}
	switch refused.Reason {
	case oci.Unauthorized, oci.Forbidden:
		why = "the registry refuses access, or has no such repository"
		remedy = fmt.Sprintf("store a credential: nuon credentials create NAME --image %s --username USER --from @FILE", from)
	case oci.NotFound:
		why = "the registry does not have " + refused.Digest
		remedy = "push it, or change the tag of the component; after a tag has moved, run \"nuon builds refresh\""
	case oci.NotRegistry:
		remedy = "check image_url: its host must be a registry"
	case oci.Damaged:
		remedy = "nothing of it was used; push the image again"
	case oci.Rejected:
		if refused.Status == tooManyRequests {
			why, remedy = "the registry allows no more requests now",
				"build again later, or store a credential that is allowed more: nuon credentials create NAME --image "+from.Host
		}
	}
	if remedy == "" {
		remedy = "build again later: nuon builds retry"
	}
	return fmt.Errorf("image %s: %s %s: %s; %s", what, refused.Verb, refused.Digest, why, remedy)
}
